"""Small trainings end as they do in Lightning: numbers, logged rows, files (recorded values)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import lightning_lite as L
import rushlight as rl

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "lightning.json").read_text())["scenarios"]
_spec = importlib.util.spec_from_file_location("scenarios", FOLDER / "scenarios.py")
scenarios = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scenarios)


def agree(given, expected, path):
    """Equal, numbers but for rounding in float32."""
    if isinstance(expected, dict):
        assert sorted(given) == sorted(expected), path
        for key in expected:
            agree(given[key], expected[key], f"{path}.{key}")
    elif isinstance(expected, list):
        assert len(given) == len(expected), path
        for number, (a, b) in enumerate(zip(given, expected, strict=True)):
            agree(a, b, f"{path}[{number}]")
    elif isinstance(expected, float):
        assert given == pytest.approx(expected, rel=1e-4, abs=1e-5), path
    else:
        assert given == expected, path


@pytest.mark.parametrize("name", list(scenarios.SCENARIOS))
def test_scenario(name, tmp_path):
    agree(scenarios.run(L, rl, name, tmp_path), RECORDED[name], name)
