"""Operations on lists of tensors, ``_foreach_mul_(tensors, 2.0)``: one call for all of them.

Names are ``_foreach_`` and the name of an op, with a dash at the end for the in-place form. Which
further arguments an op takes, by position and by name, the forms in its declaration say
(``foreach=``), between bars and in the order in which they are tried: numbers or tensors for all,
or lists with one for each. What stands after ``*`` is given by name only.
"""

from __future__ import annotations

import functools
import math
import numbers

import rushlight
from rushlight.ops._table.op import TABLE
from rushlight.ops.elementwise import arithmetic
from rushlight.ops.reduction import sums_and_extremes as reduction

# Forms that several ops have, by the word that declarations say for them.
_SHARED = {
    "extreme": "scalar: number | scalars: numbers | other: tensors",
    "factor": "scalars: numbers | other: tensor | other: tensors | scalar: number",
    "added": (
        "tensor1: tensors, tensor2: tensors, scalars: numbers"
        " | tensor1: tensors, tensor2: tensors, scalars: packed"
        " | tensor1: tensors, tensor2: tensors, value: number = 1"
    ),
    "size": "ord: number = 2, dtype: any = None",
}
# Forms of what is no op of the table.
_BESIDE_OPS = {
    "copy": "src: tensors, non_blocking: any = False",
    "max": "",
    "powsum": _SHARED["size"],
    "zero": "",
}
_IN_PLACE_ONLY = frozenset(("copy", "zero"))


def _forms(base):
    """The forms of an op in the order in which they are tried; None if it has none."""
    text = _BESIDE_OPS.get(base)
    if text is None:
        op = TABLE.get(base)
        text = None if op is None else op.options.get("foreach")
    return None if text is None else _parsed(_SHARED.get(text, text))


def find(name: str):
    """The function of a name such as ``_foreach_add_``; None if there is none."""
    op = name.removeprefix("_foreach_")
    base = op.removesuffix("_")
    there = hasattr(rushlight.Tensor, op) if op.endswith("_") else base not in _IN_PLACE_ONLY
    if not there or _forms(base) is None:
        return None
    return _in_place(name, op) if op.endswith("_") else _fresh(name, op)


def _fresh(name, op):
    single, forms = _single(op), _forms(op)
    power = TABLE.get(op) is arithmetic.pow.op

    def call(*args, **kwargs):
        if power and args and _is_number(args[0]):
            return tuple([rushlight.pow(args[0], x) for x in _exponents(name, *args[1:], **kwargs)])
        tensors, rows, options = _bound(name, forms, args, kwargs)
        return tuple([single(x, *row, **options) for x, row in zip(tensors, rows, strict=True)])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``x.{op}(...)`` for every tensor of a list, as a tuple."
    return call


def _in_place(name, op):
    single, forms = _single(op), _forms(op.removesuffix("_"))

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
    declared = TABLE.get(base)
    if declared is not None and declared.options["foreach"] == "added":
        return lambda x, first, second, value: getattr(x, op)(first, second, value=value)
    if declared in (arithmetic.maximum.op, arithmetic.minimum.op):
        return functools.partial(_extreme_written if op.endswith("_") else _extreme, base)
    if declared is reduction.norm.op:
        return lambda x, order, dtype: rushlight.linalg.vector_norm(x, order, dtype=dtype)
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
