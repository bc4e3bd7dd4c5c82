"""Tasks that Slurm's ``srun`` starts: the variables of ``env://`` from those of the step."""

from __future__ import annotations

import os
import re

# A batch script has SLURM_PROCID and SLURM_NTASKS too, though it is one process; these three are
# set for the tasks of a step alone.
_STEP = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST")
# Below 32768, where Linux begins to give out ports by itself.
_FIRST_PORT, _PORTS = 20000, 12000


def variables() -> dict:
    """What ``env://`` needs, by name, for a task of a step; empty elsewhere, or where RANK or
    WORLD_SIZE is set, because another launcher runs inside the step.

    The store is on the step's first host, at a port that follows from the numbers of job and step.

    Raises:
        ValueError: a variable of Slurm's is no number.

    Example:
        >>> from rushlight.distributed.launching import slurm
        >>> slurm.first_host("alpha[05-07,09],beta1")
        'alpha05'
    """
    environ = os.environ
    if any(environ.get(name) for name in ("RANK", "WORLD_SIZE")):
        return {}
    if not all(environ.get(name) for name in _STEP):
        return {}
    number = 16 * _integer("SLURM_JOB_ID", 0) + _integer("SLURM_STEP_ID", 0)
    return {
        "RANK": _integer("SLURM_PROCID"),
        "WORLD_SIZE": _integer("SLURM_STEP_NUM_TASKS"),
        "LOCAL_RANK": _integer("SLURM_LOCALID", 0),
        "MASTER_ADDR": first_host(environ["SLURM_STEP_NODELIST"]),
        "MASTER_PORT": str(_FIRST_PORT + number % _PORTS),
    }


def first_host(nodes: str) -> str:
    """The first of a list of hosts as Slurm writes it, with ranges in brackets."""
    return re.sub(r"\[([^\],-]+)[^\]]*\]", r"\1", nodes).split(",")[0].strip()


def _integer(name, default=None):
    text = os.environ.get(name, "")
    if not text and default is not None:
        return default
    if not text.isdigit():
        raise ValueError(f"{name} is {text!r}; expected a number, as srun sets it")
    return int(text)
