"""Masked tensors in another layout: dense, sparse COO and sparse CSR."""

from __future__ import annotations

from rushlight.autograd.function import Function
from rushlight.ops.shape.copying import contiguous
from rushlight.tensor.layout import sparse_coo, strided
from rushlight.tensor.memory_format import contiguous_format

from .core import MaskedTensor
from .tables import instead_of


def _dense(tensor):
    return tensor if tensor.layout is strided else tensor.to_dense()


def _converted(input, layout):
    """A masked tensor in a layout; sparse ones hold the elements that count."""
    data, mask = _dense(input._masked_data), _dense(input._masked_mask)
    if layout is not strided:
        mask = mask.to_sparse().coalesce() if layout is sparse_coo else mask.to_sparse_csr()
        data = data.sparse_mask(mask)
    return MaskedTensor._holding(data, mask)


class _ToLayout(Function):
    """The conversion, whose gradient is converted back."""

    @staticmethod
    def forward(ctx, input, layout):
        ctx.layout = input.layout
        return _converted(input, layout)

    @staticmethod
    def backward(ctx, grad):
        return _converted(grad, ctx.layout), None


def to_layout(input, layout):
    """The masked tensor with data and mask in `layout`; itself where they are."""
    return input if input.layout is layout else _ToLayout.apply(input, layout)


@instead_of(contiguous)
def _contiguous(input, memory_format=contiguous_format):
    if input.layout is not strided:
        raise ValueError("MaskedTensors with sparse data do not have contiguous")
    is_laid_out = input.is_contiguous(memory_format)
    return input if is_laid_out else input.clone(memory_format=memory_format)
