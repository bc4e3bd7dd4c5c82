"""Modules over several devices and processes.

:mod:`.data_parallel` is for one process. DistributedDataParallel belongs to a higher layer, that of
:mod:`rushlight.distributed`, and is imported when it is asked for.
"""

from __future__ import annotations

import importlib

from rushlight.nn.parallel.data_parallel import DataParallel, data_parallel


def __getattr__(name):
    if name == "DistributedDataParallel":
        found = importlib.import_module("rushlight.nn.parallel.distributed")
        return found.DistributedDataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
