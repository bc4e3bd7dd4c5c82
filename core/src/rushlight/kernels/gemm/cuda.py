"""Products of matrices on a device: the library's (`runtime.gemm`), in place of strided copies.

Any pair of strides that a library takes (rows or columns contiguous) is passed on as it is; other
operands are copied. Leading dimensions become one batch. Integers and complex numbers are left to
array code.
"""

from __future__ import annotations

import math

from rushlight.backends import cuda
from rushlight.compiler.cuda.device_array import empty
from rushlight.machine import np
from rushlight.machine.cuda import runtime
from rushlight.machine.cuda.runtime.products import DTYPES, described

__all__ = ["addmm", "linear", "matmul", "planned_linear"]


def _pair(array):
    """Strides of the last two dimensions in elements, where a library takes them; else None."""
    size = array.itemsize
    rows, columns = array.shape[-2:]
    row, column = array.strides[-2] // size, array.strides[-1] // size
    if rows <= 1:
        row = max(columns, 1) if column == 1 or columns <= 1 else 1
    if columns <= 1:
        column = 1 if row >= 1 and (row != 1 or rows <= 1) else max(rows, 1)
    if column == 1 and (row >= columns or rows <= 1):
        return max(row, columns, 1), 1
    if row == 1 and (column >= rows or columns <= 1):
        return 1, max(column, rows, 1)
    return None


def _operand(array):
    """The array with strides that a library takes, and those strides."""
    pair = _pair(array)
    if pair is None:
        array = array.contiguous()
        pair = max(array.shape[-1], 1), 1
    return array, pair


def _stride(array, count):
    return 0 if count <= 1 or array.ndim < 3 else array.strides[0] // array.itemsize


def _batched(array, batch):
    """The array as (count, rows, columns), broadcast over the batch."""
    if not batch:
        return array
    shape = (*batch, *array.shape[-2:])
    if array.ndim == 2:
        return array.broadcast_to((math.prod(batch), *array.shape))
    return array.broadcast_to(shape).reshape(math.prod(batch), *array.shape[-2:])


def _launch(a, b, out, bias=None, alpha=1.0, beta=0.0):
    """``out = alpha * a @ b + beta * out`` (+ bias) of 2-D or 3-D arrays."""
    count = out.shape[0] if out.ndim == 3 else 1
    (a, a_pair), (b, b_pair) = _operand(a), _operand(b)
    m, n, k = out.shape[-2], out.shape[-1], a.shape[-1]
    product = described(
        out.dtype,
        m,
        n,
        k,
        a_pair,
        b_pair,
        (max(n, 1), 1),
        count,
        (_stride(a, count), _stride(b, count), m * n),
        alpha,
        beta,
        "none" if bias is None else "bias",
        None,
        bool(cuda.matmul.allow_tf32) and out.dtype == np.float32,
    )
    current = runtime.current()
    stream = current.streams.current(out.device)
    address = 0 if bias is None else bias.address
    current.gemm(product, a.address, b.address, out.address, address, stream)
    return out


def _takes(*arrays):
    first = arrays[0].dtype
    return first in DTYPES and all(x is None or x.dtype == first for x in arrays)


def matmul(a, b, out=None):
    """The product of the last two dimensions, broadcast over the others; 1-D operands as NumPy."""
    if not _takes(a, b) or a.ndim < 2 or b.ndim < 2:
        return NotImplemented
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"matmul: inner sizes differ: {a.shape} @ {b.shape} (got {a.shape[-1]} and "
            f"{b.shape[-2]}, expected equal)"
        )
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    made = empty(shape, a.dtype, a.device)
    if made.size:
        if a.shape[-1] == 0:
            made[...] = 0
        else:
            whole = made.reshape(math.prod(batch), *shape[-2:]) if batch else made
            _launch(_batched(a, batch), _batched(b, batch), whole)
    if out is None:
        return made
    out[...] = made
    return out


def linear(input, weight, bias=None):
    """``input @ weight.T + bias``; the bias in the product's epilogue."""
    if not _takes(input, weight, bias):
        return NotImplemented
    if input.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"linear: input {input.shape} has {input.shape[-1]} features, weight {weight.shape} "
            f"expects {weight.shape[1]}"
        )
    shape = (*input.shape[:-1], weight.shape[0])
    out = empty(shape, input.dtype, input.device)
    if not out.size:
        return out
    if not input.shape[-1]:
        out[...] = 0 if bias is None else bias
        return out
    rows = input if input.ndim == 2 else input.reshape(-1, input.shape[-1])
    whole = out.reshape(-1, weight.shape[0])
    _launch(rows, weight.T, whole, None if bias is None else bias.contiguous())
    return out


def addmm(input, a, b, beta=1, alpha=1):
    """``beta * input + alpha * (a @ b)``."""
    if not _takes(input, a, b) or not a.shape[-1]:
        return NotImplemented
    shape = (a.shape[0], b.shape[1])
    out = empty(shape, a.dtype, a.device)
    if beta:
        out[...] = input
    return _launch(a, b, out, None, float(alpha), float(beta)) if out.size else out


def planned_linear(input, weight, bias=None):
    """None: the CPU's short way."""
    return None
