"""Operations on lists of tensors, ``_foreach_mul_(tensors, 2.0)``: one call for all of them.

Names are ``_foreach_`` and the name of an op, with a dash at the end for the in-place form. The
further arguments are numbers or tensors for all, or lists with one for each.
"""

from __future__ import annotations

_OPS = frozenset(
    "abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min copy cos cosh div erf erfc "
    "exp expm1 floor frac lerp lgamma log log10 log1p log2 maximum minimum mul neg norm pow "
    "reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc zero".split()
)
_IN_PLACE_ONLY = frozenset(("copy", "zero"))


def find(name: str):
    """The function of a name such as ``_foreach_add_``; None if there is none."""
    op = name.removeprefix("_foreach_")
    base = op.removesuffix("_")
    if base not in _OPS or base in _IN_PLACE_ONLY and not op.endswith("_") or op == "norm_":
        return None
    return _in_place(name, op) if op.endswith("_") else _fresh(name, op)


def _rows(name, tensors, args):
    """The arguments of every single call."""
    tensors = list(tensors)
    columns = []
    for value in args:
        if isinstance(value, list | tuple):
            if len(value) != len(tensors):
                raise RuntimeError(
                    f"{name}: Tensor lists must have the same number of tensors, got "
                    f"{len(tensors)} and {len(value)}"
                )
            columns.append(value)
        else:
            columns.append([value] * len(tensors))
    return zip(tensors, *columns, strict=True)


def _fresh(name, op):
    def call(self, *args, **kwargs):
        return tuple(getattr(x, op)(*rest, **kwargs) for x, *rest in _rows(name, self, args))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``x.{op}(...)`` for every tensor of a list, as a tuple."
    return call


def _in_place(name, op):
    def call(self, *args, **kwargs):
        for x, *rest in _rows(name, self, args):
            getattr(x, op)(*rest, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``x.{op}(...)`` for every tensor of a list."
    return call
