"""Data types: codes, categories and PyTorch's promotion table.

An integer ``code`` stands for a dtype wherever speed matters (kernel tables, promotion). The array
library's own dtype objects are found by code in :mod:`rushlight.machine.arrays`.
"""

from __future__ import annotations

import math

from rushlight.errors import type_name
from rushlight.machine import np

BOOL, INTEGER, FLOAT, COMPLEX = range(4)  # categories, lowest first


class dtype:  # noqa: N801 - PyTorch's public name
    """The element type of a tensor, for example ``rushlight.float32``."""

    constants = True  # there is one object of each
    __slots__ = ("category", "code", "is_signed", "itemsize", "name", "short")

    def __init__(
        self,
        code: int,
        name: str,
        short: str,
        itemsize: int,
        category: int,
        is_signed: bool = True,
    ) -> None:
        self.code, self.name, self.short = code, name, short
        self.itemsize, self.category, self.is_signed = itemsize, category, is_signed

    @property
    def is_floating_point(self) -> bool:
        """True for the float types (not for complex ones)."""
        return self.category == FLOAT

    @property
    def is_complex(self) -> bool:
        """True for the complex types."""
        return self.category == COMPLEX

    def to_real(self) -> dtype:
        """The real type of a complex type's parts; other types give themselves."""
        return _REAL.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type with parts of this precision."""
        if self.category == INTEGER and self.code >= FIRST_LIMITED:
            raise RuntimeError(f"to_complex: there is no complex type for {self}")
        if self in EIGHT_BITS:
            raise RuntimeError(f"to_complex: there is no complex type for {self}")
        return _COMPLEX.get(self, complex64)

    def __repr__(self):
        return f"rushlight.{self.name}"

    def __reduce__(self):
        return _by_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


bool_ = dtype(0, "bool", "bool", 1, BOOL, False)
uint8 = dtype(1, "uint8", "u8", 1, INTEGER, False)
int8 = dtype(2, "int8", "i8", 1, INTEGER)
int16 = dtype(3, "int16", "i16", 2, INTEGER)
int32 = dtype(4, "int32", "i32", 4, INTEGER)
int64 = dtype(5, "int64", "i64", 8, INTEGER)
float16 = dtype(6, "float16", "f16", 2, FLOAT)
bfloat16 = dtype(7, "bfloat16", "bf16", 2, FLOAT)
float32 = dtype(8, "float32", "f32", 4, FLOAT)
float64 = dtype(9, "float64", "f64", 8, FLOAT)
complex64 = dtype(10, "complex64", "c64", 8, COMPLEX)
complex128 = dtype(11, "complex128", "c128", 16, COMPLEX)
uint16 = dtype(12, "uint16", "u16", 2, INTEGER, False)
uint32 = dtype(13, "uint32", "u32", 4, INTEGER, False)
uint64 = dtype(14, "uint64", "u64", 8, INTEGER, False)
complex32 = dtype(15, "complex32", "c32", 4, COMPLEX)
# Eight bits: sign, exponent and fraction as the names tell; fn: without infinities, uz: with one
# zero and one NaN; e8m0fnu: powers of two without sign (Micikevicius et al., 2022, "FP8 formats for
# deep learning"; Open Compute Project, 2023, "Microscaling formats").
float8_e4m3fn = dtype(16, "float8_e4m3fn", "f8e4m3", 1, FLOAT)
float8_e5m2 = dtype(17, "float8_e5m2", "f8e5m2", 1, FLOAT)
float8_e4m3fnuz = dtype(18, "float8_e4m3fnuz", "f8e4m3z", 1, FLOAT)
float8_e5m2fnuz = dtype(19, "float8_e5m2fnuz", "f8e5m2z", 1, FLOAT)
float8_e8m0fnu = dtype(20, "float8_e8m0fnu", "f8e8m0", 1, FLOAT, False)

EIGHT_BITS = (float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu)
ALL = (
    bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
    complex128, uint16, uint32, uint64, complex32, *EIGHT_BITS,
)  # fmt: skip
# Codes from here on are dtypes that few ops compute in: they are stored, moved, compared for
# equality and multiplied, and little else (:mod:`rushlight.ops._table.limited` has the lists).
FIRST_LIMITED = uint16.code
TITLES = {  # in error messages and in names of types such as FloatTensor
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "bool": "Bool",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2": "Float8_e5m2",
    "float8_e4m3fnuz": "Float8_e4m3fnuz",
    "float8_e5m2fnuz": "Float8_e5m2fnuz",
    "float8_e8m0fnu": "Float8_e8m0fnu",
}
_REAL = {complex32: float16, complex64: float32, complex128: float64}
_COMPLEX = {
    float16: complex32, complex32: complex32, float64: complex128, complex128: complex128,
}  # fmt: skip
ALIASES = {
    "half": float16,
    "float": float32,
    "double": float64,
    "short": int16,
    "int": int32,
    "long": int64,
    "chalf": complex32,
    "cfloat": complex64,
    "cdouble": complex128,
}
NAMES = {d.name: d for d in ALL} | ALIASES


def _by_name(name):
    return NAMES[name]


def _promote(a: dtype, b: dtype) -> dtype | None:
    """PyTorch's rule for two dtypes of equal standing; None for a pair that it refuses."""
    if a is b:
        return a
    if a in EIGHT_BITS or b in EIGHT_BITS:
        return None
    high, low = (a, b) if a.category >= b.category else (b, a)
    if any(d.category == INTEGER and d.code >= FIRST_LIMITED for d in (a, b)):
        return high if high.category == FLOAT else None
    if high.category == COMPLEX:
        whole = high if low.category < FLOAT else low.to_complex()
        return max(high, whole, key=lambda d: d.itemsize)
    if high.category != low.category:
        return high
    if high.category == FLOAT:
        return float32 if {a, b} == {float16, bfloat16} else ALL[max(a.code, b.code)]
    if uint8 in (a, b):  # unsigned with signed: the next signed type that holds both
        other = b if a is uint8 else a
        return int16 if other is int8 else other
    return ALL[max(a.code, b.code)]


