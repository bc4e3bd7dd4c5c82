"""``python -m rushlight.warmup`` fills the cache; a second run finds all of it there."""

import os
import subprocess
import sys

import pytest

from rushlight.kernels.launch.execution import REFERENCE


def run(folder):
    environment = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(folder)}
    command = [sys.executable, "-m", "rushlight.warmup"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, {p.name for p in folder.rglob("*") if p.is_file()}


@pytest.mark.skipif(REFERENCE, reason="nothing is compiled")
def test_second_run_compiles_nothing(tmp_path):
    text, first = run(tmp_path)
    assert str(tmp_path) in text
    assert len(first) > 50
    assert run(tmp_path)[1] == first
