"""Functions that move elements: the same is done to data and mask."""

from __future__ import annotations

import itertools

from rushlight.dtypes import bool_ as boolean
from rushlight.ops._table.op import TABLE
from rushlight.ops._transforms.wrapped_writes import gives_views
from rushlight.ops.shape.joining import cat, stack
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree
from rushlight.utils.dispatch_steps import _unsafe_view

from .core import MaskedTensor, is_masked_tensor
from .tables import FUNCTIONS, for_family, for_ops, instead_of


def is_view(name) -> bool:
    """Whether the op of ATen's name, which may be a private one here, gives views."""
    op = TABLE.get(name) or TABLE.get(f"_{name}")
    return op is not None and gives_views(op)


@for_ops(
    cat, stack, Tensor.flatten, Tensor.flip, Tensor.gather, Tensor.index_select, Tensor.movedim,
    Tensor.repeat, Tensor.roll, Tensor.unflatten, _unsafe_view,
    "index", "im2col",
)  # fmt: skip
@for_family(is_view)
def _moved(func, args, kwargs):
    data = func(*_inner(args, "_masked_data"), **_inner(kwargs, "_masked_data"))
    mask = func(*_inner(args, "_masked_mask"), **_inner(kwargs, "_masked_mask"))
    return MaskedTensor._holding(data, mask)


@for_ops(Tensor.select_scatter, Tensor.slice_scatter, Tensor.diagonal_scatter)
def _scattered(func, args, kwargs):
    """A part written into a whole; one without mask is what gradients of views begin with, zeros
    of which no element counts."""
    whole, *rest = args
    if not is_masked_tensor(whole):
        whole = MaskedTensor._holding(whole, whole.new_zeros(whole.shape, dtype=boolean))
    return _moved(func, (whole, *rest), kwargs)


def _cut(function):
    """A function that cuts into parts along a dimension, as views of one part each: the gradient of
    such a view has a mask, that of several together is filled with zeros that have none."""

    def cut(input, *args, **options):
        parts = function(input._masked_mask, *args, **options)
        dim = function.op.bind((input, *args), options)[-1]
        begins = itertools.accumulate((part.shape[dim] for part in parts), initial=0)
        return tuple(
            input.narrow(dim, begin, part.shape[dim])
            for begin, part in zip(begins, parts, strict=False)
        )

    return cut


def _register():
    for function in (Tensor.split, Tensor.chunk, Tensor.split_with_sizes, Tensor.tensor_split):
        FUNCTIONS[function] = _cut(function)


_register()


@instead_of(Tensor.unbind)
def _unbound(input, dim=0):
    return tuple(input.select(dim, i) for i in range(input.shape[dim]))


def _inner(values, name):
    """Arguments with the data or the masks of masked tensors instead of these."""
    return pytree.tree_map(lambda v: getattr(v, name) if is_masked_tensor(v) else v, values)