PROMOTION = tuple(tuple(_promote(a, b) for b in ALL) for a in ALL)


PYTHON_TYPES: dict = {bool: bool_, int: int64, float: float64, complex: complex128}
# What programs give in place of one by mistake. Other objects stand for one in traced programs.
_NO_DTYPES = (str, int, float, complex, list, tuple, dict, np.dtype)


def as_dtype(given):
    """The dtype that Python's `bool`, `int`, `float` or `complex` stands for; else what was given.

    TypeError for names of dtypes, numbers and NumPy's dtypes.

    >>> import rushlight
    >>> rushlight.zeros(2, dtype=bool)
    tensor([False, False])
    """
    if type(given) is dtype:
        return given
    if isinstance(given, _NO_DTYPES) or type(given) is type and given not in PYTHON_TYPES:
        raise TypeError(
            f"argument 'dtype' must be a dtype such as rushlight.float32, not {given!r} "
            f"({type_name(given)})"
        )
    return PYTHON_TYPES.get(given, given)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds both, by PyTorch's table.

    >>> import rushlight
    >>> rushlight.promote_types(rushlight.int32, rushlight.float32)
    rushlight.float32
    """
    type1, type2 = as_dtype(type1), as_dtype(type2)
    return PROMOTION[type1.code][type2.code] or refuse_promotion(type1, type2)


def refuse_promotion(type1: dtype, type2: dtype):
    """The error for a pair that no dtype holds."""
    if type1 in EIGHT_BITS or type2 in EIGHT_BITS:
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {type1.name} and "
            f"{type2.name}: convert the first to the other dtype"
        )
    raise RuntimeError(
        f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
        f"{type1.name} and {type2.name}: convert one of them first, for example to int64"
    )


def refuse_limited(name: str, dtype: dtype) -> None:
    """Raise NotImplementedError for the dtypes that few ops compute in."""
    if dtype.code >= FIRST_LIMITED:
        wide = {COMPLEX: complex64, FLOAT: float32}.get(dtype.category, int64)
        raise NotImplementedError(
            f'"{name}" not implemented for dtype {dtype}: compute in {wide.name} and convert the '
            "result"
        )


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether PyTorch's casting rules let results of dtype `from_` be stored as `to`."""
    from_, to = as_dtype(from_), as_dtype(to)
    if from_.category > to.category:
        return False
    return not (to is bool_ and from_ is not bool_)


class _Default:
    """The default dtype, and functions to call after it changes."""

    __slots__ = ("float", "watchers")


default = _Default()
default.float, default.watchers = float32, []


def get_default_dtype() -> dtype:
    """The dtype given to floating-point data without an explicit one (initially float32)."""
    return default.float


def set_default_dtype(d: dtype) -> None:
    """Set the default floating-point dtype (float16, bfloat16, float32 or float64)."""
    if not isinstance(d, dtype):
        raise TypeError(f"set_default_dtype(): invalid dtype object, got {type_name(d)}")
    if d.category != FLOAT:
        raise TypeError(f"set_default_dtype(): only floating-point types are supported, got {d}")
    default.float = d
    for forget in default.watchers:
        forget()


