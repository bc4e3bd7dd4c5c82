"""What function transforms tell of their tensors, under the names of PyTorch's compiled part."""

from __future__ import annotations

from rushlight.refusals import rest_of
from rushlight.tensor.dispatch import stack

_TRANSFORMS = ("vmap", "grad", "jvp")


def _kind(tensor) -> str | None:
    level = getattr(tensor, "_level", None)
    return None if level is None else level.kind


def is_batchedtensor(tensor) -> bool:
    """Whether a tensor stands for one example of many, inside of `vmap`."""
    return _kind(tensor) == "vmap"


def is_legacy_batchedtensor(tensor) -> bool:
    """Whether a tensor is of PyTorch's earlier `vmap`: there is none here."""
    return False


def is_gradtrackingtensor(tensor) -> bool:
    """Whether a tensor is one of `grad`, `vjp` or `jvp`."""
    return _kind(tensor) in ("grad", "jvp")


def is_functionaltensor(tensor) -> bool:
    """Whether a tensor is a functional copy for a graph: there are none here."""
    return False


def is_functorch_wrapped_tensor(tensor) -> bool:
    """Whether a tensor belongs to any function transform."""
    return _kind(tensor) in _TRANSFORMS


def get_unwrapped(tensor):
    """The tensor one level below."""
    return tensor._inner if is_functorch_wrapped_tensor(tensor) else tensor


def maybe_get_level(tensor) -> int:
    """The number of the level that a tensor belongs to, from 1; -1 for an ordinary tensor."""
    if not is_functorch_wrapped_tensor(tensor):
        return -1
    return 1 + [x for x in stack.levels if x.kind in _TRANSFORMS].index(tensor._level)


def maybe_get_bdim(tensor) -> int:
    """The dimension of the examples, always the first; -1 for a tensor without."""
    return 0 if is_batchedtensor(tensor) else -1


def peek_interpreter_stack():
    """The innermost function transform of this thread, or None."""
    return next((x for x in reversed(stack.levels) if x.kind in _TRANSFORMS), None)


def maybe_current_level() -> int | None:
    """How many function transforms this thread is in; None outside of all."""
    return sum(x.kind in _TRANSFORMS for x in stack.levels) or None


__getattr__ = rest_of(__name__)
