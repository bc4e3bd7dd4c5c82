"""Tensors some of whose elements do not count: functions that take a mask, and MaskedTensor.

Functions take ``mask=``, a bool tensor that broadcasts to the input, True where an element counts;
a :class:`MaskedTensor` carries the mask with it.

>>> x, mask = rushlight.tensor([1, 2, 3]), rushlight.tensor([True, False, True])
>>> rushlight.masked.sum(x, mask=mask)
tensor(4)
>>> rushlight.masked.masked_tensor(x, mask).sum()
MaskedTensor(4, True)
"""

import importlib

from rushlight.listings import list_on_demand
from rushlight.masked._ops import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)

__all__ = [
    "MaskedTensor",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]
# A class with ``__torch_dispatch__`` costs calls of other tensors time: it is made at first use.
_LATE = ("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor")


def __getattr__(name):
    if name != "maskedtensor" and name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.maskedtensor")
    globals().update({late: getattr(module, late) for late in _LATE})
    return globals()[name]


def __dir__():
    return sorted({*globals(), *__all__})


list_on_demand(__name__)
