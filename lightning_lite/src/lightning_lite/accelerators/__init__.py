"""The devices that training can run on: what they are called, whether they are there, what they do.

They import core only. Begin reading at `accelerator.py`.
"""

from __future__ import annotations

from typing import Any

from lightning_lite.accelerators.accelerator import Accelerator
from lightning_lite.accelerators.cpu import CPUAccelerator
from lightning_lite.accelerators.cuda import CUDAAccelerator, find_usable_cuda_devices
from lightning_lite.accelerators.mps import MPSAccelerator
from lightning_lite.lazy import attach

__all__ = [
    "Accelerator",
    "CPUAccelerator",
    "CUDAAccelerator",
    "MPSAccelerator",
    "accelerator_of",
    "find_usable_cuda_devices",
]
__getattr__ = attach(__name__, {})


def accelerator_of(device: Any) -> Accelerator:
    """The accelerator of a device, or of a word for one."""
    kind = getattr(device, "type", device)
    return CUDAAccelerator() if kind in ("cuda", "gpu") else CPUAccelerator()
