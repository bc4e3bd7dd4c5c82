"""How far values may be from each other, by their dtypes."""

from __future__ import annotations

from rushlight.dtypes import dtype as DType  # noqa: N812 - `dtype` is a value's here
from rushlight.tensor.tensor import Tensor
from rushlight.testing.errors import ErrorMeta

_OF_DTYPE = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex32": (1e-3, 1e-5), "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}  # fmt: skip


def default_tolerances(*inputs, dtype_precisions=None) -> tuple[float, float]:
    """``(rtol, atol)`` of tensors or dtypes: those of the least exact; 0 for whole numbers.

    `dtype_precisions` is a dict ``{dtype: (rtol, atol)}`` in place of the usual ones.
    """
    found = []
    for value in inputs:
        dtype = value.dtype if isinstance(value, Tensor) else value
        if not isinstance(dtype, DType):
            raise TypeError(
                "default_tolerances: expected tensors or dtypes, but got "
                f"{type(value).__name__} instead"
            )
        usual = _OF_DTYPE.get(dtype.name) if dtype_precisions is None else None
        found.append(usual or (dtype_precisions or {}).get(dtype, (0.0, 0.0)))
    rtols, atols = zip(*found, strict=True)
    return max(rtols), max(atols)


def get_tolerances(*inputs, rtol, atol, id: tuple = ()) -> tuple[float, float]:
    """The given tolerances, or the default ones of `inputs` where both are None.

    An `ErrorMeta` of a ValueError where one alone is given.
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        raise ErrorMeta(ValueError, text, id=id)
    return default_tolerances(*inputs) if rtol is None else (rtol, atol)
