"""What nested tensors do beside elementwise ops: products, reductions, shapes, attention."""

from __future__ import annotations

from rushlight.dtypes import FLOAT
from rushlight.machine import np
from rushlight.ops.creation.tensors import (
    empty_like,
    from_numpy,
    full_like,
    ones_like,
    zeros,
    zeros_like,
)
from rushlight.ops.indexing import slicing
from rushlight.ops.linalg import products as matrix
from rushlight.ops.linalg.products import linear as _linear
from rushlight.ops.nested.tensors import (
    NestedTensor,
    RaggedExtent,
    _to_front,
    as_nested_tensor,
    make_nested,
    missing,
    rule,
    same_sequences,
    sequences_between,
    unbind,
    without_gaps,
)
from rushlight.ops.neural import normalization, softmax
from rushlight.ops.neural.attention import scaled_dot_product_attention
from rushlight.ops.neural.normalization import _layer_norm
from rushlight.ops.reduction import sums_and_extremes as reduction
from rushlight.ops.shape import joining
from rushlight.ops.shape import views as shapes
from rushlight.ops.shape.joining import cat as cat_dense
from rushlight.ops.shape.joining import stack
from rushlight.tensor.layout import jagged


def _inner(input, dim, name):
    """A dimension of the elements for one of the nested tensor, behind or before the ragged one."""
    count = input.dim()
    if not -count <= dim < count:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got "
            f"{dim})"
        )
    dim %= count
    if dim == 0:
        raise missing(f"{name} along the batch dimension")
    return dim - 1


def _like(make):
    def call(input, *args, **options):
        return input.with_elements(make(input._elements, *args, **options))

    rule(make.__name__)(call)


_like(empty_like)
_like(zeros_like)
_like(ones_like)
_like(full_like)


# ---------------------------------------------------------------------------------------- products
@rule(matrix.linear)
def linear(input, weight, bias=None):
    """``input @ weight.T + bias`` along the last dimension."""
    if input._ragged == input.dim() - 1:
        raise missing("linear along the ragged dimension")
    return input.with_elements(_linear(input._elements, weight, bias))


@rule(matrix.matmul, "__matmul__")
def matmul(input, other):
    """A product with a dense matrix, or of each sequence with its partner."""
    if not isinstance(input, NestedTensor):
        raise missing("matmul of a dense and a nested tensor")
    if not isinstance(other, NestedTensor) and other.dim() == input.dim() == 3:
        if len(other) != len(input):
            raise RuntimeError(
                f"matmul: expected {len(input)} matrices, got other of shape {list(other.shape)}"
            )
        without_gaps(input, "a product with a matrix for each sequence")
        products = [a @ b for a, b in zip(unbind(input), other.unbind(0), strict=True)]
        if input._ragged == 2:
            return _dense_or_nested(products, input._layout)
        return input.with_elements(cat_dense(products), 1)
    if not isinstance(other, NestedTensor):
        if other.dim() > 2 or input._ragged == input.dim() - 1:
            raise missing("matmul other than with a dense matrix along the last dimension")
        return input.with_elements(input._elements @ other)
    products = [a @ b for a, b in zip(unbind(input), unbind(other), strict=True)]
    if input._ragged == input.dim() - 1 and other._ragged == other.dim() - 2:
        return _dense_or_nested(products, input._layout)
    return as_nested_tensor(products, layout=input._layout)


def _dense_or_nested(products, layout):
    """Products in which no dimension is ragged: in jagged layout an ordinary tensor."""
    return stack(products) if layout is jagged else as_nested_tensor(products, layout=layout)


@rule(matrix.bmm)
def bmm(input, mat2):
    """The product of each matrix with its partner, of a nested or a dense tensor (B, N, K)."""
    if input.dim() != 3 or mat2.dim() != 3:
        raise RuntimeError(f"bmm: expected 3D tensors, got {input.dim()}D and {mat2.dim()}D ones")
    return matmul(input, mat2)


@rule(normalization._layer_norm)
def layer_norm(input, size, weight, bias, eps):
    """Normalised over the last dimensions, behind the ragged one; also means and deviations."""
    out, mean, deviation = _layer_norm(input._elements, size, weight, bias, eps)
    return input.with_elements(out), mean, deviation


