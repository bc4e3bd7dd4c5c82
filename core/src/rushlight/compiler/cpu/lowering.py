"""Rewrite a graph until only what the emitter knows is left."""

from __future__ import annotations

from rushlight.compiler.functions import (
    error_functions,
    exponentials,
    gamma_functions,
    hyperbolic,
    trigonometry,
)
from rushlight.compiler.functions.algebra import (
    INF,
    NAN,
    bits,
    copysign,
    fabs,
    floats,
    fma,
    libm,
    repair,
    sqrt,
    whole,
)
from rushlight.compiler.functions.exponentials import exp, log
from rushlight.compiler.graph import cast, constant, node, rebuild, topological
from rushlight.compiler.storage import is_float
from rushlight.compiler.vocabulary import where, xp

EXACT = (1 << 53) - 1  # up to here float64 holds every integer


# ------------------------------------------------------------------------------- power and division
def power(x, y):
    """float32 by exp and log in float64 (0.5 units in the last place); integers by squaring."""
    if not is_float(x.dtype):
        return node("lanes", (x, y), x.dtype, x.weak, "ipow")
    if x.dtype == "f64":
        return libm("pow", x, y)
    a = cast(fabs(x), "f64")
    magnitude = cast(exp(cast(y, "f64") * log(a)), "f32")
    is_whole = whole("trunc", y) == y
    half = y * 0.5
    odd = is_whole & (whole("trunc", half) != half)
    signed = where(odd, copysign(magnitude, x), magnitude)
    result = where((x < 0.0) & (x > -INF) & ~is_whole, NAN, signed)
    return where((y == 0.0) | (x == 1.0) | ((x == -1.0) & (fabs(y) == INF)), 1.0, result)


def integer_quotient(x, y):
    """Truncating division; x / 0 = 0.

    Integers below 2**53 divide exactly in float64: a quotient a / b short of a whole number k is so
    by at least 1 / b, more than half a unit in the last place of k. Larger ones go lane by lane.
    """
    zero, minus = y == 0, y == -1
    wide = cast(x, "f64") / cast(where(zero | minus, 1, y), "f64")
    result = where(zero, 0, where(minus, -x, cast(wide, x.dtype)))
    if x.dtype == "i32":
        return result
    far = (x > EXACT) | (x < -EXACT) | (y > EXACT) | (y < -EXACT)
    return repair(result, far, "sdiv", x, y)


def fmod(x, y):
    """C's remainder, with the sign of the dividend.

    ``a - trunc(a / b) * b`` is exact in a fused multiply-add while the quotient is a float64 whole
    number; a / b may round up to one too many, which the sign of the difference tells. Larger
    quotients, infinities and zero divisors go to the C library.
    """
    if not is_float(x.dtype):
        return where(y == 0, 0, x - integer_quotient(x, y) * y)
    a, b = cast(fabs(x), "f64"), cast(fabs(y), "f64")
    r = fma(whole("trunc", a / b), -b, a)
    r = cast(where(r < 0.0, r + b, r), x.dtype)
    far = ~(a < b * 2.0**52) | (b == INF)
    return repair(copysign(r, x), far, "fmodf" if x.dtype == "f32" else "fmod", x, y)


def remainder(x, y):
    """Python's remainder, with the sign of the divisor."""
    m = fmod(x, y)
    return where((m != 0) & ((m < 0) ^ (y < 0)), m + y, m)


def floor_divide(x, y):
    """Python's rule, the way NumPy and PyTorch round it."""
    if not is_float(x.dtype):
        q = integer_quotient(x, y)
        m = x - q * y
        wrong = (m != 0) & ((m < 0) ^ (y < 0)) & (y != 0)
        return q - cast(wrong, q.dtype)
    m = fmod(x, y)
    q = (x - m) / y
    q = where((m != 0) & ((m < 0) ^ (y < 0)), q - 1.0, q)
    f = whole("floor", q)
    f = where(q - f > 0.5, f + 1.0, f)
    return where(y == 0.0, x / y, where(q == 0.0, copysign(q * 0.0, x / y), f))


