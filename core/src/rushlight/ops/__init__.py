"""The op table. Importing it declares every op and binds the methods of Tensor.

As an attribute, every other name is a namespace of operators made with `rushlight.library`:
``rushlight.ops.mylib.scale(x)``; ``rushlight.ops.aten`` has this table's ops under ATen's names.
"""

import importlib

from rushlight.ops._table import (  # noqa: F401 - in the order their declarations build on each other
    deferred as _deferred,
)
from rushlight.ops.creation import (  # noqa: F401 - in the order their declarations build on each other
    conversion,
    new_tensors,
)
from rushlight.ops.creation import (
    tensors as creation,  # noqa: F401
)
from rushlight.ops.elementwise import (  # noqa: F401 - in the order their declarations build on each other
    activation,
    arithmetic,
    comparison,
    exponential,
    rounding,
    trigonometric,
    weighted_sums,
)
from rushlight.ops.indexing import (  # noqa: F401 - in the order their declarations build on each other
    items as indexing,
)
from rushlight.ops.indexing import (
    slicing,  # noqa: F401
)
from rushlight.ops.linalg import (  # noqa: F401 - in the order their declarations build on each other
    einsum,
)
from rushlight.ops.linalg import (
    products as matrix,  # noqa: F401
)
from rushlight.ops.losses import (  # noqa: F401 - in the order their declarations build on each other
    pointwise_losses as losses,
)
from rushlight.ops.neural import (  # noqa: F401 - in the order their declarations build on each other
    convolution,
    dropout,
    embedding,
    normalization,
    padding,
    pooling,
    softmax,
)
from rushlight.ops.random import (  # noqa: F401 - in the order their declarations build on each other
    sampling as random,
)
from rushlight.ops.reduction import (
    scan,  # noqa: F401
    small_reductions,  # noqa: F401
    sorting,  # noqa: F401
    variance,  # noqa: F401
)
from rushlight.ops.reduction import (  # noqa: F401 - in the order their declarations build on each other
    sums_and_extremes as reduction,
)
from rushlight.ops.shape import (  # noqa: F401 - in the order their declarations build on each other
    complex_views,
    copying,
    joining,
    repetition,
    triangular,
)
from rushlight.ops.shape import (
    flipping as turning,  # noqa: F401
)
from rushlight.ops.shape import (
    views as shape,  # noqa: F401
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
