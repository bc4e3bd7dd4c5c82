"""Evaluate a graph with NumPy, node by node: the reference executor.

It shares tracing and promotion with the compiled path, and nothing of lowering, polynomials or code
generation. Functions NumPy lacks come from :mod:`math` (in float64) or are written out here.
"""

from __future__ import annotations

import math

from rushlight.compiler.graph import Expr, constant, topological
from rushlight.compiler.storage import NUMPY, is_float, round_bfloat16
from rushlight.machine import np


def _by_element(function):
    """A float64 NumPy function from one on Python floats."""
    ufunc = np.frompyfunc(function, 1, 1)

    def call(x):
        return np.asarray(ufunc(np.asarray(x, np.float64))).astype(np.float64)

    return call


def _math_lgamma(x):
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def _digamma(x):
    """Reflection below zero, recurrence up to 10, then the asymptotic series."""
    if math.isnan(x) or x == math.inf:
        return x
    if x == 0:
        return -math.copysign(math.inf, x)
    if x < 0:
        if math.isinf(x) or x == math.floor(x):
            return math.nan
        return _digamma(1 - x) - math.pi / math.tan(math.pi * math.remainder(x, 1.0))
    total = 0.0
    while x < 10:
        total -= 1 / x
        x += 1
    z = 1 / (x * x)
    coefficients = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    series = sum(c * z ** (k + 1) for k, c in enumerate(coefficients))
    return total + math.log(x) - 0.5 / x - series


def _trigamma(x):
    """As :func:`_digamma`, its derivative."""
    if math.isnan(x) or x == -math.inf:
        return math.nan
    if x < 0.5:
        sine = math.sin(math.pi * math.remainder(x, 1.0))
        return math.inf if sine == 0 else (math.pi / sine) ** 2 - _trigamma(1 - x)
    total = 0.0
    while x < 10:
        total += 1 / (x * x)
        x += 1
    z = 1 / (x * x)
    coefficients = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
    series = sum(c * z**k for k, c in enumerate(coefficients)) * z / x
    return total + 1 / x + z / 2 + series


def _erfinv(y):
    """Newton's method on erf (erfc in the tails) from Winitzki's estimate."""
    if not abs(y) < 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    if y == 0:
        return y
    a = 0.147
    log_term = math.log1p(-y * y)
    b = 2 / (math.pi * a) + log_term / 2
    x = math.sqrt(math.sqrt(b * b - log_term / a) - b)
    target = 1 - abs(y)
    for _ in range(4):
        error = math.erfc(x) - target if abs(y) > 0.5 else abs(y) - math.erf(x)
        step = error / (2 / math.sqrt(math.pi) * math.exp(-x * x))
        x += step / (1 - x * step)  # Halley
    return math.copysign(x, y)


def _floor_divide(x, y):
    if x.dtype.kind in "iu":
        return _integer_divmod(x, y)[0]
    modulus = np.fmod(x, y)
    wrong = (modulus != 0) & ((modulus < 0) ^ (y < 0))
    quotient = (x - modulus) / y
    quotient = np.where(wrong, quotient - 1, quotient)
    floor = np.floor(quotient)
    floor = np.where(quotient - floor > 0.5, floor + 1, floor)
    floor = np.where(quotient == 0, np.copysign(quotient * 0, x / y), floor)
    return np.where(y == 0, x / y, floor)


def _remainder(x, y):
    if x.dtype.kind in "iu":
        return _integer_divmod(x, y)[1]
    modulus = np.fmod(x, y)
    wrong = (modulus != 0) & ((modulus < 0) ^ (y < 0))
    return np.where(wrong, modulus + y, modulus)


def _integer_divmod(x, y):
    """Division by zero gives 0 (the compiled kernels' value); the smallest number over -1 wraps."""
    safe = np.where((y == 0) | (y == -1), np.ones_like(y), y)
    quotient, remainder = np.floor_divide(x, safe), np.remainder(x, safe)
    quotient = np.where(y == -1, -x, np.where(y == 0, np.zeros_like(x), quotient))
    return quotient, remainder


def _fmod(x, y):
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    safe = np.where((y == 0) | (y == -1), np.ones_like(y), y)
    return np.fmod(x, safe)


