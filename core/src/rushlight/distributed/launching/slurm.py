"""Slurm's ``srun``: which host is the first of a step's."""

from __future__ import annotations

import os
import re


def first_host(nodes: str | None = None) -> str:
    """The first of a list of hosts as Slurm writes it, with ranges in brackets.

    Args:
        nodes: the list; by default that of this step, SLURM_STEP_NODELIST.

    Example:
        >>> from rushlight.distributed.launching import slurm
        >>> slurm.first_host("alpha[05-07,09],beta1")
        'alpha05'
    """
    listed = os.environ["SLURM_STEP_NODELIST"] if nodes is None else nodes
    return re.sub(r"\[([^\],-]+)[^\]]*\]", r"\1", listed).split(",")[0].strip()
