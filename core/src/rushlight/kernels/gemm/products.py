"""Matrix products: 2-D and batched, any strides, any numeric dtype."""

from __future__ import annotations

import math

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    FLOAT32,
    FLOAT64,
    is_low_precision,
    referenced_by,
)
from rushlight.machine import np
from rushlight.machine.memory import empty
from rushlight.machine.quiet import quietly

__all__ = ["addmm", "linear", "matmul"]

TINY = 4096  # multiply-adds: NumPy's product runs these on the calling thread
_LOOP_WORK = 2_000_000  # multiply-adds of one matrix of a batch worth its own parallel product
_plans: dict = {}
_MAX_PLANS = 4096


def _matmul_reference(a, b, out=None):
    """Products in float64 (float32 for low precision), rounded once."""
    if a.ndim > 1 and b.ndim > 1:
        _check_operands(a, b)
    dtype = np.result_type(a, b)
    wide = np.float64 if dtype == FLOAT32 else np.float32 if is_low_precision(dtype) else dtype
    result = np.matmul(a.astype(wide), b.astype(wide)).astype(dtype)
    if out is None:
        return result
    out[...] = result
    return out


def _addmm_reference(input, a, b, beta=1, alpha=1):
    dtype = np.result_type(a, b)
    wide = np.float64 if dtype == FLOAT32 else np.float32 if is_low_precision(dtype) else dtype
    result = np.matmul(a.astype(wide), b.astype(wide)) * alpha
    if beta != 0:
        result = result + input.astype(wide) * beta
    return result.astype(dtype)


def _linear_reference(input, weight, bias=None):
    _check_features(input, weight)
    result = _matmul_reference(input, weight.T)
    return result if bias is None else (result + bias).astype(result.dtype)


def _remember(key, plan):
    if len(_plans) >= _MAX_PLANS:
        _plans.clear()
    _plans[key] = plan
    return plan


def _check_inner(a, b):
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"matmul: inner sizes differ: {a.shape} @ {b.shape} (got {a.shape[-1]} and "
            f"{b.shape[-2]}, expected equal)"
        )


def _check_operands(a, b):
    """The batch dims that the product has."""
    _check_inner(a, b)
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(f"matmul: batch sizes do not broadcast: {a.shape} @ {b.shape}") from None


def _check_features(input, weight):
    if input.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"linear: input {input.shape} has {input.shape[-1]} features, "
            f"weight {weight.shape} expects {weight.shape[1]}"
        )


def rows_of(array):
    """An array or a tensor as a matrix whose rows are the last dim; there may be no elements."""
    if array.ndim == 2:
        return array
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def _product(a, b, out, bias, accumulate=False, epilogue=None):
    """2-D float32 or float64 product into ``out`` (fresh if None), plus bias row or plus out, the
    epilogue (of float32) behind it."""
    key = (a.shape, a.strides, b.shape, b.strides, a.itemsize, accumulate)
    plan = _plans.get(key)
    if plan is None:
        plan = _plan_product(key, a, b)
    if out is None:
        out = empty((key[0][0], key[2][1]), a.dtype)
    if plan is _EMPTY:
        if not accumulate:
            out[...] = 0 if bias is None else bias
        if epilogue is not None:
            epilogue.run(out)
        return out
    plan.run(a, b, out, bias, epilogue)
    return out


def product_into(a, b, out, bias=None, by_rows=False, epilogue=None, accumulate=False):
    """A 2-D float32 or float64 product of any strides into a dense ``out``, plus a row, or plus a
    value for each row, or (`accumulate`, without these) plus what ``out`` holds; the epilogue (of
    float32) behind it."""
    if not by_rows or bias is None:
        return _product(a, b, out, bias, accumulate, epilogue)
    key = (a.shape, a.strides, b.shape, b.strides, a.itemsize, "by rows")
    plan = _plans.get(key)
    if plan is None:
        from rushlight.kernels.gemm.plans import Product

        _check_inner(a, b)
        plan = _remember(key, Product(*key[:4], a.dtype, False, by_rows=True))
    plan.run(a, b, out, bias, epilogue)
    return out


def forget_plans():
    """Plan every product anew."""
    _plans.clear()


_EMPTY = object()


def _plan_product(key, a, b):
    _check_inner(a, b)
    if a.shape[0] * a.shape[1] * b.shape[1] == 0:
        return _remember(key, _EMPTY)
    from rushlight.kernels.gemm.plans import Product

    return _remember(key, Product(*key[:4], a.dtype, key[5]))


def _is_plain(a, b):
    return a.dtype is b.dtype and a.dtype in COMPILED_DTYPES


