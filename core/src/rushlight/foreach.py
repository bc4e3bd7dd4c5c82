"""Operations on lists of tensors, ``_foreach_mul_(tensors, 2.0)``: one call for all of them.

Names are ``_foreach_`` and the name of an op, with a dash at the end for the in-place form. Which
further arguments an op takes, by position and by name, its forms in :data:`_FORMS` say: numbers or
tensors for all, or lists with one for each.
"""

from __future__ import annotations

import functools
import math
import numbers

import rushlight

_EXTREME = "scalar: number | scalars: numbers | other: tensors"
_FACTOR = "scalars: numbers | other: tensor | other: tensors | scalar: number"
_ADDED = (
    "tensor1: tensors, tensor2: tensors, scalars: numbers"
    " | tensor1: tensors, tensor2: tensors, scalars: packed"
    " | tensor1: tensors, tensor2: tensors, value: number = 1"
)
_SIZE = "ord: number = 2, dtype: any = None"
# Forms are tried in this order. What stands after ``*`` is given by name only.
_FORMS = {
    **dict.fromkeys(
        "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p "
        "log2 max neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc "
        "zero".split(),
        "",
    ),
    **dict.fromkeys("clamp_max clamp_min maximum minimum".split(), _EXTREME),
    "add": "scalar: number | scalars: numbers | other: tensor, *, alpha: number = 1"
    " | other: tensors, *, alpha: number = 1",
    "sub": "scalar: number | scalars: numbers | other: tensors, *, alpha: number = 1",
    "mul": _FACTOR,
    "div": _FACTOR,
    "addcmul": _ADDED,
    "addcdiv": _ADDED,
    "lerp": "tensors1: tensors, weight: number | tensors1: tensors, weight: numbers"
    " | tensors1: tensors, weights: tensors",
    "pow": "exponent: number | exponent: numbers | exponent: tensors",
    "norm": _SIZE,
    "powsum": _SIZE,
    "mm": "mat2: tensors",
    "clone": "*, memory_format: any = None",
    "copy": "src: tensors, non_blocking: any = False",
}
_IN_PLACE_ONLY = frozenset(("copy", "zero"))
_FRESH_ONLY = frozenset(("clone", "max", "mm", "norm", "powsum"))


def find(name: str):
    """The function of a name such as ``_foreach_add_``; None if there is none."""
    op = name.removeprefix("_foreach_")
    base = op.removesuffix("_")
    if base not in _FORMS or base in (_FRESH_ONLY if op.endswith("_") else _IN_PLACE_ONLY):
        return None
    return _in_place(name, op) if op.endswith("_") else _fresh(name, op)


def _fresh(name, op):
    single, forms = _single(op), _parsed(_FORMS[op])

    def call(*args, **kwargs):
        if op == "pow" and args and _is_number(args[0]):
            return tuple([rushlight.pow(args[0], x) for x in _exponents(name, *args[1:], **kwargs)])
        tensors, rows, options = _bound(name, forms, args, kwargs)
        return tuple([single(x, *row, **options) for x, row in zip(tensors, rows, strict=True)])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``x.{op}(...)`` for every tensor of a list, as a tuple."
    return call


def _in_place(name, op):
    single, forms = _single(op), _parsed(_FORMS[op.removesuffix("_")])

    def call(*args, **kwargs):
        tensors, rows, options = _bound(name, forms, args, kwargs)
        for x, row in zip(tensors, rows, strict=True):
            single(x, *row, **options)
        return tensors

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``x.{op}(...)`` for every tensor of a list, which is returned."
    return call


def _single(op):
    """What is done with one tensor and its row of arguments."""
    base = op.removesuffix("_")
    if base in ("addcmul", "addcdiv"):
        return lambda x, first, second, value: getattr(x, op)(first, second, value=value)
    if base in ("maximum", "minimum"):
        return functools.partial(_extreme_written if op.endswith("_") else _extreme, base)
    if op in _SINGLE:
        return _SINGLE[op]
    return lambda x, *row, **options: getattr(x, op)(*row, **options)


def _extreme(op, x, other):
    """``x.maximum(other)``, which takes tensors alone, with a number too."""
    if not isinstance(other, rushlight.Tensor):
        if isinstance(other, complex):
            raise NotImplementedError(f"_foreach_{op}: not there for complex numbers, got {other}")
        other = rushlight.tensor(other, dtype=rushlight.result_type(x, other), device=x.device)
    return getattr(x, op)(other)


def _extreme_written(op, x, other):
    found = _extreme(op, x.clone() if x.requires_grad else x, other)  # its gradient reads x
    if not rushlight.can_cast(found.dtype, x.dtype):
        raise RuntimeError(
            f"_foreach_{op}_: result type {found.dtype} can't be cast to the desired output type "
            f"{x.dtype}"
        )
    x.copy_(found)


def _largest(x):
    if not x.numel():
        raise RuntimeError("_foreach_max: an empty tensor has no maximum")
    return x.max()


def _power_sum(x, order, dtype=None):
    """The sum of the powers of the absolute values."""
    x = x if dtype is None else x.to(dtype)
    if not (x.is_floating_point() or x.is_complex()):
        raise NotImplementedError(
            f"_foreach_powsum: tensors must be floating point or complex, got {x.dtype}"
        )
    return x.abs().pow(order).sum()


