"""Products of few float32 rows with a matrix of signed bytes and a scale for each of its rows."""

from __future__ import annotations

from rushlight.kernels.gemm import byte_kernels as native
from rushlight.kernels.gemm.byte_tiles import BytesProduct
from rushlight.kernels.gemm.plans import fit_matrix_units
from rushlight.kernels.launch.execution import FLOAT32, REFERENCE, chunk
from rushlight.kernels.launch.prepared import Remembered, prepared
from rushlight.machine import np

__all__ = ["FEW", "product"]

FEW = 16  # rows of input; with more of them a matrix in float32 is quicker, once it is made
_INT8 = np.dtype(np.int8)
_calls, _tiled = Remembered(), Remembered()  # of few rows; of many, on matrix units


def product(input, weight, scale, bias):
    """``input @ (weight * scale[:, None]).T + bias`` for input (..., K), weight (N, K), scale and
    bias (N); None where that is left to others: other dtypes and layouts, many rows without matrix
    units, and rows of values that those cannot multiply."""
    rows = input.size // max(1, weight.shape[1])
    if REFERENCE or input.dtype != FLOAT32 or not rows or not weight.size:
        return None
    if weight.dtype != _INT8 or input.shape[-1:] != weight.shape[1:]:
        return None
    vectors = [scale] if bias is None else [scale, bias]
    if any(v.dtype != FLOAT32 or v.shape != weight.shape[:1] for v in vectors):
        return None
    if not all(a.flags.c_contiguous and a.flags.aligned for a in (input, weight, *vectors)):
        return None
    if rows > FEW:
        return _on_matrix_units(input, weight, scale, bias, rows)
    given = [input, weight, scale, scale if bias is None else bias]
    key = input.shape, weight.shape, bias is None
    call = _calls.get(key)
    if call is None:
        call = _calls.keep(key, _made(given, rows, bias is not None))
    return call(*given)


def _on_matrix_units(input, weight, scale, bias, rows):
    """The same for many rows where the processor has matrix units and the sizes suit them."""
    key = rows, *weight.shape
    if not fit_matrix_units(*key):
        return None
    call = _tiled.get(key)
    if call is None:
        call = _tiled.keep(key, BytesProduct(*key))
    made = call.run(input, weight, scale, bias)
    return None if made is None else made.reshape(*input.shape[:-1], weight.shape[0])


def _made(given, rows, biased):
    input, weight = given[:2]
    channels, n = weight.shape
    outputs = [((*input.shape[:-1], channels), FLOAT32)]
    words = [rows, n, channels, int(biased)]
    code = native.byte_rows.address()
    return prepared(code, channels, chunk(channels, rows * n), given, outputs, words)
