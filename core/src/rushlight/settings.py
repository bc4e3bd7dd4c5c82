"""Process-wide settings: kernels mode, fast path, determinism, print options."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["fast_path_is_on", "kernels_mode", "print_options"]

_KERNELS = os.environ.get("RUSHLIGHT_KERNELS", "compiled")


def kernels_mode() -> str:
    """``"compiled"`` (default) or ``"reference"`` (``RUSHLIGHT_KERNELS=reference``: NumPy only)."""
    return _KERNELS


def _read_fast_path(environment):
    """Whether an environment asks for native calls. ``RUSHLIGHT_DOOR=python`` is the former name of
    ``RUSHLIGHT_FAST_PATH=off``, and counts where that is not set."""
    chosen = environment.get("RUSHLIGHT_FAST_PATH")
    if chosen is None:
        return environment.get("RUSHLIGHT_DOOR") != "python"
    if chosen not in ("on", "off"):
        raise ValueError(f"RUSHLIGHT_FAST_PATH must be 'on' or 'off', got {chosen!r}")
    return chosen == "on"


_FAST_PATH = _read_fast_path(os.environ)


def fast_path_is_on() -> bool:
    """Whether native calls may stand in for Python: True by default, False with
    ``RUSHLIGHT_FAST_PATH=off``, under which every call can be stepped through."""
    return _FAST_PATH


@dataclass
class PrintOptions:
    """What :func:`rushlight.set_printoptions` changes; the defaults are PyTorch's."""

    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


print_options = PrintOptions()