class finfo:  # noqa: N801 - PyTorch's public name
    """Limits of a float dtype: ``bits, eps, max, min, tiny, smallest_normal, resolution``."""

    _LIMITS = {
        "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 1e-3),
        "bfloat16": (16, 2.0**-7, 3.3895313892515355e38, 2.0**-126, 1e-2),
        "float32": (32, 2.0**-23, 3.4028234663852886e38, 2.0**-126, 1e-6),
        "float64": (64, 2.0**-52, 1.7976931348623157e308, 2.0**-1022, 1e-15),
        "float8_e4m3fn": (8, 0.125, 448.0, 2.0**-6, 1.0),
        "float8_e5m2": (8, 0.25, 57344.0, 2.0**-14, 1.0),
        "float8_e4m3fnuz": (8, 0.125, 240.0, 2.0**-7, 1.0),
        "float8_e5m2fnuz": (8, 0.125, 57344.0, 2.0**-15, 1.0),
        "float8_e8m0fnu": (8, 1.0, 2.0**127, 2.0**-127, 1.0),
    }

    def __init__(self, type: dtype | None = None):
        type = as_dtype(type or default.float).to_real()
        if type.category != FLOAT:
            raise TypeError(f"finfo() requires a floating-point dtype, got {type}; use iinfo")
        self.dtype = type.name
        self.bits, self.eps, self.max, self.tiny, self.resolution = self._LIMITS[type.name]
        self.min, self.smallest_normal = -self.max, self.tiny
        if type is float8_e8m0fnu:  # which has no sign
            self.min = self.tiny

    def __repr__(self):
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        body = ", ".join(f"{name}={getattr(self, name):g}" for name in fields)
        return f"finfo({body}, dtype={self.dtype})"


def held(value, dtype: dtype):
    """A number as an element of a dtype, the one rule for all that write numbers into tensors.

    Infinities and nan fit every floating dtype, finite numbers beyond its largest do not. Integer
    dtypes cut floats to whole numbers, and negative whole ones wrap where the dtype is unsigned.
    RuntimeError for numbers beyond the dtype, OverflowError for those beyond 64 bits.
    """
    kind = type(value)
    if kind is int and 0 <= value < 128:
        return value
    if kind is float and dtype.category >= FLOAT and -_ANY_FLOAT <= value <= _ANY_FLOAT:
        return value
    whole = hasattr(value, "__index__")
    if whole:
        word_dtype(int(value))
    if dtype.category == BOOL:
        return bool(value)
    if dtype.category != INTEGER:
        return _held_by_floats(value, dtype)
    limits = iinfo(dtype)
    least = limits.min if dtype.is_signed or not whole else -limits.max
    if isinstance(value, complex) or not least <= value <= limits.max:
        raise _beyond(dtype)
    return int(value) if dtype.is_signed else int(value) % (limits.max + 1)


_ANY_FLOAT = 65504.0  # the largest of float16, the narrowest whose limits are looked at


def _held_by_floats(value, dtype):
    if isinstance(value, complex):
        if dtype.category != COMPLEX and value.imag:
            raise _beyond(dtype)
        parts = value.real, value.imag
    else:
        parts = (value,)
    asked = dtype is not complex32 and dtype not in EIGHT_BITS  # of these PyTorch asks nothing
    largest = finfo(dtype).max if asked else math.inf
    for part in parts:
        if abs(part) > largest and not math.isinf(part):
            raise _beyond(dtype)
    wide = isinstance(value, int) and word_dtype(value) is uint64  # more than NumPy's int64
    return float(value) if wide else value


def _beyond(dtype):
    return RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")


LARGE = 9e18  # numbers below it fit any float of 32 bits and any word of 64
SURE = 127  # numbers up to it fit every dtype
_HALF, _WORD = 1 << 63, 1 << 64


def word_dtype(value: int) -> dtype:
    """The dtype that a whole number stands for: int64, or uint64 for those of 64 bits.

    OverflowError for numbers of more bits.
    """
    if -_HALF <= value < _HALF:
        return int64
    if 0 < value < _WORD:
        return uint64
    raise OverflowError(f"int too big to convert to a word of 64 bits: {value}")


class iinfo:  # noqa: N801 - PyTorch's public name
    """Limits of an integer dtype: ``bits, min, max``."""

    def __init__(self, type: dtype):
        type = as_dtype(type)
        if type.category != INTEGER:
            raise TypeError(f"iinfo() requires an integer dtype, got {type}; use finfo")
        self.dtype, self.bits = type.name, 8 * type.itemsize
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
