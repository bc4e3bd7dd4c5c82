"""`xp`: the words a body may use, on traced values and on NumPy arrays.

A word applied to traced values builds a node; applied to arrays it traces itself and evaluates the
node with NumPy, so both have one set of promotion and value rules: PyTorch's, not NumPy's (weak
scalars never widen an array, ``sign(nan)`` is 0, integer true division gives float32).
"""

from __future__ import annotations

from rushlight.compiler.evaluation import evaluate, fold
from rushlight.compiler.graph import Expr, as_expr, cast, constant, load, node, promote
from rushlight.compiler.storage import (
    COMPLEX,
    DEFAULT_FLOAT,
    HALF,
    NAME,
    check,
    decode,
    encode,
    is_inexact,
)
from rushlight.machine import np

# How operands are promoted and what comes out.
RULES = {
    "same": "add subtract multiply negative minimum maximum sign",
    "division": "floor_divide fmod remainder",
    "whole": "floor ceil trunc round",
    "float": (
        "divide copysign sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 "
        "sinh cosh tanh asinh acosh atanh erf erfc erfinv lgamma digamma trigamma hypot"
    ),
    "compare": "less less_equal greater greater_equal equal not_equal",
    "test": "isnan isinf isfinite signbit",
    "logical": "logical_and logical_or logical_xor logical_not",
    "integer": "bitwise_and bitwise_or bitwise_xor invert",
    "shift": "left_shift right_shift",
    "part": "abs real imag angle",
    "conjugate": "conj",
    "power": "power",
}
PRIMITIVES = {name: rule for rule, names in RULES.items() for name in names.split()}
_NO_BOOL = {
    "subtract": "write xp.logical_xor or xp.bitwise_xor",
    "negative": "write xp.logical_not or `~`",
}
_REAL_PART = {"c64": "f32", "c128": "f64"}


def build(name, *args):
    """One vocabulary call on traced values: promotion, dtype of the result, the node."""
    rule = PRIMITIVES[name]
    args, dtype, weak = promote(args)
    if rule in ("float", "angle") and not is_inexact(dtype):
        args, dtype = _floating(args, weak)
    if rule == "whole" and not is_inexact(dtype):
        return args[0]  # rounding an integer is nothing
    if rule == "logical":
        args, dtype, weak = [cast(a, "bool") for a in args], "bool", False
    elif rule in ("division", "shift") and dtype == "bool":
        args, dtype = [cast(a, "i32") for a in args], "i32"
    elif rule in ("integer", "shift") and is_inexact(dtype):
        raise TypeError(f"xp.{name}: expected integers or bools, got {dtype}")
    if rule == "same" and dtype == "bool" and name in _NO_BOOL:
        raise TypeError(f"xp.{name}: not defined for bools; {_NO_BOOL[name]}")
    if rule in ("compare", "test"):
        dtype, weak = "bool", False
    elif rule in ("part", "conjugate"):
        return _complex_word(name, args[0], dtype, weak)
    elif rule == "power":
        return _power(*args)
    return fold(node(name, args, dtype, weak))


def _floating(args, weak):
    dtype = "f64" if weak else DEFAULT_FLOAT
    return [cast(a, dtype, weak) for a in args], dtype


def _complex_word(name, x, dtype, weak):
    if dtype in COMPLEX:
        return node(name, (x,), dtype if name == "conj" else _REAL_PART[dtype], weak)
    if name == "abs":
        return x if dtype == "bool" else fold(node("abs", (x,), dtype, weak))
    if name == "imag":
        return cast(constant(0), dtype, weak)
    if name == "angle":
        x = x if is_inexact(dtype) else _floating([x], weak)[0][0]
        return where(x < 0, float(np.pi), where(xp.isnan(x), x, 0))
    return x


_POWERS = {
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    1.0: lambda x: x,
    0.5: lambda x: xp.sqrt(x),
    -0.5: lambda x: 1 / xp.sqrt(x),
    -1.0: lambda x: 1 / x,
    -2.0: lambda x: 1 / (x * x),
}


def _power(x, exponent):
    """``x ** 2`` in a body is a multiplication; a run-time exponent is a call."""
    dtype = x.dtype
    if dtype == "bool":
        x, exponent, dtype = cast(x, "i32"), cast(exponent, "i32"), "i32"
    if exponent.op == "const" and exponent.value in _POWERS:
        if is_inexact(dtype) or exponent.value > 0:
            return _POWERS[exponent.value](x)
    return fold(node("power", (x, exponent), dtype, x.weak))


def where(condition, x, y):
    """`x` where `condition` holds, else `y`."""
    (x, y), dtype, weak = promote((x, y))
    return node("where", (cast(condition, "bool"), x, y), dtype, weak)


def nextafter(x, y, storage=None):
    """The next number after `x` towards `y`; `storage="bf16"` or ``"f16"`` steps in that format."""
    x, y = build("copysign", x, x), as_expr(y)
    (x, y), dtype, _ = promote((x, y))
    return node("nextafter", (x, y), dtype, value=storage if storage in HALF else None)


