"""PyTorch's path to how tensors are printed."""

from __future__ import annotations

import dataclasses

from rushlight.refusals import rest_of
from rushlight.tensor.printing import _body, _join, set_printoptions
from rushlight.tensor.printing import print_options as PRINT_OPTS  # noqa: N812 - PyTorch's name

__all__ = ["PRINT_OPTS", "get_printoptions", "set_printoptions"]


def get_printoptions() -> dict:
    """What `set_printoptions` has set, by name."""
    return dataclasses.asdict(PRINT_OPTS)


def _tensor_str(self, indent: int) -> str:
    """The elements of a tensor in brackets; further lines begin with `indent` blanks."""
    tensor = self.detach().cpu()
    return _body(tensor._array, tensor._dtype, indent) if tensor.numel() else "[]"


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Text with what is said behind the elements, and a closing bracket."""
    if force_newline and suffixes:
        first, *rest = suffixes
        return _join(f"{tensor_str},\n{' ' * indent}{first}", rest, indent)
    return _join(tensor_str, suffixes, indent)


__getattr__ = rest_of(__name__)