@rule(scaled_dot_product_attention)
def attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """Attention within each sequence: (B, H, j, E), as ``x.transpose(1, 2)`` of (B, j, H, E)."""
    if attn_mask is not None:
        raise missing("attn_mask in scaled_dot_product_attention")
    tensors = (query, key, value)
    if not all(isinstance(t, NestedTensor) for t in tensors):
        raise missing("attention between nested and dense tensors")
    if any(t._ragged != 2 or t.dim() != 4 for t in tensors):
        raise missing("attention of shapes other than (B, heads, j, E)")
    for t in tensors:
        without_gaps(t, scaled_dot_product_attention.op.name)
    parts = [
        scaled_dot_product_attention(
            q, k, v, None, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
        for q, k, v in zip(*map(unbind, tensors), strict=True)
    ]
    return make_nested(cat_dense(parts, 1), query._offsets, 2, query._layout)


# --------------------------------------------------------------------------------------- reductions
def _segments(input):
    lengths = input.sequence_lengths()
    return from_numpy(np.repeat(np.arange(len(lengths)), lengths))


def _over_sequences(input, op, keepdim, dtype=None):
    """Reduced over the ragged dimension: (B, *)."""
    front = _to_front(without_gaps(input, f"{op.name} over the ragged dimension"))
    elements, count = front._elements, len(front)
    if op in _ADDING and elements.dtype.category >= FLOAT:
        shape, device = (count, *elements.shape[1:]), elements.device
        out = zeros(shape, dtype=dtype or elements.dtype, device=device)
        out = out.index_add(0, _segments(front), elements.to(out.dtype))
        if op is reduction.mean.op:
            lengths = from_numpy(front.sequence_lengths()).to(out.dtype)
            out = out / lengths.reshape(-1, *[1] * (out.dim() - 1))
    else:
        options = {"dtype": dtype} if dtype is not None else {}
        out = stack([op.function(part, 0, **options) for part in unbind(front)])
    out = out.movedim(0, 0) if input._ragged == 1 else out
    return out.unsqueeze(input._ragged) if keepdim else out


_ADDING = (reduction.sum.op, reduction.mean.op)


def _over_each(input, function):
    """A function of each sequence, with the ragged dimension in front."""
    front = _to_front(without_gaps(input, "a reduction over the ragged dimension"))
    return [function(part) for part in unbind(front)]


def _reduction(function):
    name = function.op.name

    def reduce(input, dim=None, keepdim=False, **options):
        if dim is None or (isinstance(dim, tuple | list) and not dim):
            return function(input._elements, **options)
        dims = [dim] if isinstance(dim, int) else list(dim)
        if {d % input.dim() for d in dims} >= {0, input._ragged}:  # of all sequences at once
            inner = [d % input.dim() - 1 for d in dims if d % input.dim()]
            out = function(without_gaps(input, name)._elements, inner, keepdim, **options)
            return out.unsqueeze(0) if keepdim else out
        inner = [_inner(input, d, name) for d in dims]
        if input._ragged - 1 in inner:
            if len(inner) > 1:
                raise missing(f"{name} over the ragged dimension and others at once")
            return _over_sequences(input, function.op, keepdim, **options)
        out = input._elements
        for d in sorted(inner, reverse=True):
            out = function(out, d, keepdim, **options)
        before = 0 if keepdim else sum(d < input._ragged - 1 for d in inner)
        return input.with_elements(out, input._ragged - before)

    reduce.__name__ = name
    return rule(function)(reduce)


_reduction(reduction.sum)
_reduction(reduction.mean)
_reduction(reduction.amax)
_reduction(reduction.amin)
_reduction(reduction.prod)
_reduction(reduction.all)
_reduction(reduction.any)


def _normalised(function):
    name = function.op.name

    def call(input, dim, *, dtype=None):
        inner = _inner(input, dim, name)
        if inner != input._ragged - 1:
            return input.with_elements(function(input._elements, inner, dtype=dtype))
        without_gaps(input, f"{name} over the ragged dimension")
        parts = [function(part, inner, dtype=dtype) for part in unbind(input)]
        return input.with_elements(cat_dense(parts, inner))

    return rule(function)(call)


_normalised(softmax.softmax)
_normalised(softmax.log_softmax)


# ------------------------------------------------------------------------------------------- shapes
@rule(shapes.transpose)
def transpose(input, dim0, dim1):
    """Two dimensions exchanged, neither of them the batch."""
    a, b = _inner(input, dim0, transpose.__name__), _inner(input, dim1, transpose.__name__)
    ragged = input._ragged - 1
    ragged = b if ragged == a else a if ragged == b else ragged
    out = input._elements.transpose(a, b)
    return input.with_elements(out, ragged + 1)


@rule(shapes.unsqueeze)
def unsqueeze(input, dim):
    """A new dimension of one element, anywhere behind the batch."""
    dim = dim % (input.dim() + 1)
    if dim == 0:
        raise missing("unsqueeze before the batch")
    ragged = input._ragged + (dim <= input._ragged)
    return input.with_elements(input._elements.unsqueeze(dim - 1), ragged)


@rule(shapes.squeeze)
def squeeze(input, dim):
    """Without a dimension of one element."""
    inner = _inner(input, dim, squeeze.__name__)
    if inner == input._ragged - 1 or input._elements.shape[inner] != 1:
        return input
    ragged = input._ragged - (inner < input._ragged - 1)
    return input.with_elements(input._elements.squeeze(inner), ragged)


@rule(shapes.view, shapes.reshape)
def view(input, *shape):
    """Dimensions behind the ragged one in another shape; give ``x.size(1)`` or -1 for it."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    ragged = [i for i, n in enumerate(shape) if isinstance(n, RaggedExtent)]
    ragged = ragged or [i for i, n in enumerate(shape) if n == -1][:1]
    if input._ragged != 1 or ragged != [1] or shape[0] not in (len(input), -1):
        raise missing("view or reshape across the ragged dimension")
    rest = shape[2:]
    return input.with_elements(input._elements.reshape(input._elements.shape[0], *rest))


@rule(shapes.unflatten)
def unflatten(input, dim, sizes):
    """One dimension behind the ragged one as several."""
    inner = _inner(input, dim, unflatten.__name__)
    if inner < input._ragged:
        raise missing("unflatten before the ragged dimension")
    return input.with_elements(input._elements.unflatten(inner, sizes))


@rule(shapes.flatten)
def flatten(input, start_dim=0, end_dim=-1):
    """Several dimensions behind the ragged one as one."""
    first, last = (_inner(input, dim, flatten.__name__) for dim in (start_dim, end_dim))
    if first < input._ragged:
        raise missing("flatten across the ragged dimension")
    return input.with_elements(input._elements.flatten(first, last))


@rule(slicing.chunk)
def chunk(input, chunks, dim=0):
    """Parts along the batch or a dimension behind the ragged one, as equal as they can be."""
    if dim % input.dim() == 0:
        size = -(-len(input) // chunks)
        return tuple(
            sequences_between(input, start, min(start + size, len(input)))
            for start in range(0, len(input), size)
        )
    inner = _inner(input, dim, chunk.__name__)
    if inner < input._ragged:
        raise missing("chunk before or along the ragged dimension")
    return tuple(map(input.with_elements, input._elements.chunk(chunks, inner)))


@rule(slicing.tensor_split)
def tensor_split(input, indices_or_sections, dim=0):
    """Parts along a dimension behind the ragged one, by their number or where they end."""
    inner = _along(input, dim, tensor_split.__name__)
    parts = input._elements.tensor_split(indices_or_sections, inner)
    return tuple(map(input.with_elements, parts))


def _along(input, dim, name):
    """A dimension of the elements behind the ragged one, for ops that take parts of it."""
    inner = _inner(input, dim, name)
    if inner < input._ragged:
        raise missing(f"{name} before or along the ragged dimension")
    return inner


@rule(slicing.split)
def split(tensor, split_size_or_sections, dim=0):
    """Parts of given sizes along a dimension behind the ragged one."""
    inner = _along(tensor, dim, split.__name__)
    parts = tensor._elements.split(split_size_or_sections, inner)
    return tuple(map(tensor.with_elements, parts))


@rule(slicing.narrow)
def narrow(input, dim, start, length):
    """A part of a dimension behind the ragged one."""
    inner = _along(input, dim, narrow.__name__)
    return input.with_elements(input._elements.narrow(inner, start, length))


@rule(slicing.select)
def select(input, dim, index):
    """A sequence, or all of them at one index of a dimension behind the ragged one."""
    if dim % input.dim() == 0:
        return input[index]
    inner = _along(input, dim, select.__name__)
    return input.with_elements(input._elements.select(inner, index))


@rule(shapes.expand)
def expand(input, *sizes):
    """Dimensions of one element behind the ragged one repeated; -1 leaves one as it is."""
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
    if len(sizes) != input.dim() or sizes[0] not in (-1, len(input)):
        raise missing("expand to more dimensions or along the batch")
    inner = [-1 if isinstance(n, RaggedExtent) else n for n in sizes[1:]]
    if inner[input._ragged - 1] != -1:
        raise missing("expand along the ragged dimension")
    return input.with_elements(input._elements.expand(inner))


@rule("copy_")
def copy_(self, src, non_blocking=False):
    """Write the elements of a nested tensor of the same lengths."""
    if not isinstance(src, NestedTensor) or not isinstance(self, NestedTensor):
        raise missing("copy_ between nested and dense tensors")
    if not same_sequences(self, src):
        raise RuntimeError(
            "copy_ only supports Nested tensors that have same size: got sequences of the lengths "
            f"{src.sequence_lengths().tolist()} for {self.sequence_lengths().tolist()}"
        )
    self._elements.copy_(src._elements)
    return self


NestedTensor.copy_ = copy_


def _index_of(function):
    def call(input, dim=None, keepdim=False):
        if dim is None:
            return function(input._elements)
        if dim % input.dim() == input._ragged:
            out = stack(_over_each(input, lambda part: function(part, 0)))
            return out.unsqueeze(input._ragged) if keepdim else out
        inner = _along(input, dim, function.op.name)
        return input.with_elements(function(input._elements, inner, keepdim))

    return rule(function)(call)


_index_of(reduction.argmax)
_index_of(reduction.argmin)


@rule(joining.cat)
def cat(tensors, dim=0):
    """Nested tensors of the same lengths side by side, or more sequences (dimension 0)."""
    tensors = list(tensors)
    if not all(isinstance(t, NestedTensor) for t in tensors):
        raise missing("cat of nested and dense tensors")
    first = tensors[0]
    if dim % first.dim() == 0:
        return as_nested_tensor([p for t in tensors for p in unbind(t)], layout=first._layout)
    inner = _inner(first, dim, cat.__name__)
    same = all(same_sequences(first, t) for t in tensors)
    if inner == first._ragged - 1 or not same:
        raise missing("cat along the ragged dimension or of different lengths")
    return first.with_elements(cat_dense([t._elements for t in tensors], inner))