def make_complex(real, imag):
    """A complex value from its parts."""
    (real, imag), dtype, _ = promote((real, imag))
    return node("complex", (real, imag), "c128" if dtype == "f64" else "c64")


# ------------------------------------------------------------------------------- words on arrays
def is_traced(x) -> bool:
    """True for a value a body sees while it is traced, False for arrays and numbers."""
    return isinstance(x, Expr)


def eager(function, args, keywords):
    """Trace `function` on arrays and numbers, evaluate with NumPy; numbers alone give a number."""
    arrays, dtypes = [], []

    def symbol(x):
        if isinstance(x, (np.ndarray, np.generic)):
            dtype = NAME.get(x.dtype)
            if dtype is None:
                raise TypeError(f"xp words take bool, integer, float or complex, not {x.dtype}")
            arrays.append(decode(x, dtype))
            dtypes.append(dtype)
            return load(len(arrays) - 1, dtype)
        return constant(x) if isinstance(x, (bool, int, float, complex)) else x

    result = function(*map(symbol, args), **{k: symbol(v) for k, v in keywords.items()})
    (value,) = evaluate([result], arrays, [])
    if not arrays:
        return np.asarray(value)[()].item()
    half = next((d for d in dtypes if d in HALF), None)
    return encode(value, half) if half and result.dtype == "f32" and "f32" not in dtypes else value


def word(function, name=None):
    """Make a function on traced values a vocabulary word, usable on arrays too."""

    def entry(*args, **keywords):
        if any(isinstance(a, Expr) for a in (*args, *keywords.values())):
            return function(*args, **keywords)
        return eager(function, args, keywords)

    entry.__name__ = entry.__qualname__ = name or function.__name__
    entry.__doc__ = function.__doc__
    setattr(Vocabulary, entry.__name__, staticmethod(entry))
    return entry


class Vocabulary:
    """The functions a body may use; the instance is :data:`xp`."""

    pi, inf, nan = float(np.pi), float("inf"), float("nan")

    def __getattr__(self, name):
        """Primitives become words when a body first uses them."""
        if name not in PRIMITIVES:
            raise AttributeError(f"xp has no word {name!r}")
        return word(_primitive(name), name)

    is_traced = staticmethod(is_traced)

    @staticmethod
    def cast(x, dtype):
        """`x` as a dtype name; half-width floats are rounded, narrow integers wrap."""
        check(dtype, "xp.cast")
        return cast(x, dtype) if isinstance(x, Expr) else eager(lambda v: cast(v, dtype), [x], {})


def _primitive(name):
    def call(*args):
        return build(name, *args)

    call.__doc__ = f"The word `{name}` ({PRIMITIVES[name]} rule)."
    return call


word(where)
word(nextafter)
word(make_complex, "complex")
xp: Vocabulary = Vocabulary()


def _operator(name, swap=False):
    def unary(self):
        return build(name, self)

    def binary(self, other):
        if isinstance(other, (Expr, bool, int, float, complex, np.generic)):
            return build(name, other, self) if swap else build(name, self, other)
        return NotImplemented

    return unary if name in ("negative", "invert", "abs") else binary


Expr.__add__, Expr.__radd__ = _operator("add"), _operator("add", swap=True)
Expr.__sub__, Expr.__rsub__ = _operator("subtract"), _operator("subtract", swap=True)
Expr.__mul__, Expr.__rmul__ = _operator("multiply"), _operator("multiply", swap=True)
Expr.__truediv__, Expr.__rtruediv__ = _operator("divide"), _operator("divide", swap=True)
Expr.__floordiv__, Expr.__rfloordiv__ = (
    _operator("floor_divide"),
    _operator("floor_divide", swap=True),
)
Expr.__pow__, Expr.__rpow__ = _operator("power"), _operator("power", swap=True)
Expr.__mod__, Expr.__rmod__ = _operator("remainder"), _operator("remainder", swap=True)
Expr.__and__, Expr.__rand__ = _operator("bitwise_and"), _operator("bitwise_and", swap=True)
Expr.__or__, Expr.__ror__ = _operator("bitwise_or"), _operator("bitwise_or", swap=True)  # type: ignore[method-assign]
Expr.__xor__, Expr.__rxor__ = _operator("bitwise_xor"), _operator("bitwise_xor", swap=True)
Expr.__lshift__, Expr.__rlshift__ = _operator("left_shift"), _operator("left_shift", swap=True)
Expr.__rshift__, Expr.__rrshift__ = _operator("right_shift"), _operator("right_shift", swap=True)
Expr.__lt__ = _operator("less")
Expr.__le__ = _operator("less_equal")
Expr.__gt__ = _operator("greater")
Expr.__ge__ = _operator("greater_equal")
Expr.__eq__ = _operator("equal")  # type: ignore[method-assign]
Expr.__ne__ = _operator("not_equal")  # type: ignore[method-assign]
Expr.__neg__ = _operator("negative")
Expr.__invert__ = _operator("invert")
Expr.__abs__ = _operator("abs")
Expr.__array_ufunc__ = None  # ndarray + Expr must not become an array of objects
