"""Jobs that ``mpiexec`` starts, MPICH's or Open MPI's: how they end, whatever becomes of a rank."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import time

import jobs
import pytest

PROGRAM = jobs.HERE / "failing.py"
SEGMENTS = ("/dev/shm/mpich_shm_*", "/dev/shm/sm_segment.*")


@pytest.fixture(autouse=True)
def _needs_mpiexec():
    pytest.importorskip("mpi4py")
    if shutil.which("mpiexec") is None:
        pytest.skip("needs mpiexec")


def _segments():
    return {path for pattern in SEGMENTS for path in glob.glob(pattern)}


def _run(name, **variables):
    before = _segments()
    ended = jobs.run_by_mpiexec([PROGRAM, name], 2, **variables)
    deadline = time.monotonic() + 10
    while (left := _segments() - before) and time.monotonic() < deadline:
        time.sleep(0.1)  # jobs of other tests run beside this one
    assert not left
    return ended


def test_an_exception_of_a_rank_ends_the_job():
    (code, _), (_, raised) = _run("raises")
    assert code == 1 and "ValueError: the cause" in raised


@pytest.mark.parametrize("name", ["killed", "first_killed"])
def test_a_killed_rank_ends_the_job(name):
    (code, _), _ = _run(name)
    assert code in (signal.SIGKILL, 128 + signal.SIGKILL, -signal.SIGKILL)


def test_a_rank_that_leaves_ends_the_job_at_the_timeout():
    """Its goodbye waits for the others, of whom one waits for it."""
    start = time.monotonic()
    (code, waiting), _ = _run("exits", FAILING_LIMIT="1")
    assert code not in (0, None) and "number 1 in group '0' of 2 ranks, timed out" in waiting
    assert time.monotonic() - start < 60


def test_a_group_can_be_made_again_with_the_same_ranks_alone():
    for rank, (code, output) in enumerate(_run("again")):
        assert code == 0, output
        assert f"this process was rank {rank} of 2" in output


def test_processes_that_ranks_start_are_no_ranks():
    for code, output in _run("children"):
        assert code == 0, output
        assert "spawn False" in output and "sum 2.0" in output


@pytest.mark.skipif("RUSHLIGHT_TESTED_MPI" not in os.environ, reason="set by nox -s open_mpi")
def test_the_mpi_is_the_one_that_was_asked_for():
    assert jobs.under_open_mpi() == (os.environ["RUSHLIGHT_TESTED_MPI"] == "Open MPI")
