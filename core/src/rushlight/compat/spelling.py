"""Dtypes, sizes, memory formats and type names print PyTorch's names: programs compare them.

``str(x.dtype) == "torch.float32"`` and ``x.type() == "torch.FloatTensor"`` are found in many
programs, and so are ``"torch" in str(type(x))`` and questions for the ``__module__`` of the bases
of a class. While PyTorch's names are installed, and only then, such texts begin with ``torch.``.
"""

from __future__ import annotations

import functools

from rushlight.dtypes import dtype
from rushlight.nn.module import Module
from rushlight.tensor.homes import RENAMED
from rushlight.tensor.memory_format import memory_format
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Parameter, Tensor

_PLACES = (
    (dtype, "__repr__"),
    (memory_format, "__repr__"),
    (Size, "__repr__"),
    (Size, "__str__"),
    (Tensor, "type"),
)
# Classes whose homes programs compare, in ``str(type(x))`` or by ``type(x).__module__``.
_HOMES = (
    (Tensor, "torch"),
    (Parameter, "torch.nn.parameter"),
    (Module, "torch.nn.modules.module"),
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
    for kind, home in _HOMES:
        if kind not in RENAMED:
            RENAMED[kind], kind.__module__ = kind.__module__, home


def use_own_names() -> None:
    """Let the texts begin with ``rushlight.`` again."""
    while _originals:
        (owner, name), method = _originals.popitem()
        setattr(owner, name, method)
    while RENAMED:
        kind, home = RENAMED.popitem()
        kind.__module__ = home
