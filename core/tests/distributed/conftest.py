"""Jobs that run many cases, once a session: a job a case would cost a second each."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from rushlight.machine.cuda.runtime import emulator_build

sys.path.insert(0, str(Path(__file__).parent))

import jobs  # noqa: E402


@pytest.fixture(scope="session")
def job_outcomes(tmp_path_factory):
    """``job_outcomes(framework, "file of cases", size)``: for each rank, outcomes by case; with
    ``on_gpus=True`` from NCCL's stand-in on emulated devices."""
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("several processes need rushlight[mpi]")
    folder = tmp_path_factory.mktemp("jobs")

    @functools.cache
    def attempt(framework, name, size, on_gpus):
        more = jobs.emulated(size) if on_gpus else {}
        try:
            return jobs.outcomes(framework, jobs.HERE / name, size, folder, **more), None
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return None, error  # once, not for every test

    def run(framework, name, size, on_gpus=False):
        if importlib.util.find_spec(framework) is None:
            pytest.skip(f"compares with {framework}")
        if on_gpus and emulator_build.why_unavailable():
            pytest.skip(emulator_build.why_unavailable())
        found, error = attempt(framework, name, size, on_gpus)
        if error is not None:
            raise error
        return found

    return run
