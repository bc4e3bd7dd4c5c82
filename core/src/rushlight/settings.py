"""Process-wide settings: kernels mode, determinism, print options."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["kernels_mode", "print_options"]

_KERNELS = os.environ.get("RUSHLIGHT_KERNELS", "compiled")


def kernels_mode() -> str:
    """``"compiled"`` (default) or ``"reference"`` (``RUSHLIGHT_KERNELS=reference``: NumPy only)."""
    return _KERNELS


@dataclass
class PrintOptions:
    """What :func:`rushlight.set_printoptions` changes; the defaults are PyTorch's."""

    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


print_options = PrintOptions()
