"""Dtypes by ONNX's numbers."""

from __future__ import annotations

from rushlight.onnx._types import NUMBERS

_DTYPES = {number: dtype for dtype, number in NUMBERS.items()}


def dtype_of(number):
    """The dtype of one of ONNX's numbers; NotImplementedError for those that are not here."""
    import rushlight

    special = {14: rushlight.complex64, 15: rushlight.complex128}
    found = _DTYPES.get(number) or special.get(number)
    if found is None:
        raise NotImplementedError(f"onnx.load: elements of the type {number} are not available")
    return found
