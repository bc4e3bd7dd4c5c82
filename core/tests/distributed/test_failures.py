"""What becomes of a job in which something goes wrong: nobody waits for ever, all is named."""

from __future__ import annotations

import contextlib
import datetime
import glob
import os
import subprocess
import sys
import time
from pathlib import Path

import jobs
import pytest

from rushlight import distributed as dist

PROGRAM = jobs.HERE / "failing.py"
# Ranks that started by themselves hear of each other's end; mpiexec ends them (test_mpiexec.py).
started_alone = pytest.mark.skipif("jobs.under_open_mpi()", reason="ranks of mpiexec end otherwise")


@pytest.fixture(autouse=True)
def _needs_mpi():
    pytest.importorskip("mpi4py")


def _run(name, **variables):
    before = set(glob.glob("/dev/shm/mpich_shm_*"))
    ended = jobs.run_ranks([PROGRAM, name], 2, **variables)
    deadline = time.monotonic() + 5
    while (left := _left() - before) and time.monotonic() < deadline:
        time.sleep(0.1)  # a job of another test may be between making a segment and mapping it
    assert not left
    return ended


def _left():
    """Segments of memory that no living process has: jobs of other tests run beside this one."""
    found = set(glob.glob("/dev/shm/mpich_shm_*"))
    for maps in glob.glob("/proc/[0-9]*/maps"):
        with contextlib.suppress(OSError):
            text = Path(maps).read_text(errors="replace")
            found = {path for path in found if path not in text}
    with contextlib.suppress(FileNotFoundError):  # gone meanwhile: none of it is left
        return {path for path in found if os.stat(path).st_uid == os.getuid()}
    return _left()


@started_alone
def test_an_exception_of_one_rank_ends_the_others_and_is_named():
    (code, waiting), (other, raised) = _run("raises")
    assert code == 1 and "rank 1 is gone (ValueError: the cause)" in waiting
    assert other == 1 and "ValueError: the cause" in raised
    assert "all_reduce of shape (4,), rushlight.float32, number 1 in group '0'" in waiting


@started_alone
def test_a_rank_that_leaves_is_not_waited_for():
    (code, waiting), (other, _) = _run("exits")
    assert code == 1 and "rank 1" in waiting and other == 3


@started_alone
@pytest.mark.parametrize("name, gone", [("killed", 1), ("first_killed", 0)])
def test_a_killed_rank_ends_the_others(name, gone):
    ended = _run(name)
    assert ended[gone][0] == -9
    assert ended[1 - gone][0] == 1 and f"rank {gone} is gone" in ended[1 - gone][1]


def test_a_timeout_names_rank_operation_shape_and_number():
    (_, output), _ = _run("late")
    assert "DistBackendError: [Rank 0] all_reduce of shape (2, 3), rushlight.float32" in output
    assert "number 2 in group '0' of 2 ranks, timed out after 0.3 s" in output


def test_a_monitored_barrier_names_who_did_not_come():
    (_, output), _ = _run("unmonitored")
    assert "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 300 ms" in output


def test_debug_mode_finds_ranks_that_do_different_things():
    for _, output in _run("mismatched", TORCH_DISTRIBUTED_DEBUG="DETAIL"):
        first, second = output.splitlines()
        assert "Detected mismatch between collectives on ranks" in first
        assert "shape (2, 3) float32" in first and "shape (4,) float32" in first
        assert "broadcast(" in second and "barrier(" in second


@started_alone
def test_what_was_sent_arrives_although_the_sender_is_done():
    (code, output), (other, _) = _run("early")
    assert code == other == 0
    lines = output.splitlines()
    assert lines[0] == "sum 100000.0"
    assert "rank 1 has left the job after 0 operations of the group" in lines[1]
    assert "rank 1 has left the job and sends no more" in lines[2]


def test_messages_of_another_size_are_an_error():
    (_, output), _ = _run("smaller")
    assert "rank 1 sent 8 bytes, the tensor has 16" in output


def test_a_group_can_be_made_again_with_the_same_ranks_alone():
    for rank, (code, output) in enumerate(_run("again")):
        assert code == 0, output
        assert f"this process was rank {rank} of 2" in output
        assert "MPI starts once a process" in output


def test_processes_that_ranks_start_are_no_ranks():
    for code, output in _run("children"):
        assert code == 0, output
        assert "spawn False" in output and "sum 2.0" in output


def test_long_tensors_go_in_pieces():
    assert [output.strip() for _, output in _run("pieces")] == ["equal"] * 2


@started_alone
def test_ranks_that_never_come_are_named():
    port = jobs.free_port()
    start = time.monotonic()
    with pytest.raises(dist.DistStoreError, match=r"1/2 ranks have come, missing are \[1\]"):
        dist.init_process_group(
            "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=2,
            timeout=datetime.timedelta(seconds=0.2),
        )  # fmt: skip
    assert time.monotonic() - start < jobs.LIMIT
    assert not dist.is_initialized()


def test_an_mpi_that_starts_its_processes_itself_is_refused():
    from rushlight.machine.mpi import startup

    class Library:
        @staticmethod
        def Get_library_version():
            return "Open MPI v5.0.11, package: Open MPI\nmore"

    with pytest.raises(RuntimeError, match="is Open MPI v5.0.11.* use mpiexec"):
        startup.check_can_join(Library)


def test_without_mpi4py_the_error_names_the_extra(tmp_path):
    (tmp_path / "mpi4py.py").write_text("raise ImportError('not here')")
    text = (
        "import rushlight.distributed as d\n"
        "try: d.init_process_group('gloo', store=d.HashStore(), rank=0, world_size=2)\n"
        "except ImportError as error: print(error)"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "rushlight[mpi]" in found.stdout
