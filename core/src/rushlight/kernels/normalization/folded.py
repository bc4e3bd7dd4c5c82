"""Batch normalization in evaluation as part of the convolution before it: one call for weights."""

from __future__ import annotations

from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import Remembered, called, prepared
from rushlight.machine import np
from rushlight.machine.language.functions import (
    array,
    f64,
    i64,
    independent,
    range_kernel,
    real,
    square_root,
)

__all__ = ["folded"]

GAMMA, BETA, BIAS = 1, 2, 4  # which vectors there are
_calls = Remembered()


@range_kernel
def fold_rows(args, lo, hi, tid):
    """Items are outputs. Words: a number; weight and bias; WEIGHT, MEAN, VAR, GAMMA, BETA, BIAS (or
    any vector in their positions); eps, weights of an output, which vectors there are."""
    g = array(i64, args)
    eps, n, given, size = array(f64, args)[9], g[10], g[11], real.bits // 8
    means, variances = array(real, g[4]), array(real, g[5])
    gammas, betas, biases = array(real, g[6]), array(real, g[7]), array(real, g[8])
    for item in range(lo, hi):
        scale = real(1.0 / square_root(f64(variances[item]) + eps))
        if given & GAMMA != 0:
            scale = scale * gammas[item]
        shift = (biases[item] if given & BIAS != 0 else real(0)) - means[item]
        shift = shift * scale
        if given & BETA != 0:
            shift = shift + betas[item]
        array(real, g[2])[item] = shift
        source, out = array(real, g[3] + size * item * n), array(real, g[1] + size * item * n)
        for i in independent(n):
            out[i] = source[i] * scale


def _prepare(arrays, given):
    weight, *vectors = arrays
    rows, dtype = len(weight), weight.dtype
    if REFERENCE or dtype not in COMPILED_DTYPES or not weight.size:
        return None
    if any(v.dtype is not dtype or v.shape != (rows,) for v in vectors):
        return None
    if not all(a.flags.c_contiguous for a in arrays):
        return None
    n = weight.size // rows
    code = fold_rows.address(real=language_type(dtype))
    outputs, words = [(weight.shape, dtype), ((rows,), dtype)], [n, given]
    return prepared(code, rows, chunk(rows, n), arrays, outputs, words, numbers="f")


def folded(weight, bias, mean, var, gamma, beta, eps):
    """``(weight, bias)`` of the convolution that does what one with `weight` (O, ...) and `bias`
    (O,) or None does, and then the normalization by `mean`, `var`, and, where they are not None,
    `gamma` and `beta` (O,)."""
    vectors = [mean if v is None else v for v in (gamma, beta, bias)]
    given = (gamma is not None) * GAMMA + (beta is not None) * BETA + (bias is not None) * BIAS
    arrays = [weight, mean, var, *vectors]
    key = (given, weight.dtype, *[(a.shape, a.strides) for a in arrays])
    call = _calls[key] if key in _calls else _calls.keep(key, _prepare(arrays, given))
    if call is not None:
        return called(call, arrays, eps)
    scale = 1.0 / np.sqrt(var + weight.dtype.type(eps))
    scale = scale if gamma is None else scale * gamma
    shift = (-mean if bias is None else bias - mean) * scale
    weight = weight * scale.reshape(-1, *[1] * (weight.ndim - 1))
    return weight, shift if beta is None else shift + beta
