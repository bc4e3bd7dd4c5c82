"""Dtypes, sizes, memory formats and type names print PyTorch's names: programs compare them.

``str(x.dtype) == "torch.float32"`` and ``x.type() == "torch.FloatTensor"`` are found in many
programs. While PyTorch's names are installed, and only then, such texts begin with ``torch.``.
"""

from __future__ import annotations

import functools

from rushlight.dtypes import dtype
from rushlight.tensor.memory_format import memory_format
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Tensor

_PLACES = (
    (dtype, "__repr__"),
    (memory_format, "__repr__"),
    (Size, "__repr__"),
    (Size, "__str__"),
    (Tensor, "type"),
)
_originals: dict = {}


def _spelled(method):
    @functools.wraps(method)
    def call(*args, **kwargs):
        found = method(*args, **kwargs)
        is_name = isinstance(found, str) and found.startswith("rushlight.")
        return "torch." + found.removeprefix("rushlight.") if is_name else found

    return call


def use_pytorch_names() -> None:
    """Let the texts begin with ``torch.``."""
    for place in _PLACES:
        if place not in _originals:
            owner, name = place
            _originals[place] = getattr(owner, name)
            setattr(owner, name, _spelled(_originals[place]))


def use_own_names() -> None:
    """Let the texts begin with ``rushlight.`` again."""
    while _originals:
        (owner, name), method = _originals.popitem()
        setattr(owner, name, method)