def left_shift(x, y):
    """0 for a count that is negative or not below the width."""
    width = 32 if x.dtype == "i32" else 64
    return where((y >= 0) & (y < width), node("shl", (x, y & (width - 1)), x.dtype, x.weak), 0)


def right_shift(x, y):
    """Arithmetic shift; the sign for a count that is negative or not below the width."""
    width = 32 if x.dtype == "i32" else 64
    count = where((y >= 0) & (y < width), y, width - 1)
    return node("ashr", (x, count), x.dtype, x.weak)


# ------------------------------------------------------------------------------------------- signs
def sign(x):
    """-1, 0 or 1; 0 for nan, as PyTorch has it."""
    return x if x.dtype == "bool" else cast(x > 0, x.dtype) - cast(x < 0, x.dtype)


def signbit(x):
    """True for negative numbers and -0.0."""
    if x.dtype == "bool":
        return constant(False, "bool")
    return bits(x) < 0 if is_float(x.dtype) else x < 0


def hypot(x, y):
    """sqrt(x*x + y*y): exact squares in float64 for float32, scaled ones for float64."""
    a, b = cast(fabs(x), "f64"), cast(fabs(y), "f64")
    infinite = (a == INF) | (b == INF)
    if x.dtype == "f32":
        return where(infinite, INF, cast(sqrt(a * a + b * b), "f32"))
    large = where(a > b, a, b)
    huge, tiny = large > 1e150, large < 1e-150
    scale = where(huge, 2.0**-600, where(tiny, 2.0**600, 1.0))
    back = where(huge, 2.0**600, where(tiny, 2.0**-600, 1.0))
    a, b = a * scale, b * scale
    return where(infinite, INF, sqrt(fma(a, a, b * b)) * back)


def nextafter(e, x, y):
    """Neighbours are adjacent as integers; bfloat16 steps by its own last place."""
    step = 1 << 16 if e.value == "bf16" else 1
    away = (y > x) == (x > 0.0)
    moved = floats(where(away, bits(x) + step, bits(x) - step))
    smallest = copysign(floats(constant(step, bits(x).dtype)), y)
    result = where(x == y, y, where(x == 0.0, smallest, moved))
    return where(xp.isnan(x) | xp.isnan(y), NAN, result)


REWRITES = {
    name: getattr(module, name)
    for module, names in (
        (exponentials, "exp exp2 expm1 log log2 log10 log1p"),
        (hyperbolic, "sinh cosh tanh asinh acosh atanh"),
        (trigonometry, "sin cos tan asin acos atan atan2"),
        (error_functions, "erf erfc erfinv"),
        (gamma_functions, "digamma lgamma trigamma"),
    )
    for name in names.split()
}
REWRITES |= {
    f.__name__: f
    for f in (
        power,
        fmod,
        remainder,
        floor_divide,
        left_shift,
        right_shift,
        sign,
        signbit,
        hypot,
    )
}


def _integer_test(e):
    """Float-only tests applied to integers and bools have constant answers."""
    if e.op in ("isnan", "isinf"):
        return constant(False, "bool")
    return constant(True, "bool") if e.op == "isfinite" else None


def lower(roots):
    """`roots` rewritten; shared nodes are rewritten once."""
    done = {}
    for e in topological(roots):
        args = tuple(done[a] for a in e.args)
        new = _integer_test(e) if args and not is_float(args[0].dtype) else None
        if new is None and e.op in REWRITES:
            new = REWRITES[e.op](*args)
        elif new is None and e.op == "nextafter":
            new = nextafter(e, *args)
        if new is None:
            new = rebuild(e, args)
        elif any(x.op in REWRITES for x in topological([new])):
            new = lower([new])[0]
        done[e] = new
    return [done[r] for r in roots]
