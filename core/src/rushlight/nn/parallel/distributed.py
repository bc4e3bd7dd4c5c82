"""PyTorch's path of DistributedDataParallel, which stands in :mod:`rushlight.distributed.ddp`."""

from __future__ import annotations

from rushlight.autograd.later import later


def __getattr__(name):
    if name == "DistributedDataParallel":
        return later("distributed_data_parallel").DistributedDataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
