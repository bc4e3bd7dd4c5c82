"""Jobs that ``mpiexec`` starts, MPICH's or Open MPI's: how they end, whatever becomes of a rank."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import socket
import sys
import time

import jobs
import pytest

from rushlight.distributed import run
from rushlight.distributed.launching.mpiexec import Mpiexec
from rushlight.machine.mpi import startup

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


CAUSES = {
    "raises": "rank 1 is gone (ValueError: the cause)",
    "exits": "rank 1 is gone (SystemExit: 3)",
    "killed": "rank 1 is gone (its process has ended)",
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_launcher_names_what_failed_first(name):
    before = _segments()
    ended = jobs.launched_by_mpiexec([PROGRAM, name], 2)
    assert ended.returncode == 1, ended.stderr
    assert f"rushlight launch: {CAUSES[name]}" in ended.stderr
    if name == "exits":  # else mpiexec may end the others before they say so
        assert f"number 1 in group '0' of 2 ranks, cannot end: {CAUSES[name]}" in ended.stderr
    assert not _segments() - before


def test_the_launcher_starts_again(tmp_path):
    mark = tmp_path / "mark"
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\nimport rushlight as torch, rushlight.distributed as dist\n"
        "dist.init_process_group('gloo')\nx = torch.ones(2)\ndist.all_reduce(x)\n"
        f"if dist.get_rank() == 0 and not os.path.exists({str(mark)!r}):\n"
        f"    open({str(mark)!r}, 'w').close()\n    raise RuntimeError('once')\n"
        "dist.barrier()\nknows = 'RUSHLIGHT_JOB_SERVER' in os.environ\n"
        "sys.stdout.write(f'sum {x[0].item()} {knows}\\n')\n"
    )
    ended = jobs.launched_by_mpiexec([program], 2, "--max-restarts", "1")
    assert ended.returncode == 0, ended.stderr
    assert "rank 0 is gone (RuntimeError: once); starting again, 1 more" in ended.stderr
    assert ended.stdout.count("sum 2.0 False") == 2


def _stand_in(folder, body):
    """A program in ``mpiexec``'s place: it says that it is rank 0 of 2, then runs `body`."""
    path = folder / "mpiexec"
    path.write_text(
        f"#!{sys.executable}\nimport os, socket, subprocess, sys, time\n"
        "if '--version' in sys.argv:\n    sys.exit()\n"
        "token, _, port, _ = os.environ['RUSHLIGHT_JOB_SERVER'].split('@')\n"
        "made = socket.create_connection(('127.0.0.1', int(port)))\n"
        "made.sendall(f'{token} 0 control 2\\n'.encode())\n" + body
    )
    path.chmod(0o755)
    return path


def test_exit_code_0_of_mpiexec_alone_is_no_success(tmp_path, capfd):
    time_to_hear = "time.sleep(0.3)\n"
    leaves = 'made.sendall(b\'{"say": "leaving", "issued": {}}\\n\')\n' + time_to_hear
    assert Mpiexec([str(_stand_in(tmp_path, time_to_hear))], ["program"]).run() == 1
    assert "rank 0 is gone (its process has ended)" in capfd.readouterr().err
    assert Mpiexec([str(_stand_in(tmp_path, leaves))], ["program"]).run() == 1
    assert "exit code 0 before ranks [1] had come to their end" in capfd.readouterr().err


def test_an_mpiexec_that_does_not_end_is_ended_with_what_it_started(tmp_path):
    note = tmp_path / "note"
    body = (
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '100'], start_new_session=True)\n"
        f"open({str(note)!r}, 'w').write(str(child.pid))\n"
        'made.sendall(b\'{"say": "failed", "why": "the cause"}\\n\')\ntime.sleep(100)\n'
    )
    start = time.monotonic()
    assert Mpiexec([str(_stand_in(tmp_path, body))], ["program"], patience=0.2).run() == 1
    assert time.monotonic() - start < 20
    assert not os.path.exists(f"/proc/{note.read_text()}")


def test_options_that_do_not_fit(capsys):
    for words, said in {
        ("--nnodes", "2"): "--mpiexec and --nnodes both say which processes there are",
        ("--nproc-per-node", "2"): "--mpiexec and --nproc-per-node both say which",
        ("--hosts", "a,b"): "--hosts and --mpiexec say which hosts there are",
    }.items():
        with pytest.raises(SystemExit, match="2"):
            run.main([*words, "--mpiexec", "mpiexec -n 2", "program.py"])
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        run.main(["--mpiexec", "no-such-mpiexec -n 2", "program.py"])
    assert "'no-such-mpiexec -n 2': there is no such program" in capsys.readouterr().err


def test_a_launcher_that_cannot_be_reached_is_named(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv(startup.SERVER, f"token@elsewhere@{port}@127.0.0.1,127.0.0.1")
    with pytest.raises(RuntimeError, match=rf"port {port} of its .* by --master-addr"):
        startup.connected_server()
    assert startup.SERVER not in os.environ and startup.connected_server() is None