@referenced_by(_matmul_reference)
def matmul(a, b, out=None):
    """``a @ b`` for 2-D arrays or batches ``(..., M, K) @ (..., K, N)`` with broadcast batches.

    Any strides. float32 and float64 run on the tile kernels or OpenBLAS; float16 and bfloat16
    are computed in float32 and rounded once; other dtypes by NumPy. ``out`` may have any strides
    but must not overlap the operands. Raises ValueError when inner sizes differ.
    """
    if a.ndim != 2 or b.ndim != 2 or out is not None or not _is_plain(a, b):
        return _general_matmul(a, b, out)
    if a.size * b.shape[1] <= TINY:
        _check_inner(a, b)
        return quietly(np.dot, a, b)
    return _product(a, b, None, None)


def _general_matmul(a, b, out):
    if a.ndim == 1 or b.ndim == 1:
        left = a[None] if a.ndim == 1 else a
        result = matmul(left, b[:, None] if b.ndim == 1 else b)
        if a.ndim == 1:
            result = result.squeeze(-2 if b.ndim > 1 else -2)
        result = result.squeeze(-1) if b.ndim == 1 else result
        return _deliver(result, out)
    _check_inner(a, b)
    if not _is_plain(a, b):
        result = _bfloat16_product(a, b, None) if b.ndim == 2 else _bfloat16_batch(a, b)
        if result is not None:
            return _deliver(result, out)
        dtype = np.result_type(a, b)
        if is_low_precision(dtype):
            a, b = cast(a, FLOAT32), cast(b, FLOAT32)
        elif dtype in COMPILED_DTYPES:
            a, b = a.astype(dtype), b.astype(dtype)
        else:
            return quietly(np.matmul, a, b, out=out)
        return _deliver(cast(matmul(a, b), dtype), out)
    if out is not None and not (out.dtype is a.dtype and out.flags.c_contiguous):
        return _deliver(matmul(a, b), out)
    if a.ndim == 2 and b.ndim == 2:
        return _product(a, b, out, None)
    return _batched(a, b, out)


def _bfloat16_product(a, b, bias):
    """bfloat16 (..., M, K) times (K, N) by instructions for them, rounded once; None where there
    are none, or they would not be quicker."""
    if not are_bfloat16(a, b):
        return None
    flat = rows_of(a)
    key = (flat.shape, flat.strides, b.shape, b.strides, 2, False)
    plan = _plans.get(key)
    if plan is None:
        from rushlight.kernels.gemm.plans import bfloat16_plan

        plan = _remember(key, bfloat16_plan(*key[:4]) or _EMPTY)
    if plan is _EMPTY:
        return None
    out = empty((flat.shape[0], b.shape[1]), a.dtype)
    plan.run(flat, b, out, None if bias is None else cast(bias, FLOAT32))
    return out if a.ndim == 2 else out.reshape(*a.shape[:-1], b.shape[1])


def _bfloat16_batch(a, b):
    """:func:`_bfloat16_product` of (..., M, K) times (..., K, N), without a bias."""
    if not are_bfloat16(a, b):
        return None
    batch = _check_operands(a, b)
    plan = _batch_plan(a, b, batch, False)
    if plan is None:
        return None
    out = empty((*batch, a.shape[-2], b.shape[-1]), a.dtype)
    plan.run(a, b, out, None)
    return out


def pixels_plan(weight, images):
    """How to multiply a bfloat16 matrix with each of a batch, plus a value for each row; None where
    no instructions are for that."""
    return _batch_plan(weight, images, images.shape[:1], True)


def _batch_plan(a, b, batch, by_rows):
    key = (a.shape, a.strides, b.shape, b.strides, 2, "by rows" if by_rows else "batch")
    plan = _plans.get(key)
    if plan is None:
        from rushlight.kernels.gemm.plans import bfloat16_batch

        empty_batch = 0 in batch or 0 in a.shape or 0 in b.shape
        plan = None if empty_batch else bfloat16_batch(*key[:4], batch, by_rows)
        plan = _remember(key, plan or _EMPTY)
    return None if plan is _EMPTY else plan


def are_bfloat16(a, b):
    """Whether both arrays are bfloat16."""
    return a.dtype == b.dtype and a.itemsize == 2 and a.dtype.kind == "V"


def _deliver(result, out):
    if out is None:
        return result
    out[...] = result
    return out


