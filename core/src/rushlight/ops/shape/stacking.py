"""Splitting and stacking by rows, columns and depth; at least three dimensions."""

from __future__ import annotations

from rushlight.errors import shape_text
from rushlight.ops._table.op import Whole, composite
from rushlight.ops.indexing.slicing import split, tensor_split
from rushlight.ops.shape.joining import cat, check_list, vstack, widened
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor


@composite(
    method=False,
    samples=lambda make: [(make(),), (make(3),), (make(3, 4),), ([make(2), make(1, 2, 3, 4)],)],
    aten="default Sequence",
)
def atleast_3d(tensors):
    """Tensors with at least three dimensions (of a matrix the new one is the last); a tuple unless
    one tensor was given."""
    return widened(tensors, 3)


@overridable
def _atleast_3d(*tensors):
    return _of_tuple(tensors)


_of_tuple, _atleast_3d.__doc__, _atleast_3d.op = atleast_3d, atleast_3d.__doc__, atleast_3d.op
_atleast_3d.__name__ = _atleast_3d.__qualname__ = _atleast_3d.op.name
atleast_3d = atleast_3d.op.function = _atleast_3d
atleast_3d.op.variadic = True


@composite(
    method=False, samples=lambda make: [([make(3), make(3, 2)],), ([make(2, 1, 3), make(2, 2, 3)],)]
)
def column_stack(tensors):
    """Tensors joined along the second dimension, vectors as columns.

    >>> rushlight.column_stack((rushlight.tensor([1, 2]), rushlight.tensor([3, 4])))
    tensor([[1, 3],
            [2, 4]])
    """
    check_list("column_stack", tensors)
    return cat([t if t.dim() > 1 else t.reshape(t.numel(), 1) for t in tensors], 1)


@composite(
    method=False, samples=lambda make: [([make(3), make(2, 3)],), ([make(2, 1, 3), make(1, 1, 3)],)]
)
def row_stack(tensors):
    """Tensors joined along the first dimension, vectors as rows; the same as :func:`vstack`."""
    return vstack(tensors)


def _split_along(name, input, parts, dim, least):
    if input.dim() < least:
        raise RuntimeError(
            f"{name} requires a tensor with at least {least} dimension, but got a tensor with "
            f"{input.dim()} dimensions! Its shape is {shape_text(input.shape)}"
        )
    if isinstance(parts, Tensor) or not isinstance(parts, (int, tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices_or_sections' must be an int or a tuple of ints, not "
            f"{type(parts).__name__}"
        )
    if isinstance(parts, int) and (parts <= 0 or input.shape[dim] % parts):
        raise RuntimeError(
            f"{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{input.shape[dim]} is not divisible by the split_size {parts}!"
        )
    return tensor_split(input, parts, dim)


_PLACES = {"sections": "indices_or_sections", "indices": "indices_or_sections"}


@composite(
    schemas=(
        "hsplit.int(Tensor(a) self, int sections) -> Tensor(a)[]",
        "hsplit.array(Tensor(a) self, int[] indices) -> Tensor(a)[]",
    ),
    spread=True,
    keywords=_PLACES,
    samples=lambda make: [(make(6), 2), (make(3, 4), (1, 3))],
    aten="array",
)
def hsplit(input: Tensor, indices_or_sections: Whole):
    """Pieces along the second dimension (the first of a vector): equal ones, or at indices."""
    return _split_along("hsplit", input, indices_or_sections, 0 if input.dim() == 1 else 1, 1)


@composite(
    schemas=(
        "vsplit.int(Tensor(a) self, int sections) -> Tensor(a)[]",
        "vsplit.array(Tensor(a) self, int[] indices) -> Tensor(a)[]",
    ),
    spread=True,
    keywords=_PLACES,
    samples=lambda make: [(make(4, 3), 2), (make(3, 4), (1, 2))],
    aten="array",
)
def vsplit(input: Tensor, indices_or_sections: Whole):
    """Pieces along the first dimension: equal ones, or at indices."""
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


@composite(
    schemas=(
        "dsplit.int(Tensor(a) self, int sections) -> Tensor(a)[]",
        "dsplit.array(Tensor(a) self, int[] indices) -> Tensor(a)[]",
    ),
    spread=True,
    keywords=_PLACES,
    samples=lambda make: [(make(2, 2, 4), 2), (make(1, 2, 5), (1, 3))],
    aten="array",
)
def dsplit(input: Tensor, indices_or_sections: Whole):
    """Pieces along the third dimension: equal ones, or at indices."""
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


@composite(samples=[([1, 2],), ([3, 1], 1)])
def split_with_sizes(input: Tensor, split_sizes, dim=0):
    """Pieces of given sizes along `dim`, as a tuple of views."""
    return split(input, list(split_sizes), dim)


def _writable(pieces):
    """The pieces with memory of their own, so that a write to one touches nothing else."""
    return tuple(piece.clone() for piece in pieces)


@composite(
    schemas=("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",),
    samples=[(2,), (3, 1)],
    aten="Tensor Tensor_out",
)
def unsafe_split(input: Tensor, split_size, dim=0):
    """:func:`split` whose pieces may be written to in place while gradients are recorded."""
    return _writable(split(input, split_size, dim))


@composite(
    schemas=("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",),
    samples=[([1, 2],), ([3, 1], 1)],
)
def unsafe_split_with_sizes(input: Tensor, split_sizes, dim=0):
    """:func:`split_with_sizes` whose pieces may be written to in place while recording."""
    return unsafe_split(input, list(split_sizes), dim)


@composite(
    schemas=("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",),
    samples=[(2,), (3, -1)],
)
def unsafe_chunk(input: Tensor, chunks, dim=0):
    """:func:`chunk` whose pieces may be written to in place while gradients are recorded."""
    return _writable(input.chunk(chunks, dim))
