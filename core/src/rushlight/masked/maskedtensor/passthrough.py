"""Functions that move elements: the same is done to data and mask."""

from __future__ import annotations

from rushlight.dtypes import bool_ as boolean
from rushlight.ops._table.op import TABLE
from rushlight.ops._transforms.wrapped_writes import gives_views
from rushlight.ops.shape.joining import cat, stack
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree
from rushlight.utils.dispatch_steps import _unsafe_view

from .core import MaskedTensor, is_masked_tensor
from .tables import for_family, for_ops


def is_view(name) -> bool:
    """Whether the op of ATen's name, which may be a private one here, gives views."""
    op = TABLE.get(name) or TABLE.get(f"_{name}")
    return op is not None and gives_views(op)


@for_ops(
    cat, stack, Tensor.flatten, Tensor.flip, Tensor.gather, Tensor.index_select, Tensor.movedim,
    Tensor.repeat, Tensor.roll, Tensor.split_with_sizes, Tensor.unflatten, _unsafe_view,
    "index", "im2col",
)  # fmt: skip
@for_family(is_view)
def _moved(func, args, kwargs):
    data = func(*_inner(args, "_masked_data"), **_inner(kwargs, "_masked_data"))
    mask = func(*_inner(args, "_masked_mask"), **_inner(kwargs, "_masked_mask"))
    if isinstance(data, tuple | list):
        parts = zip(data, mask, strict=True)
        return type(data)(MaskedTensor._holding(d, m) for d, m in parts)
    return MaskedTensor._holding(data, mask)


@for_ops(Tensor.select_scatter, Tensor.slice_scatter, Tensor.diagonal_scatter)
def _scattered(func, args, kwargs):
    """A part written into a whole; one without mask is what gradients of views begin with, zeros
    of which no element counts."""
    whole, *rest = args
    if not is_masked_tensor(whole):
        whole = MaskedTensor._holding(whole, whole.new_zeros(whole.shape, dtype=boolean))
    return _moved(func, (whole, *rest), kwargs)


def _inner(values, name):
    """Arguments with the data or the masks of masked tensors instead of these."""
    return pytree.tree_map(lambda v: getattr(v, name) if is_masked_tensor(v) else v, values)
