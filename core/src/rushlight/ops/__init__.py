"""The op table. Importing it declares every op and binds the methods of Tensor.

As an attribute, every other name is a namespace of operators made with `rushlight.library`:
``rushlight.ops.mylib.scale(x)``; ``rushlight.ops.aten`` has this table's ops under ATen's names.
"""

import importlib

from rushlight.ops import (  # noqa: F401 - in the order their declarations build on each other
    _deferred,
    activation,
    arithmetic,
    comparison,
    complex_views,
    conversion,
    convolution,
    copying,
    creation,
    dropout,
    einsum,
    embedding,
    exponential,
    indexing,
    joining,
    losses,
    matrix,
    new_tensors,
    normalization,
    padding,
    pooling,
    random,
    reduction,
    repetition,
    rounding,
    scan,
    shape,
    slicing,
    small_reductions,
    softmax,
    sorting,
    triangular,
    trigonometric,
    turning,
    variance,
    weighted_sums,
)

_deferred.defer()


def load_library(path):
    """Libraries of compiled operators cannot be loaded."""
    raise NotImplementedError(
        f"ops.load_library({str(path)!r}): there is no C++ interface; make an operator of a Python "
        "function, a Numba kernel or a ctypes call with rushlight.library.custom_op"
    )


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'rushlight.ops' has no attribute '{name}'")
    try:  # a family of ops that is loaded late
        return importlib.import_module("rushlight.ops." + name)
    except ModuleNotFoundError:
        return importlib.import_module("rushlight.library.operators").lookup(name)
