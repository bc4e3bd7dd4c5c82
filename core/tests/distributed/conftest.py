"""Jobs that run many cases, once a session: a job a case would cost a second each."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import jobs  # noqa: E402


@pytest.fixture(scope="session")
def job_outcomes(tmp_path_factory):
    """``job_outcomes(framework, "file of cases", size)``: for each rank, outcomes by case."""
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("several processes need rushlight[mpi]")
    folder = tmp_path_factory.mktemp("jobs")

    @functools.cache
    def attempt(framework, name, size):
        try:
            return jobs.outcomes(framework, jobs.HERE / name, size, folder), None
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return None, error  # once, not for every test

    def run(framework, name, size):
        if importlib.util.find_spec(framework) is None:
            pytest.skip(f"compares with {framework}")
        found, error = attempt(framework, name, size)
        if error is not None:
            raise error
        return found

    return run
