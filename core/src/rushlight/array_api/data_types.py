"""Dtypes as the array API standard sees them: kinds, limits, casts and promotion."""

from __future__ import annotations

from dataclasses import dataclass

from rushlight import dtypes
from rushlight.dtypes import BOOL, COMPLEX, FLOAT, INTEGER, promote_types
from rushlight.errors import type_name
from rushlight.tensor.tensor import Tensor

STANDARD = {
    "bool": dtypes.bool_,
    "int8": dtypes.int8,
    "int16": dtypes.int16,
    "int32": dtypes.int32,
    "int64": dtypes.int64,
    "uint8": dtypes.uint8,
    "uint16": dtypes.uint16,
    "uint32": dtypes.uint32,
    "uint64": dtypes.uint64,
    "float32": dtypes.float32,
    "float64": dtypes.float64,
    "complex64": dtypes.complex64,
    "complex128": dtypes.complex128,
}
_KINDS = {
    "bool": lambda d: d.category == BOOL,
    "signed integer": lambda d: d.category == INTEGER and d.is_signed,
    "unsigned integer": lambda d: d.category == INTEGER and not d.is_signed,
    "integral": lambda d: d.category == INTEGER,
    "real floating": lambda d: d.category == FLOAT,
    "complex floating": lambda d: d.category == COMPLEX,
    "numeric": lambda d: d.category != BOOL,
}


def isdtype(dtype, kind) -> bool:
    """Whether `dtype` is of a kind: ``"bool"``, ``"signed integer"``, ``"unsigned integer"``,
    ``"integral"``, ``"real floating"``, ``"complex floating"``, ``"numeric"``, a dtype, or one of
    a tuple of these."""
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"isdtype: dtype must be a dtype, got {type_name(dtype)}")
    if isinstance(kind, tuple):
        if any(isinstance(k, tuple) for k in kind):
            raise TypeError("isdtype: kind must be a dtype, a str, or a flat tuple of these")
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: unknown kind {kind!r}; expected one of {sorted(_KINDS)}")
        return _KINDS[kind](dtype)
    if not isinstance(kind, dtypes.dtype):
        raise TypeError(f"isdtype: kind must be a dtype, str or tuple, got {type_name(kind)}")
    return dtype is kind


def _promote(first, second):
    """The standard's table: PyTorch's, and whole numbers of both kinds that it leaves out."""
    high, low = sorted((first, second), key=lambda d: (d.category, d.itemsize), reverse=True)
    if high.category == COMPLEX and low.category == INTEGER:
        return high
    if high.category != INTEGER or low.category != INTEGER:
        return promote_types(first, second)
    if high.is_signed == low.is_signed or high.is_signed and high.itemsize > low.itemsize:
        return high
    unsigned = low if high.is_signed else high  # the next signed type holds both
    if unsigned is dtypes.uint64:
        raise TypeError(f"result_type: no integer dtype holds both {first} and {second}")
    return {1: dtypes.int16, 2: dtypes.int32, 4: dtypes.int64}[unsigned.itemsize]


def result_type(*arrays_and_dtypes):
    """The dtype in which arrays, dtypes and Python numbers meet; shapes do not count."""
    found, numbers = None, []
    for item in arrays_and_dtypes:
        if isinstance(item, bool | int | float | complex):
            numbers.append(item)
            continue
        dtype = item.dtype if isinstance(item, Tensor) else item
        if not isinstance(dtype, dtypes.dtype):
            raise TypeError(f"result_type: expected arrays, dtypes or numbers, got {item!r}")
        found = dtype if found is None else _promote(found, dtype)
    if found is None:
        raise ValueError("result_type: at least one array or dtype is required")
    for number in numbers:
        found = _with_number(found, number)
    return found


def _with_number(dtype, number):
    """A Python number takes on the array's dtype unless it is of a higher kind."""
    kind = BOOL if isinstance(number, bool) else INTEGER
    kind = FLOAT if isinstance(number, float) else kind
    kind = COMPLEX if isinstance(number, complex) else kind
    if kind <= dtype.category:
        return dtype
    if kind == INTEGER:
        return dtypes.int64
    if kind == COMPLEX and dtype.category == FLOAT:
        return dtype.to_complex()
    return dtypes.default.float if kind == FLOAT else dtypes.default.float.to_complex()


def promoted(*values):
    """The arguments in their common dtype; numbers become arrays of no dimensions."""
    from rushlight.ops.creation.tensors import full

    tensors = [v for v in values if isinstance(v, Tensor)]
    if not tensors:
        raise TypeError("expected at least one array among the arguments")
    if len(tensors) == len(values) and all(t.dtype is tensors[0].dtype for t in tensors):
        return values
    target = result_type(*values)
    device = tensors[0].device
    return tuple(
        (v if v.dtype is target else v.to(target))
        if isinstance(v, Tensor)
        else full((), v, dtype=target, device=device)
        for v in values
    )


def can_cast(from_, to, /) -> bool:
    """Whether an array or dtype can be cast to `to` by promotion."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    if not isinstance(source, dtypes.dtype) or not isinstance(to, dtypes.dtype):
        raise TypeError(f"can_cast: expected an array or dtype and a dtype, got {from_!r}, {to!r}")
    if source.category != to.category and source.category in (BOOL, INTEGER):
        return False  # the standard leaves promotion across these kinds open
    try:
        return _promote(source, to) is to
    except TypeError:
        return False


def astype(x, dtype, /, *, copy: bool = True, device=None):
    """`x` in another dtype; a copy unless ``copy=False`` and nothing has to change."""
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"astype: dtype must be a dtype, got {type_name(dtype)}")
    if x.dtype.category == COMPLEX and dtype.category < COMPLEX and dtype.category != BOOL:
        raise TypeError(
            f"astype: casting {x.dtype} to {dtype} drops the imaginary part; take real(x)"
        )
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


@dataclass(frozen=True, eq=False)
class FloatLimits:
    """What :func:`finfo` returns."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtypes.dtype


@dataclass(frozen=True, eq=False)
class IntegerLimits:
    """What :func:`iinfo` returns."""

    bits: int
    max: int
    min: int
    dtype: dtypes.dtype


def finfo(type, /) -> FloatLimits:
    """Limits of a floating-point dtype (of the parts of a complex one), or of an array's."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"finfo: expected a dtype or an array, got {type_name(dtype)}")
    part = dtype.to_real()
    limits = dtypes.finfo(part)
    return FloatLimits(
        limits.bits, limits.eps, limits.max, limits.min, limits.smallest_normal, part
    )


def iinfo(type, /) -> IntegerLimits:
    """Limits of an integer dtype or of an array's."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"iinfo: expected a dtype or an array, got {type_name(dtype)}")
    limits = dtypes.iinfo(dtype)
    return IntegerLimits(limits.bits, limits.max, limits.min, dtype)
