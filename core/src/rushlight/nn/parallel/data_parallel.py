"""A module over several devices, on the one that is here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushlight.nn.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight.devices import device


class DataParallel(Module):
    """A module over several GPUs; on the CPU it calls the module itself, as PyTorch does."""

    def __init__(
        self,
        module,
        device_ids: Sequence[int | device] | None = None,
        output_device: int | device | None = None,
        dim=0,
    ):
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
