"""Products of float32 rows with a matrix of signed bytes and a scale for each of its rows."""

from __future__ import annotations

from rushlight.kernels.gemm import byte_kernels as native
from rushlight.kernels.gemm.byte_tiles import BytesProduct
from rushlight.kernels.gemm.integer_products import ByteProduct, IntegerProduct
from rushlight.kernels.gemm.integer_tiles import DEPTH_LIMIT
from rushlight.kernels.gemm.plans import fit_matrix_units
from rushlight.kernels.launch.execution import FLOAT32, REFERENCE, chunk
from rushlight.kernels.launch.prepared import Remembered, by_layouts, prepared
from rushlight.machine import np

__all__ = ["FEW", "dequantized", "product", "rounded_product", "whole_product"]

FEW = 16  # rows of input; with more of them a matrix in float32 is quicker, once it is made
_INT8 = np.dtype(np.int8)
_calls, _tiled = Remembered(), Remembered()  # of few rows; of many, on matrix units
_rounded, _whole = Remembered(), Remembered()  # of rows that are rounded to bytes; of bytes


def product(input, weight, scale, bias):
    """``input @ (weight * scale[:, None]).T + bias`` for input (..., K), weight (N, K), scale and
    bias (N); None where that is left to others: other dtypes and layouts, many rows without matrix
    units, and rows of values that those cannot multiply."""
    rows = _rows_of(input, weight, scale, bias)
    if not rows:
        return None
    if rows > FEW:
        return _on_matrix_units(input, weight, scale, bias, rows)
    given = [input, weight, scale, scale if bias is None else bias]
    key = input.shape, weight.shape, bias is None
    call = _calls.get(key)
    if call is None:
        call = _calls.keep(key, _made(given, rows, bias is not None))
    return call(*given)


def rounded_product(input, weight, scale, bias):
    """The same with each row of the input rounded to bytes, by a scale of its own; None for other
    dtypes and layouts, and where a sum could be too large."""
    rows = _rows_of(input, weight, scale, bias)
    if not rows or weight.shape[1] > DEPTH_LIMIT:
        return None
    key = rows, *weight.shape
    call = _rounded.get(key)
    if call is None:
        call = _rounded.keep(key, IntegerProduct(*key))
    found = call.run(input, weight, scale, bias)
    return found.reshape(*input.shape[:-1], weight.shape[0])


def whole_product(a, b):
    """``a @ b`` of matrices of bytes, those of `b` with a sign: int32 sums, which wrap around."""
    if a.dtype == np.uint8:  # as signed ones that are 128 smaller
        return whole_product((a ^ 128).view(_INT8), b) + 128 * b.sum(0, dtype=np.int32)
    turned = b.flags.f_contiguous and not b.flags.c_contiguous
    key = a.shape[0], b.shape[1], a.shape[1], 0 if turned else b.shape[1]
    if REFERENCE or not b.size or not a.size or a.shape[1] > DEPTH_LIMIT:
        return np.matmul(a.astype(np.int32), b.astype(np.int32))
    call = _whole.get(key)
    if call is None:
        call = _whole.keep(key, ByteProduct(*key))
    return call.run(np.ascontiguousarray(a), b.T if turned else np.ascontiguousarray(b))


def _plain_dequantized(weight, scale):
    return weight.astype(FLOAT32) * scale[:, None]


def _prepared_dequantized(weight, scale):
    """One pass over dense bytes."""
    dense = weight.flags.c_contiguous and scale.flags.c_contiguous
    if REFERENCE or weight.dtype != _INT8 or scale.dtype != FLOAT32 or not weight.size or not dense:
        return None
    count, n = weight.shape
    code = native.scaled_rows.address()
    return prepared(code, count, chunk(count, n), [weight, scale], [(weight.shape, FLOAT32)], [n])


# ``weight * scale[:, None]`` in float32.
dequantized = by_layouts(_prepared_dequantized, _plain_dequantized)


def _rows_of(input, weight, scale, bias):
    """How many rows there are to multiply, 0 where kernels cannot read the arrays."""
    if REFERENCE or input.dtype != FLOAT32 or not input.size or not weight.size:
        return 0
    if weight.dtype != _INT8 or input.shape[-1:] != weight.shape[1:]:
        return 0
    vectors = [scale] if bias is None else [scale, bias]
    if any(v.dtype != FLOAT32 or v.shape != weight.shape[:1] for v in vectors):
        return 0
    if not all(a.flags.c_contiguous and a.flags.aligned for a in (input, weight, *vectors)):
        return 0
    return input.size // weight.shape[1]


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
