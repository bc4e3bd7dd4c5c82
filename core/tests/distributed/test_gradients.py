"""Collectives with gradients and meshes of ranks, compared with PyTorch and gloo."""

from __future__ import annotations

import importlib

import jobs
import pytest

CASES = importlib.import_module("job").load(str(jobs.HERE / "gradient_cases.py")).CASES


@pytest.mark.parametrize("name", sorted(CASES))
def test_values_and_gradients_are_pytorchs(name, job_outcomes):
    ours = job_outcomes("rushlight", "gradient_cases.py", 2)
    theirs = job_outcomes("torch", "gradient_cases.py", 2)
    for mine, other in zip(ours, theirs, strict=True):
        assert other[name][0] == "value", other[name]
        assert mine[name] == other[name]


@pytest.mark.parametrize("name", sorted(CASES))
def test_four_ranks_end_every_case(name, job_outcomes):
    found = job_outcomes("rushlight", "gradient_cases.py", 4)
    assert [outcome[name][0] for outcome in found] == ["value"] * 4
