"""The op table. Importing it declares every op and binds the methods of Tensor.

As an attribute, every other name is a namespace of operators made with `rushlight.library`:
``rushlight.ops.mylib.scale(x)``; ``rushlight.ops.aten`` has this table's ops under ATen's names.
"""

import importlib
import os

from rushlight.autograd.later import provide as _provide
from rushlight.fastpath import start as _start  # noqa: F401 - waits for the engine
from rushlight.ops import _former_paths
from rushlight.ops._table import deferred as _deferred
from rushlight.ops.creation import conversion, new_tensors, tensors  # noqa: F401
from rushlight.ops.elementwise import (  # noqa: F401
    activation,
    arithmetic,
    comparison,
    exponential,
    rounding,
    trigonometric,
    weighted_sums,
)
from rushlight.ops.indexing import items, slicing  # noqa: F401
from rushlight.ops.linalg import einsum, products  # noqa: F401
from rushlight.ops.losses import pointwise_losses  # noqa: F401
from rushlight.ops.neural import (  # noqa: F401
    convolution,
    dropout,
    embedding,
    normalization,
    padding,
    pooling,
    softmax,
)
from rushlight.ops.random import sampling  # noqa: F401
from rushlight.ops.reduction import (  # noqa: F401
    scan,
    small_reductions,
    sorting,
    sums_and_extremes,
    variance,
)
from rushlight.ops.shape import (  # noqa: F401
    complex_views,
    copying,
    flipping,
    joining,
    repetition,
    triangular,
    views,
)

_provide(
    arrangement="rushlight.ops._table.arrangement",
    custom_functions="rushlight.ops._transforms.custom_functions",
    forward_mode="rushlight.ops._transforms.forward",
    inplace="rushlight.ops._table.inplace",
    saved_names="rushlight.ops._table.saved_names",
)
_former_paths.install()
_deferred.defer()


def load_library(path):
    """Libraries of compiled operators cannot be loaded.

    Raises:
        OSError: there is no such file.
        NotImplementedError: there is one.
    """
    if not os.path.exists(path):
        raise OSError(f"Could not load this library: {path}")
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
