"""Functions of one element at a time: computed of the data, the mask stays.

Which they are the table of ops says, by its kind; `COMPOSED` are those that are made of others.
"""

from __future__ import annotations

import operator

from rushlight.ops._table.op import TABLE
from rushlight.tensor.layout import strided
from rushlight.tensor.tensor import Tensor

from .core import MaskedTensor, is_masked_tensor, masks_match
from .layouts import same_pattern, values_of, with_values
from .tables import for_family

# Functions of elements that the table holds as made of others.
COMPOSED = (
    Tensor.conj_physical, Tensor.div, Tensor.masked_fill, Tensor.nan_to_num, Tensor.nextafter,
    Tensor.positive,
)  # fmt: skip
_COMPOSED = frozenset(map(operator.attrgetter("__name__"), COMPOSED))


def is_elementwise(name) -> bool:
    """Whether the op of ATen's name, or the one that it writes in place, is elementwise."""
    name = name.removesuffix("_")
    op = TABLE.get(name)
    return name in _COMPOSED or op is not None and op.kind == "elementwise"


@for_family(is_elementwise)
def _elementwise(func, args, kwargs):
    operands = [v for v in (*args, *kwargs.values()) if isinstance(v, Tensor)]
    model = next(v for v in operands if is_masked_tensor(v))
    _check_masks(model, operands)
    _check_layouts(model, operands)
    values = func(*map(_values, args), **{k: _values(v) for k, v in kwargs.items()})
    if func.__name__.endswith("_"):
        return args[0]
    data, mask = with_values(model._masked_data, values), model._masked_mask
    if mask.layout is strided and mask.shape != data.shape:
        mask = mask.expand_as(data)
    return MaskedTensor._holding(data, mask)


def _values(value):
    if not isinstance(value, Tensor):
        return value
    return values_of(value._masked_data if is_masked_tensor(value) else value)


def _check_masks(model, operands):
    if not all(masks_match(model, other) for other in operands):
        raise ValueError(
            "Input masks must match. Give tensors with the same mask, or compute with get_data() "
            "and a mask of your own."
        )


def _check_layouts(model, operands):
    """Of sparse operands, only the values are computed with: they must hold the same indices."""
    for other in operands:
        inner = other._masked_data if is_masked_tensor(other) else other
        if inner.layout is strided and (model.layout is strided or not inner.dim()):
            continue
        if not same_pattern(model._masked_data, inner):
            raise ValueError(
                f"{model.layout!r} and {inner.layout!r}: the indices of both operands must match; "
                "use to_dense()"
            )
