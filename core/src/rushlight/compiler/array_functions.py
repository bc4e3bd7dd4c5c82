"""Functions of NumPy's arrays as functions of tensors."""

from __future__ import annotations

import functools

import rushlight
from rushlight.machine import np


def wrap_numpy(fn):
    """A function of tensors that runs a function of NumPy's arrays; also a decorator.

    Tensors among the arguments are given to `fn` as arrays, arrays among its results come back as
    tensors; both share memory. All other values, and the structures around them, stay as they are.
    In a compiled function the call runs as Python, between graphs.

    Args:
        fn: the function.

    Raises:
        RuntimeError: at a call with a tensor that requires a gradient; detach it first.
        TypeError: `fn` is not callable; at a call with a tensor on a GPU.

    >>> import numpy, rushlight
    >>> sorted_rows = rushlight.compiler.wrap_numpy(numpy.sort)
    >>> sorted_rows(rushlight.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
    if not callable(fn):
        raise TypeError(f"wrap_numpy(): argument 'fn' must be callable, not {type(fn).__name__}")
    over = rushlight.utils._pytree.tree_map_only

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        args, kwargs = over(rushlight.Tensor, lambda tensor: tensor.numpy(), (args, kwargs))
        return over(np.ndarray, rushlight.as_tensor, fn(*args, **kwargs))

    return wrapped
