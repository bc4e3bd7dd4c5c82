"""The variables of ``env://`` from those of what started the process, one row per launcher.

Processes of ``mpiexec`` (MPICH, Intel MPI, Open MPI) are not in the table: MPI itself brings them
together, see :mod:`rushlight.machine.mpi.startup`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from rushlight.distributed.launching import lsf, pbs, slurm
from rushlight.machine.mpi import startup

# Below 32768, where Linux begins to give out ports by itself.
FIRST_PORT, PORTS = 20000, 12000


@dataclass(frozen=True)
class Environment:
    """How one launcher says what ``env://`` needs. What is written as a function returns text,
    empty where the launcher does not say."""

    launcher: str
    needed: tuple[str, ...]  # variables that all of its processes have, and few others
    rank: str
    size: str | Callable[[], str]
    local_rank: str | Callable[[], str]
    first_host: Callable[[], str]
    job: str
    step: str = ""  # several steps of a job run at a time
    is_task: Callable[[], bool] = lambda: True


ENVIRONMENTS: tuple[Environment, ...] = (
    # A batch script has SLURM_PROCID and SLURM_NTASKS too, though it is one process; these three
    # are set for the tasks of a step alone.
    Environment(
        "srun", ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST"),
        "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", slurm.first_host,
        "SLURM_JOB_ID", "SLURM_STEP_ID",
    ),
    Environment(
        "jsrun", ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
        "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK", lsf.first_host,
        "LSB_JOBID",
    ),
    Environment(
        "pbsdsh", ("PBS_VNODENUM", "PBS_TASKNUM"),
        "PBS_VNODENUM", pbs.size, pbs.local_rank, pbs.first_host,
        "PBS_JOBID", is_task=pbs.is_task,
    ),
)  # fmt: skip


def variables() -> dict:
    """What ``env://`` needs, by name, for a process that a launcher of the table started.

    Empty elsewhere, and where RANK or WORLD_SIZE is set: another launcher runs inside the
    cluster's. Otherwise RANK (int), WORLD_SIZE (int) and MASTER_PORT (str), and as far as the
    launcher says, LOCAL_RANK (int) and MASTER_ADDR (str). The store is on the first host, at a
    port that follows from the numbers of job and step.

    Raises:
        ValueError: a variable of the launcher's is no number.

    Example:
        >>> from rushlight.distributed.launching import environments
        >>> environments.variables()
        {}
    """
    found = _started_by()
    if found is None:
        return {}
    values = {
        "RANK": _integer(found, found.rank),
        "WORLD_SIZE": _integer(found, found.size),
        "MASTER_PORT": _port(found),
    }
    if _text(found.local_rank):
        values["LOCAL_RANK"] = _integer(found, found.local_rank)
    if host := found.first_host():
        values["MASTER_ADDR"] = host
    return values


def local_rank() -> int | None:
    """This process's rank on its host as its launcher says, ``mpiexec`` included; else None."""
    launched = startup.local_rank()
    return variables().get("LOCAL_RANK") if launched is None else launched


def _started_by():
    environ = os.environ
    if environ.get("RANK") or environ.get("WORLD_SIZE"):
        return None
    for each in ENVIRONMENTS:
        if all(environ.get(name) for name in each.needed) and each.is_task():
            return each
    return None


def _port(found):
    # Of "1672.server" and "1672[3].server" the numbers in front count.
    numbers = re.findall(r"\d+", os.environ.get(found.job, "").partition(".")[0])
    step = os.environ.get(found.step, "") if found.step else ""
    number = 16 * int("".join(numbers) or 0) + int(step if step.isdigit() else 0)
    return str(FIRST_PORT + number % PORTS)


def _text(source):
    return os.environ.get(source, "") if isinstance(source, str) else source()


def _integer(found, source):
    text = _text(source)
    if not text.isdigit():
        name = source if isinstance(source, str) else f"{source.__name__} of the job"
        raise ValueError(f"{name} is {text!r}; expected a number, as {found.launcher} sets it")
    return int(text)
