"""Nested tensors indexed, filled, copied, joined and rearranged."""

from __future__ import annotations

from rushlight.ops.nested.rules import _inner, _like, _over_each
from rushlight.ops.nested.tensors import (
    NestedTensor,
    make_nested,
    missing,
    rule,
    same_sequences,
    unbind,
)
from rushlight.ops.random.random_alike import rand_like, randn_like
from rushlight.ops.reduction import sums_and_extremes as reduction
from rushlight.ops.shape import joining, rearranging, repetition
from rushlight.ops.shape import views as shapes
from rushlight.ops.shape.joining import stack as stack_dense
from rushlight.tensor.layout import jagged, strided
from rushlight.tensor.results import NAMED
from rushlight.tensor.tensor import Tensor


# --------------------------------------------------------------------------------------- indexing
def getitem(input, index):
    """One sequence, or an element of it; ``...`` or ``:`` for all of them, then whole dimensions,
    slices, integers and new dimensions behind the ragged one."""
    items = list(index) if isinstance(index, tuple) else [index]
    if type(items[0]) is int:
        part = _sequence(input, items[0])
        return part[tuple(items[1:])] if len(items) > 1 else part
    items = _without_ellipsis(items, input.dim())
    for item in items[: input._ragged + 1]:
        if not (isinstance(item, slice) and item == slice(None)):
            raise missing("an index of sequences other than the number of a sequence")
    for item in items[input._ragged + 1 :]:
        if item is not None and type(item) is not int and not isinstance(item, slice):
            raise missing(f"an index of type {type(item).__name__}")
    if not items[input._ragged + 1 :]:
        return input.with_elements(input._elements.alias())
    return input.with_elements(input._elements[tuple(items[1:])])


def _sequence(input, number):
    count = len(input)
    if not -count <= number < count:
        raise IndexError(f"index {number} is out of bounds for {count} sequences")
    return unbind(input)[number]


def _without_ellipsis(items, count):
    at = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(at) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    given = sum(item is not None and item is not Ellipsis for item in items)
    if given > count:
        raise IndexError(f"too many indices for tensor of dimension {count}")
    if not at:
        return [*items, *[slice(None)] * (count - given)]
    fill = [slice(None)] * (count - given)
    return [*items[: at[0]], *fill, *items[at[0] + 1 :]]


NestedTensor.__getitem__ = getitem
rule("getitem", "__getitem__")(getitem)


# ------------------------------------------------------------------------------- filling, copying
_like(rand_like)
_like(randn_like)


def _filling(name):
    def call(self, *args, **options):
        getattr(self._elements, name)(*args, **options)
        return self

    call.__name__ = name
    call.__doc__ = f"The elements filled by :meth:`Tensor.{name}`."
    rule(name)(call)
    return call


NestedTensor.fill_, NestedTensor.zero_ = _filling("fill_"), _filling("zero_")
NestedTensor.normal_, NestedTensor.uniform_ = _filling("normal_"), _filling("uniform_")
NestedTensor.bernoulli_ = _filling("bernoulli_")


def _deepcopy(self, memo):
    if id(self) not in memo:
        memo[id(self)] = self.with_elements(self._elements.__deepcopy__(memo))
    return memo[id(self)]


def _rebuild(elements, offsets, ragged, layout, lengths):

    return make_nested(
        elements, offsets, ragged, jagged if layout == "jagged" else strided, lengths
    )


def _reduce(self, protocol):
    parts = self._elements, self._offsets, self._ragged, self._layout.name, self._lengths
    return _rebuild, parts


NestedTensor.__deepcopy__, NestedTensor.__reduce_ex__ = _deepcopy, _reduce
NestedTensor.__copy__ = lambda self: self.with_elements(self._elements)


# ----------------------------------------------------------------------------------------- joining
@rule(joining.stack)
def stack(tensors, dim=0):
    """Nested tensors of the same lengths along a new dimension behind the ragged one."""
    tensors = list(tensors)
    first = tensors[0]
    if not all(isinstance(t, NestedTensor) and same_sequences(first, t) for t in tensors):
        raise missing("stack of dense tensors or of different lengths")
    dim = dim % (first.dim() + 1)
    if dim <= first._ragged:
        raise missing("stack before the ragged dimension")
    return first.with_elements(stack_dense([t._elements for t in tensors], dim - 1))


@rule(repetition.repeat_interleave)
def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """Elements repeated along a dimension behind the ragged one."""
    if dim is None:
        raise missing("repeat_interleave without a dimension")
    inner = _inner(input, dim, repeat_interleave.__name__)
    if inner < input._ragged:
        raise missing("repeat_interleave before or along the ragged dimension")
    return input.with_elements(
        input._elements.repeat_interleave(repeats, inner, output_size=output_size)
    )


# -------------------------------------------------------------------------------------- arrangement
@rule(shapes.permute)
def permute(input, *dims):
    """Dimensions in another order; the batch stays in front."""
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
    if len(dims) != input.dim():
        raise RuntimeError(
            f"permute: expected {input.dim()} dimensions, got {len(dims)}: {list(dims)}"
        )
    wanted = [d % input.dim() for d in dims]
    if sorted(wanted) != list(range(input.dim())):
        raise RuntimeError(f"permute: repeated dimension in {list(dims)}")
    if wanted[0]:
        raise missing("permute of the batch dimension")
    moved = input._elements.permute([d - 1 for d in wanted[1:]])
    return input.with_elements(moved, wanted.index(input._ragged))


@rule(shapes.movedim)
def movedim(input, source, destination):
    """Dimensions behind the batch moved to other positions."""
    sources = [source] if isinstance(source, int) else list(source)
    places = [destination] if isinstance(destination, int) else list(destination)
    count = input.dim()
    sources, places = ([d % count for d in part] for part in (sources, places))
    order = [d for d in range(count) if d not in sources]
    for place, moved in sorted(zip(places, sources, strict=True)):
        order.insert(place, moved)
    return permute(input, *order)


@rule(shapes.broadcast_to, "view_as", "reshape_as", "expand_as")
def of_shape(input, other):
    """The tensor itself where the other shape is its own; there is no other one to go to."""
    shape = other.shape if isinstance(other, Tensor) else other
    if isinstance(input, NestedTensor) and tuple(map(str, shape)) == tuple(map(str, input.shape)):
        if not isinstance(other, NestedTensor) or same_sequences(input, other):
            return input.with_elements(input._elements.alias())
    raise missing("another shape than its own")


@rule(rearranging.is_same_size)
def is_same_size(input, other):
    """Whether two tensors have sequences of the same lengths and shapes."""
    if not isinstance(input, NestedTensor) or not isinstance(other, NestedTensor):
        return False
    return input.dim() == other.dim() and [p.shape for p in unbind(input)] == [
        p.shape for p in unbind(other)
    ]


# --------------------------------------------------------------------------------------- reductions
def _extreme(op):
    name = op.label

    def call(input, dim, keepdim=False):
        inner = _inner(input, dim, name)
        if inner != input._ragged - 1:
            values, indices = getattr(input._elements, name)(inner, keepdim)
            ragged = input._ragged - (not keepdim and inner < input._ragged - 1)
            parts = values, indices
            return NAMED[name](*[input.with_elements(part, ragged) for part in parts])
        parts = _over_each(input, lambda part: getattr(part, name)(0))
        results = [stack_dense([p[i] for p in parts]) for i in (0, 1)]
        if keepdim:
            results = [r.unsqueeze(input._ragged) for r in results]
        return NAMED[name](*results)

    return rule(op.function)(call)


_extreme(reduction._max_dim.op)
_extreme(reduction._min_dim.op)