_SINGLE = {
    "max": _largest,
    "norm": lambda x, order, dtype: rushlight.linalg.vector_norm(x, order, dtype=dtype),
    "powsum": _power_sum,
}


def _parsed(forms):
    """``(name, kind, default)`` of every argument by position, and by name alone, of every form.

    A default of None is one that is not there; ``any`` arguments have None or False for theirs.
    """
    found = []
    for form in forms.split("|"):
        by_position, by_name = [], []
        into = by_position
        for part in filter(None, (p.strip() for p in form.split(","))):
            if part == "*":
                into = by_name
                continue
            name, rest = part.split(": ")
            kind, _, default = rest.partition(" = ")
            into.append((name, kind, _DEFAULTS[default]))
        found.append((by_position, by_name))
    return found


_ABSENT = object()
_DEFAULTS = {"": _ABSENT, "1": 1, "2": 2, "None": None, "False": False}


def _bound(name, forms, args, kwargs):
    """The tensors, the further arguments of each of them, and what is given by name for all."""
    tensors, args, given = args[0] if args else kwargs.get("self"), args[1:], dict(kwargs)
    if not args:
        given.pop("self", None)
    matched = None
    if _is_kind("tensors", tensors):
        found = (_match(form, args, given) for form in forms)
        matched = next((x for x in found if x is not None), None)
    if matched is None:
        _refuse(name, forms, (tensors, *args), given)
    if not tensors:
        raise RuntimeError(f"{name}: Tensor list must have at least one tensor.")
    values, options = matched
    rows = [_column(name, kind, value, len(tensors)) for kind, value in values]
    return tensors, list(zip(*rows, strict=True)) or [()] * len(tensors), options


def _match(form, args, given):
    """``(kind, value)`` by position and the options; None where the arguments have another form."""
    by_position, by_name = form
    if len(args) > len(by_position):
        return None
    given, values, options = dict(given), [], {}
    for at, (name, kind, default) in enumerate(by_position):
        value = args[at] if at < len(args) else given.pop(name, default)
        if not _is_kind(kind, value):
            return None
        values.append((kind, value))
    for name, kind, default in by_name:
        value = given.pop(name, default)
        if not _is_kind(kind, value):
            return None
        options[name] = value
    return None if given else (values, {k: v for k, v in options.items() if v is not None})


def _is_number(value):
    if isinstance(value, rushlight.Tensor):
        return not value.ndim and not value.requires_grad
    return isinstance(value, numbers.Number)


def _is_kind(kind, value):
    if value is _ABSENT:
        return False
    if kind == "any":
        return True
    if kind == "number":
        return _is_number(value)
    if kind in ("tensor", "packed"):
        return isinstance(value, rushlight.Tensor)
    if not isinstance(value, list | tuple):
        return False
    if kind == "tensors":
        return all(isinstance(x, rushlight.Tensor) for x in value)
    return all(_is_number(x) and not isinstance(x, rushlight.Tensor) for x in value)


def _column(name, kind, value, count):
    """One value for each tensor."""
    if kind == "number" and isinstance(value, rushlight.Tensor):
        value = value.item()
    if kind == "tensor" and value.ndim:
        raise RuntimeError(
            f"{name}: scalar tensor expected to be 0 dim but it has {value.ndim} dimensions and "
            f"{math.prod(value.shape)} elements"
        )
    if kind == "packed":
        value = _unpacked(name, value, count)
    elif kind not in ("tensors", "numbers"):
        return [value] * count
    if len(value) != count:
        what = "Tensor lists must have the same number of tensors"
        if kind == "numbers":
            what = "Tensor list must have same number of elements as scalar list"
        raise RuntimeError(f"{name}: {what}, got {count} and {len(value)}")
    return value


def _unpacked(name, value, count):
    """The numbers that a tensor holds for the tensors of a list."""
    if value.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected packed scalar Tensor to be of dimension 1. Got {value.ndim} instead."
        )
    if value.numel() != count:
        raise RuntimeError(
            f"{name}: Expected length of scalars to match input of length {count} but got "
            f"{value.numel()} instead."
        )
    if not value.is_contiguous():
        raise RuntimeError(f"{name}: Expected scalars to be contiguous.")
    return value.tolist()


def _exponents(name, exponent):
    """The tensors of ``_foreach_pow(number, tensors)``."""
    if not _is_kind("tensors", exponent):
        raise TypeError(
            f"{name}(): argument 'exponent' (position 2) must be tuple of Tensors for a number as "
            f"base, not {type(exponent).__name__}"
        )
    if not exponent:
        raise RuntimeError(f"{name}: Tensor list must have at least one tensor.")
    return exponent


def _refuse(name, forms, args, given):
    kinds = [_described(x) for x in args if x is not None]
    kinds += [f"{key}={_described(value)}" for key, value in given.items()]
    shown = []
    for by_position, by_name in forms:
        parts = [f"{kind} {key}" for key, kind, _ in [("self", "tensors", None), *by_position]]
        parts += ["*"] * bool(by_name) + [f"{kind} {key}" for key, kind, _ in by_name]
        shown.append("(" + ", ".join(parts) + ")")
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(kinds)}), "
        f"expected {' or '.join(shown)}"
    )


def _described(value):
    if isinstance(value, list | tuple) and value:
        inner = " and ".join(sorted({type(x).__name__ for x in value}))
        return f"{type(value).__name__} of {inner}"
    return type(value).__name__