def _power(x, y):
    """Integers: repeated squaring with wraparound; a negative exponent gives 0, 1 or -1."""
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    result, base, left = np.ones_like(x * y), x + np.zeros_like(y), np.maximum(y, 0) + x * 0
    while np.any(left > 0):
        result = np.where(left & 1, result * base, result)
        base, left = base * base, left >> 1
    odd = np.where(y & 1, -1, 1).astype(result.dtype)
    inverse = np.where(x == 1, 1, np.where(x == -1, odd, 0)).astype(result.dtype)
    return np.where(y < 0, inverse, result)


def _shift(function, overflow):
    """A count that is negative or not below the width gives what shifting everything out gives."""

    def call(x, y):
        width = x.dtype.itemsize * 8
        fits = (y >= 0) & (y < width)
        return np.where(fits, function(x, np.where(fits, y, 0)), overflow(x))

    return call


def _sign(x):
    if x.dtype.kind == "c":
        x = np.asarray(x)
        size, out = np.abs(x), np.empty_like(x)
        out.real, out.imag = x.real / size, x.imag / size  # NumPy would divide by complex numbers
        out[size == 0] = 0
        return out
    if x.dtype.kind == "b":
        return x
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


_OTHER_NAMES = {
    "negative": np.negative,
    "round": np.rint,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _by_element(math.erf),
    "erfc": _by_element(math.erfc),
    "erfinv": _by_element(_erfinv),
    "lgamma": _by_element(_math_lgamma),
    "digamma": _by_element(_digamma),
    "trigamma": _by_element(_trigamma),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": _fmod,
    "power": _power,
    "sign": _sign,
    "left_shift": _shift(np.left_shift, lambda x: x * 0),
    "right_shift": _shift(np.right_shift, lambda x: np.where(x < 0, -1, 0)),
    "where": np.where,
    "real": np.real,
    "imag": np.imag,
    "conj": np.conj,
}


def _convert(x, e):
    target = NUMPY[e.dtype]
    if x.dtype.kind == "c" and target.kind != "c":
        x = (x != 0) if target.kind == "b" else x.real
    return x.astype(target)


def numpy_function(e):
    """The function of operands that a node is, None where NumPy has none."""
    return _OTHER_NAMES.get(e.op) or getattr(np, e.op, None)


def _apply(e, args):
    """The value of one node with operands."""
    if e.op == "cast":
        return _convert(args[0], e)
    if e.op == "round" and e.value is not None:
        x = args[0]
        return round_bfloat16(x) if e.value == "bf16" else x.astype(np.float16).astype(np.float32)
    if e.op == "wrap":
        return args[0].astype(NUMPY[e.value]).astype(np.int32)
    if e.op == "nextafter":
        kind = NUMPY[e.value or e.dtype]
        return np.nextafter(args[0].astype(kind), args[1].astype(kind))
    if e.op == "signbit" and not is_float(e.args[0].dtype):
        return args[0] < 0
    if e.op == "complex":
        out = np.empty(np.broadcast_shapes(*[np.shape(a) for a in args]), NUMPY[e.dtype])
        out.real, out.imag = args
        return out
    return numpy_function(e)(*args)


def evaluate(roots, arrays, params):
    """Arrays of the values of `roots`.

    `arrays` are the inputs in arithmetic form (:func:`rushlight.compiler.storage.decode`), `params`
    the run-time scalars; everything broadcasts.
    """
    with np.errstate(all="ignore"):
        return evaluate_nodes(topological(roots), roots, arrays, params)


def evaluate_nodes(nodes, roots, arrays, params):
    """:func:`evaluate` where all nodes are known, operands first; NumPy's warnings are the
    caller's business."""
    values: dict[Expr, object] = {}
    for e in nodes:
        if e.op == "const":
            value = np.asarray(e.value, NUMPY[e.dtype])
        elif e.op == "load":
            value = arrays[e.value[0]]
        elif e.op == "param":
            value = np.asarray(params[e.value], NUMPY[e.dtype])
        else:
            value = np.asarray(_apply(e, [values[a] for a in e.args]))
            value = value.astype(NUMPY[e.dtype], copy=False)
        values[e] = value
    return [values[r] for r in roots]


def fold(e):
    """A node of weak literals as a literal; any other node itself."""
    if not e.weak or not e.args or any(a.op != "const" for a in e.args):
        return e
    return constant(evaluate([e], [], [])[0].item())
