"""`offload_to_cpu` of state dicts and summoned parameters of models on (emulated) GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import jobs
import pytest


@pytest.fixture(scope="module")
def found():
    environment = {**os.environ, "RUSHLIGHT_CUDA": "emu"}
    program = [sys.executable, str(jobs.HERE / "offload_program.py")]
    run = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", ["full", "sharded"])
def test_state_dicts_lie_where_they_are_asked_for(found, kind):
    for beside, offloaded in zip(found[f"{kind} False"], found[f"{kind} True"], strict=True):
        assert list(beside) == list(offloaded) and beside
        for name, (class_name, _, total) in beside.items():
            is_part = class_name == "DTensor"
            moved = kind == "full" or is_part or name == "step"
            assert offloaded[name] == [class_name, "cpu" if moved else "cuda", total], name
            assert is_part == (kind == "sharded" and "running" not in name
                               and name not in ("step", "1.num_batches_tracked"))  # fmt: skip
    model, optimizer = found[f"{kind} False"]
    assert {entry[1] for entry in model.values()} == {"cuda"}
    assert optimizer["exp_avg"][1] == "cuda"


def test_summoned_parameters_are_written_back(found):
    inside, after = found["summoned"]
    assert {entry[1] for entry in inside.values()} == {"cpu"}
    assert {entry[1] for entry in after.values()} == {"cuda"}
    before, written = (next(iter(entries.values())) for entries in (inside, after))
    assert before[2] != 24.0 == written[2]
