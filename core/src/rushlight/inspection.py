"""Questions about tensors and settings that are functions of the package itself."""

from __future__ import annotations

import warnings

from rushlight.tensor.tensor import Tensor


def is_tensor(obj) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def numel(input) -> int:
    """The number of elements."""
    return input.numel()


def is_floating_point(input) -> bool:
    """Whether the dtype is a float type."""
    return input.is_floating_point()


def is_complex(input) -> bool:
    """Whether the dtype is a complex type."""
    return input.is_complex()


def is_nonzero(input) -> bool:
    """Whether a one-element tensor is not zero."""
    return bool(input)


def result_type(tensor1, tensor2):
    """The dtype an operation on both (tensors or numbers) would compute in."""
    from rushlight.ops import _rules

    tensors = [t for t in (tensor1, tensor2) if isinstance(t, Tensor)]
    numbers = [n for n in (tensor1, tensor2) if not isinstance(n, Tensor)]
    return _rules.result_type(tensors, numbers)


def get_num_threads() -> int:
    """How many threads kernels use."""
    from rushlight.backends import threads

    return threads.get_num_threads()


def set_num_threads(int: int) -> None:
    """Set how many threads kernels use; results do not depend on it."""
    from rushlight.backends import threads

    threads.set_num_threads(int)


_deterministic = [False, False]


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic algorithms. On the CPU all of them are, with any number of threads."""
    _deterministic[:] = [bool(mode), bool(warn_only)]


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was given."""
    return _deterministic[0]


def set_default_tensor_type(t) -> None:
    """Set the default dtype by a legacy type name such as ``"torch.DoubleTensor"``."""
    from rushlight.dtypes import set_default_dtype
    from rushlight.ops.conversion import _FROM_LEGACY

    warnings.warn(
        "set_default_tensor_type is deprecated; use set_default_dtype and set_default_device.",
        stacklevel=2,
    )
    set_default_dtype(_FROM_LEGACY[str(t).rsplit(".", 1)[-1]])
