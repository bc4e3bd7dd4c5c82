"""Products of few float32 rows with a matrix of signed bytes and a scale for each of its rows."""

from __future__ import annotations

from rushlight.kernels.gemm import byte_kernels as native
from rushlight.kernels.launch.execution import FLOAT32, REFERENCE, chunk
from rushlight.kernels.launch.prepared import Remembered, prepared
from rushlight.machine import np

__all__ = ["FEW", "product"]

FEW = 16  # rows of input; with more of them a matrix in float32 is quicker, once it is made
_INT8 = np.dtype(np.int8)
_calls = Remembered()


def product(input, weight, scale, bias):
    """``input @ (weight * scale[:, None]).T + bias`` for input (..., K), weight (N, K), scale and
    bias (N); None where that is left to others: other dtypes and layouts, and many rows."""
    rows = input.size // max(1, weight.shape[1])
    if REFERENCE or input.dtype != FLOAT32 or not 0 < rows <= FEW or not weight.size:
        return None
    if weight.dtype != _INT8 or input.shape[-1:] != weight.shape[1:]:
        return None
    vectors = [scale] if bias is None else [scale, bias]
    if any(v.dtype != FLOAT32 or v.shape != weight.shape[:1] for v in vectors):
        return None
    if not all(a.flags.c_contiguous and a.flags.aligned for a in (input, weight, *vectors)):
        return None
    given = [input, weight, scale, scale if bias is None else bias]
    key = input.shape, weight.shape, bias is None
    call = _calls.get(key)
    if call is None:
        call = _calls.keep(key, _made(given, rows, bias is not None))
    return call(*given)


def _made(given, rows, biased):
    input, weight = given[:2]
    channels, n = weight.shape
    outputs = [((*input.shape[:-1], channels), FLOAT32)]
    words = [rows, n, channels, int(biased)]
    code = native.byte_rows.address()
    return prepared(code, channels, chunk(channels, rows * n), given, outputs, words)
