"""Wrappers for several devices, on the one that is here."""

from __future__ import annotations

from rushlight.nn.module import Module


class DataParallel(Module):
    """A module over several GPUs; on the CPU it calls the module itself, as PyTorch does."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.dim, self.module = dim, module
        self.device_ids = [] if device_ids is None else list(device_ids)
        if len(self.device_ids) > 1:
            raise NotImplementedError(
                "DataParallel over several GPUs is not available; use one device and a larger batch"
            )
        self.output_device = output_device

    def forward(self, *inputs, **kwargs):
        """The module's forward."""
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """The module's result, on the device where it is."""
    if device_ids is not None and len(device_ids) > 1:
        raise NotImplementedError(
            "data_parallel over several GPUs is not available; use one device and a larger batch"
        )
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """Training in several processes, which is not available yet."""

    refuses = True  # ci/api_usage.py counts it among the names that refuse

    def __init__(self, module, *args, **kwargs):
        raise NotImplementedError(
            "DistributedDataParallel is not available yet; train in one process, with the module "
            "itself"
        )


class distributed:  # noqa: N801 - PyTorch's module of this name
    """PyTorch's path ``nn.parallel.distributed.DistributedDataParallel``."""

    DistributedDataParallel = DistributedDataParallel


__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
