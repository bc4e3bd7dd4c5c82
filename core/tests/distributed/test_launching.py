"""Jobs as tutorials start them: by a launcher, by spawn, unmodified under `rushlight run`."""

from __future__ import annotations

import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import jobs
import pytest

from rushlight.distributed.launching.arguments import nodes, parser, processes

PROGRAM = jobs.HERE / "launched_program.py"
RUSHLIGHT = (sys.executable, "-m", "rushlight")


@pytest.fixture(autouse=True)
def _needs_mpi():
    pytest.importorskip("mpi4py")


def _run(*words, program=PROGRAM, arguments=()):
    return subprocess.run(
        [*RUSHLIGHT, *map(str, words), str(program), *arguments],
        capture_output=True, text=True, timeout=jobs.LIMIT,
    )  # fmt: skip


def _descendants(pid):
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(path.split("/")[2])
            found += [child, *_descendants(child)]
    return found


@pytest.mark.parametrize(
    "words",
    [
        ("launch", "--nproc-per-node", 2),
        ("run", "-m", "torch.distributed.run", "--nproc_per_node=2"),
        ("run", "torchrun", "--standalone", "--nproc-per-node=2"),
        ("run", "-m", "torch.distributed.launch", "--use-env", "--nproc_per_node=2"),
    ],
)
def test_launchers_run_a_program_in_every_rank(words):
    found = _run(*words, arguments=("none", "--word"))
    assert found.returncode == 0, found.stderr
    expected = [f"{rank} 2 {rank} [3.0, 3.0] none --word" for rank in range(2)]
    assert sorted(found.stdout.splitlines()) == expected


@pytest.mark.parametrize(
    "fault, said",
    [
        ("raise", "rank 1 .* ended with exit code 1: ValueError: the cause"),
        ("exit", "rank 1 .*: SystemExit: 3"),
        ("kill", "rank 1 .* ended with signal SIGKILL"),
    ],
)
def test_a_failure_ends_the_job_and_the_first_is_named(fault, said):
    found = _run("launch", "--nproc-per-node", 2, arguments=(fault,))
    assert found.returncode == 1
    assert re.search("rushlight launch: " + said, found.stderr), found.stderr
    if fault == "raise":
        assert 'raise ValueError("the cause")' in found.stderr


def test_a_job_starts_again_after_a_failure():
    found = _run("launch", "--nproc-per-node", 2, "--max-restarts", 2, arguments=("once",))
    assert found.returncode == 0, found.stderr
    assert "starting again, 2 more times at most" in found.stderr
    assert len(found.stdout.splitlines()) == 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_rank_outlives_its_launcher(number):
    launcher = subprocess.Popen(
        [*RUSHLIGHT, "launch", "--nproc-per-node", "2", str(PROGRAM), "hang"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    for _ in range(2):
        launcher.stdout.readline()
    ranks = _descendants(launcher.pid)
    assert len(ranks) >= 2
    launcher.send_signal(number)
    launcher.wait(timeout=jobs.LIMIT)
    end = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{rank}") and _runs(rank) for rank in ranks):
        assert time.monotonic() < end
        time.sleep(0.05)
    launcher.stdout.close()


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_several_machines_make_one_job():
    port = jobs.free_port()
    common = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}"]
    agents = [
        subprocess.Popen(
            [*RUSHLIGHT, "launch", *common, "--nproc-per-node", str(count), str(PROGRAM)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for count in (1, 2)
    ]  # fmt: skip
    outputs = [agent.communicate(timeout=jobs.LIMIT) for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], outputs
    lines = sorted(line for output, _ in outputs for line in output.splitlines())
    assert [line[:3] for line in lines] == ["0 3", "1 3", "2 3"]
    assert all("[6.0, 6.0]" in line for line in lines)


def test_spawned_processes_make_one_job():
    found = _run(
        "run", program=jobs.HERE / "spawning_program.py", arguments=(str(jobs.free_port()), "")
    )
    assert found.returncode == 0, found.stderr
    assert sorted(found.stdout.splitlines()) == ["rank 0 has 1.0", "rank 1 has 1.0"]


def test_of_spawned_processes_the_first_that_failed_is_shown():
    found = _run(
        "run", program=jobs.HERE / "spawning_program.py", arguments=(str(jobs.free_port()), "1")
    )
    assert found.returncode == 1
    assert "Process 1 terminated with the following error" in found.stderr
    assert 'RuntimeError("the cause")' in found.stderr


def test_mpiexec_starts_a_job():
    if shutil.which("mpiexec") is None:
        pytest.skip("no mpiexec")
    text = (
        "import rushlight as torch, rushlight.distributed as d\n"
        "d.init_process_group('mpi')\n"
        "x = torch.ones(1); d.all_reduce(x)\n"
        "import os; os.write(1, f'{d.get_rank()} {x.item()}\\n'.encode())"
    )
    found = subprocess.run(
        ["mpiexec", "-n", "2", sys.executable, "-c", text],
        capture_output=True, text=True, timeout=jobs.LIMIT,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert sorted(found.stdout.split()) == ["0", "1", "2.0", "2.0"]


def test_the_command_line_says_what_it_does_not_take():
    assert processes("3") == 3 and processes("auto") >= 1
    for text in ("0", "gpu", "many"):
        with pytest.raises(ValueError, match="--nproc-per-node"):
            processes(text)
    assert nodes("2") == nodes("2:2") == 2
    with pytest.raises(ValueError, match="do not change their size"):
        nodes("1:4")
    given = parser("p").parse_args(["--nproc_per_node=2", "script.py", "--nproc-per-node", "7"])
    assert (given.nproc_per_node, given.training_script_args) == ("2", ["--nproc-per-node", "7"])
    found = _run("launch", "--nproc-per-node", "gpu")
    assert found.returncode == 2 and "--nproc-per-node gpu" in found.stderr