def _batched(a, b, out):
    key = (a.shape, a.strides, b.shape, b.strides, a.itemsize)
    plan = _plans.get(key)
    if plan is None:
        plan = _remember(key, _plan_batch(a, b))
    batch, plan = plan
    if out is None:
        out = empty((*batch, a.shape[-2], b.shape[-1]), a.dtype)
    if plan == "empty":
        out[...] = 0
    elif plan == "rows":  # (..., M, K) @ (K, N) is one tall product
        _product(a.reshape(-1, a.shape[-1]), b, out.reshape(-1, b.shape[-1]), None)
    elif plan == "loop":
        left = np.broadcast_to(a, (*batch, *a.shape[-2:]))
        right = np.broadcast_to(b, (*batch, *b.shape[-2:]))
        for index in np.ndindex(*batch):
            _product(left[index], right[index], out[index], None)
    else:
        plan.run(a, b, out)
    return out


def _plan_batch(a, b):
    batch = _check_operands(a, b)
    (m, k), n = a.shape[-2:], b.shape[-1]
    if m * k * n * int(np.prod(batch)) == 0:
        return batch, "empty"
    if b.ndim == 2 and a.flags.c_contiguous:
        return batch, "rows"
    if m * k * n >= _LOOP_WORK and a.dtype is FLOAT32:
        return batch, "loop"
    from rushlight.kernels.gemm.plans import BatchProduct

    return batch, BatchProduct(a.shape, a.strides, b.shape, b.strides, a.dtype, batch)


@referenced_by(_addmm_reference)
def addmm(input, a, b, beta=1, alpha=1):
    """``beta * input + alpha * (a @ b)`` for 2-D ``a`` and ``b``; ``input`` broadcasts to (M, N).

    With ``beta == 0`` the input is ignored, NaN included, as in torch.
    """
    _check_inner(a, b)
    shape = (a.shape[0], b.shape[1])
    plain = _is_plain(a, b) and input.dtype is a.dtype and alpha == 1 and beta == 1
    if plain and input.ndim == 1 and input.shape[0] == shape[1]:
        return _product(a, b, None, by_rows(input))
    if plain:
        out = empty(shape, a.dtype)
        out[...] = input
        return _product(a, b, out, None, accumulate=True)
    dtype = np.result_type(a, b)
    if is_low_precision(dtype):
        wide = [cast(v, FLOAT32) for v in (input, a, b)]
        return cast(addmm(*wide, beta=beta, alpha=alpha), dtype)
    result = matmul(a, b)
    if alpha != 1:
        result = result * np.asarray(alpha).astype(dtype)
    if beta != 0:
        scaled = input if beta == 1 else input * np.asarray(beta).astype(dtype)
        result = result + scaled
    return result.astype(dtype, copy=False)


def planned_linear(input, weight, bias, epilogue=None):
    """:func:`linear` where these very layouts have been checked and planned before, the epilogue
    (of float32) behind it; else None."""
    dtype, columns = input.dtype, weight.T
    plan = _plans.get(
        (input.shape, input.strides, columns.shape, columns.strides, input.itemsize, False)
    )
    if plan is None or plan is _EMPTY or plan.dtype is not dtype or weight.dtype is not dtype:
        return None
    if bias is not None and not (
        bias.dtype is dtype and bias.shape == columns.shape[1:] and bias.flags.c_contiguous
    ):
        return None
    out = empty((input.shape[0], columns.shape[1]), dtype)
    plan.run(input, columns, out, bias, epilogue)
    return out


@referenced_by(_linear_reference)
def linear(input, weight, bias=None):
    """``input @ weight.T + bias`` for input (..., K) and weight (N, K); the bias is fused.

    Raises ValueError when K differs.
    """
    _check_features(input, weight)
    if not _is_plain(input, weight) or (bias is not None and bias.dtype is not input.dtype):
        dtype = np.result_type(input, weight)
        if not (is_low_precision(dtype) or dtype in COMPILED_DTYPES):
            result = matmul(input, weight.T)
            return result if bias is None else result + bias
        result = _bfloat16_product(input, weight.T, bias)
        if result is not None:
            return result
        wide = FLOAT64 if dtype == FLOAT64 else FLOAT32
        wide_bias = None if bias is None else cast(bias, wide)
        return cast(linear(cast(input, wide), cast(weight, wide), wide_bias), dtype)
    flat = rows_of(input)
    if bias is not None and not bias.flags.c_contiguous:
        bias = by_rows(bias)
    if flat.shape[0] > 1 and flat.size * weight.shape[0] <= TINY:
        out = quietly(np.dot, flat, weight.T)
        if bias is not None:
            quietly(np.add, out, bias, out=out)
    else:
        out = _product(flat, weight.T, None, bias)
    return out if input.ndim == 2 else out.reshape(*input.shape[:-1], weight.shape[0])
