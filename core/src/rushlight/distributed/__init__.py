"""Several processes: not available in this version. Questions get their answer for one process.

Guards (:func:`is_available`, :func:`is_initialized`) say no, so that guarded code is skipped;
what asks about a group without one raises as PyTorch does; the rest refuses when used.
"""

from __future__ import annotations

import enum
import os

from rushlight.refusals import rest_of


def is_available() -> bool:
    """Whether programs can run in several processes: not in this version."""
    return False


def is_initialized() -> bool:
    """Whether this process belongs to a group: never."""
    return False


def is_nccl_available() -> bool:
    """Whether NCCL can be used: never."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether a way of communicating can be used: none can."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process, by the variable it sets."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def _no_group(name):
    def call(*args, **kwargs):
        raise ValueError(
            f"rushlight.distributed.{name}: Default process group has not been initialized, and "
            "this version cannot make one; guard the call with "
            "rushlight.distributed.is_initialized()"
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Needs a process group; raises ValueError, as PyTorch does without one."
    return call


get_rank = _no_group("get_rank")
get_world_size = _no_group("get_world_size")
get_backend = _no_group("get_backend")
get_process_group_ranks = _no_group("get_process_group_ranks")


class ReduceOp(enum.Enum):
    """How values of several processes become one; the names that programs pass on."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class Backend(str):
    """The name of a way of communicating, in lower case."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"

    def __new__(cls, name: str):
        """The name in lower case."""
        if not isinstance(name, str):
            raise ValueError(f"Backend name must be a string, but got: {name}")
        return super().__new__(cls, name.lower())


class group:  # noqa: N801 - PyTorch's name
    """The group of all processes: None, because there is none."""

    WORLD = None


class GroupMember:
    """The group of all processes, and what stands for not belonging to a group."""

    WORLD = None
    NON_GROUP_MEMBER = -100


__getattr__ = rest_of(__name__)
