"""PyTorch's path of the functions of :mod:`rushlight.distributed`."""

from __future__ import annotations

from rushlight import distributed as _distributed
from rushlight.distributed import *  # noqa: F403 - the same names
from rushlight.distributed.groups import default_group as _get_default_group
from rushlight.distributed.reduce_op import premultiplied_sum as _make_nccl_premul_sum
from rushlight.refusals import rest_of

_rest = rest_of(__name__)


def __getattr__(name):
    return getattr(_distributed, name) if hasattr(_distributed, name) else _rest(name)


__all__ = ["_get_default_group", "_make_nccl_premul_sum"]
