"""Starting jobs of a few processes in tests, and what their ranks wrote down."""

from __future__ import annotations

import functools
import os
import pickle
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from rushlight.machine.mpi import startup

HERE = Path(__file__).parent
LIMIT = 240  # seconds: machines that test are busy


def interruptible() -> None:
    """Called in a process before its program: Ctrl-C ends it, which jobs in the background of a
    shell are told to ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(rank: int, size: int, port: int, **more: str) -> dict[str, str]:
    """The variables of a rank."""
    names = dict(RANK=rank, WORLD_SIZE=size, LOCAL_RANK=rank, MASTER_PORT=port)
    given = {name: str(value) for name, value in names.items()}
    return {**os.environ, "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1", **given, **more}


@functools.cache
def under_open_mpi() -> bool:
    """Whether the MPI here is Open MPI, whose ranks its own ``mpiexec`` starts."""
    return startup.is_installed() and "Open MPI" in startup.load().Get_library_version()


def mpiexec(size: int) -> list[str]:
    """The command that starts ranks on this machine."""
    more = ["--allow-run-as-root", "--oversubscribe"] if under_open_mpi() else []
    return ["mpiexec", *more, "-n", str(size)]


def launched_by_mpiexec(command, size: int, *options: str, limit: float = LIMIT, **variables: str):
    """The end of ``rushlight launch --mpiexec`` of a command on this machine."""
    words = [sys.executable, "-m", "rushlight", "launch", *options]
    words += ["--mpiexec", shlex.join(mpiexec(size)), *map(str, command)]
    return subprocess.run(
        words, timeout=limit, capture_output=True, text=True, errors="replace",
        env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
    )  # fmt: skip


def run_by_mpiexec(command, size: int, limit: float = LIMIT, **variables: str):
    """:func:`run_ranks` by ``mpiexec``, whose exit code stands for each rank's."""
    words = [*mpiexec(size), sys.executable, HERE / "rank_of_mpiexec.py"]
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run(
            [*words, folder, *map(str, command)], timeout=limit, capture_output=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
        )  # fmt: skip
        outputs = [Path(folder, str(rank)).read_text() for rank in range(size)]
    return [(ended.returncode, output) for output in outputs]


def run_ranks(command, size: int, limit: float = LIMIT, **variables: str):
    """Run a command as all ranks of a job; (exit code, output) of each."""
    if size > 1 and under_open_mpi() and "torch" not in command:
        return run_by_mpiexec(command, size, limit, **variables)
    port = free_port()
    ranks = [
        subprocess.Popen(
            [sys.executable, *map(str, command)], env=environment(rank, size, port, **variables),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for rank in range(size)
    ]  # fmt: skip
    try:
        outputs = [rank.communicate(timeout=limit)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    return [(rank.returncode, output) for rank, output in zip(ranks, outputs, strict=True)]


def emulated(count: int) -> dict[str, str]:
    """The variables of ranks that have emulated GPUs and exchange their tensors by NCCL."""
    return {
        "JOB_BACKEND": "nccl",
        "RUSHLIGHT_CUDA": "emu",
        "RUSHLIGHT_EMULATED_DEVICES": str(count),
    }


def outcomes(framework: str, cases: Path, size: int, folder: Path, **variables: str) -> list:
    """Run the cases of a file in a job; for each rank, the outcomes by case. JOB_BACKEND=nccl runs
    them on GPUs."""
    kind = variables.get("JOB_BACKEND", "")
    results = folder / f"{cases.stem}-{framework}-{size}{kind}"
    ended = run_ranks([HERE / "job.py", framework, cases, results], size, **variables)
    for code, output in ended:
        assert code == 0, output
    return [pickle.loads(Path(f"{results}.{rank}").read_bytes()) for rank in range(size)]
