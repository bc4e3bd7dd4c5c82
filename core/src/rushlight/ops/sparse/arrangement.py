"""Sparse tensors with other shapes, parts of them, and several joined; other dtypes."""

from __future__ import annotations

from rushlight import devices, dtypes
from rushlight.machine import np
from rushlight.ops.creation.conversion import parse_to
from rushlight.ops.creation.tensors import zeros
from rushlight.ops.elementwise import complex_numbers
from rushlight.ops.indexing import gathering, slicing
from rushlight.ops.shape import copying, joining, view_copies
from rushlight.ops.shape import views as shaping
from rushlight.ops.shape.joining import cat as cat_dense
from rushlight.ops.sparse.history import only_first, whole
from rushlight.ops.sparse.patterns import BLOCKED, BSC, BSR, CSC, CompressedPattern
from rushlight.ops.sparse.tensors import (
    COO,
    CSR,
    Pattern,
    SparseTensor,
    _tensor,
    adopt,
    as_coo,
    as_csr,
    coalesced,
    is_sparse,
    make_sparse,
    missing,
    rule,
    with_elements,
)
from rushlight.tensor.tensor import Tensor


def _dim(tensor, dim, extra=0):
    count = tensor.dim() + extra
    if not -count <= dim < count:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got "
            f"{dim})"
        )
    return dim % count


@only_first
def _pull_of_permutation(grad, input, *dims):
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
    count = input.dim()
    return grad.permute(*np.argsort([d % count for d in dims]).tolist())


@rule(shaping.permute)
@whole(_pull_of_permutation, node="PermuteBackward0")
def permute(input, *dims):
    """Dimensions in another order; sparse and dense ones stay apart."""
    tensor = as_coo(input)
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
    dims = [_dim(tensor, d) for d in dims]
    if sorted(dims) != list(range(tensor.dim())):
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {tensor.dim()} is "
            f"not equal to len(dims) = {len(dims)}"
        )
    count = tensor.sparse_dim()
    if sorted(dims[:count]) != list(range(count)):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
            "allowed."
        )
    size = tuple(tensor.shape[d] for d in dims)
    pattern = tensor._pattern
    moved = Pattern(np.ascontiguousarray(pattern.indices[dims[:count]]), size)
    for new, old in enumerate(dims[:count]):  # what is known of the old order stays known
        if old in pattern._orders:
            moved._orders[new] = pattern._orders[old]
    elements = tensor._elements
    if dims[count:] != list(range(count, len(dims))):
        elements = elements.permute(0, *[d - count + 1 for d in dims[count:]])
    moved.coalesced = dims[:count] == list(range(count)) and pattern.coalesced
    return make_sparse(moved, elements)


@rule(shaping.transpose, every=True)
def transpose(input, dim0, dim1):
    """Two dimensions exchanged."""
    dims = list(range(input.dim()))
    a, b = _dim(input, dim0), _dim(input, dim1)
    dims[a], dims[b] = dims[b], dims[a]
    if input.layout != COO:
        return _other_way(input, dims)
    return input if a == b else _swapped(input, dims)


@rule(complex_numbers.adjoint, every=True)
def adjoint(input):
    """The matrix transposed, and the complex conjugate of its elements."""
    return transpose(input, -2, -1).conj()


@rule(shaping.transpose, inplace=True, every=True)
def transpose_(input, dim0, dim1):
    """Two dimensions of a COO tensor exchanged in place."""
    if input.layout != COO:
        raise RuntimeError(
            f"transpose_: in-place transposition is not supported for layout {input.layout}; use "
            "transpose()"
        )
    return adopt(input, transpose(input, dim0, dim1))


@rule(shaping.t, inplace=True, every=True)
def t_(input):
    """The matrix transposed in place."""
    return transpose_(input, 0, 1) if input.dim() == 2 else adopt(input, t(input))


_OTHER_WAY = {CSR: CSC, CSC: CSR, BSR: BSC, BSC: BSR}


@only_first
def _pull_of_exchange(grad, input, dims):
    a, b = (d for d, place in enumerate(dims) if d != place)
    return grad.transpose(a, b)


@whole(_pull_of_exchange, node="TransposeBackward0")
def _swapped(input, dims):
    """As PyTorch does it: the elements are copied where they share memory."""
    found = permute(input, *dims)
    if not input._pattern.count:
        found._pattern.coalesced = input._pattern.coalesced
        return found
    return with_elements(found, found._elements.contiguous())


def _other_way(input, dims):
    """Rows and columns of compressed matrices exchanged: the same indices, read the other way."""
    return input if dims == sorted(dims) else _exchanged(input, dims)


@whole(_pull_of_exchange, node="TransposeBackward0")
def _exchanged(input, dims):
    pattern = input._pattern
    batch = len(pattern.batch)
    dims = {d for d, place in enumerate(dims) if d != place}
    if dims != {batch, batch + 1}:
        raise RuntimeError(
            f"transpose: of a tensor of layout {input.layout} the dimensions {batch} and "
            f"{batch + 1} can be exchanged, not {sorted(dims)}"
        )
    size = list(pattern.size)
    size[batch : batch + 2] = size[batch + 1], size[batch]
    moved = CompressedPattern(
        pattern.starts, pattern.columns, size, _OTHER_WAY[input.layout], pattern.blocksize[::-1]
    )
    elements = input._elements
    blocked = pattern.layout in BLOCKED
    return make_sparse(moved, elements.transpose(batch + 1, batch + 2) if blocked else elements)


@rule(shaping.t, every=True)
def t(input):
    """The transposed matrix."""
    if input.dim() > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but self is "
            f"{input.dim()}D"
        )
    return transpose(input, 0, 1) if input.dim() == 2 else input


@only_first
def _pull_of_new_dimension(grad, input, dim):
    return grad.select(dim % (input.dim() + 1), 0)


@rule(shaping.unsqueeze)
@whole(_pull_of_new_dimension, node="UnsqueezeBackward0")
def unsqueeze(input, dim):
    """A new dimension of one element."""
    tensor = as_coo(input)
    dim, count = _dim(tensor, dim, 1), tensor.sparse_dim()
    size = (*tensor.shape[:dim], 1, *tensor.shape[dim:])
    if dim > count:
        elements = tensor._elements.unsqueeze(dim - count + 1)
        return make_sparse(tensor._pattern.moved(size=size), elements)
    indices = np.insert(tensor._pattern.indices, dim, 0, axis=0)
    return make_sparse(Pattern(indices, size), tensor._elements)


@rule(slicing.select, every=True)
def select(input, dim, index):
    """The slice at one index, without its dimension; dense where no sparse dimension is left."""
    if input._pattern.special:
        if input.dim() > 2 and input._pattern.batch:
            return _matrix_of_batch(input, _dim(input, dim), index)
        if input.dim() > 2:
            raise missing(select.__name__, input)
    tensor = coalesced(as_coo(input)) if input._pattern.special else as_coo(input)
    dim, count = _dim(tensor, dim), tensor.sparse_dim()
    extent = tensor.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(tensor.shape)} at "
            f"dimension {dim}"
        )
    size = (*tensor.shape[:dim], *tensor.shape[dim + 1 :])
    pattern = tensor._pattern
    if dim >= count:
        elements = tensor._elements.select(dim - count + 1, index)
        return make_sparse(pattern.moved(size=size), elements)
    places = np.nonzero(pattern.indices[dim] == index % extent)[0]
    elements = tensor._elements.index_select(0, _tensor(places))
    if count == 1:
        return elements.sum(0)
    indices = np.delete(pattern.indices[:, places], dim, axis=0)
    sorted_already = None if input.layout == COO else True
    return make_sparse(Pattern(indices, size, sorted_already), elements)


def _matrix_of_batch(input, dim, index):
    """A batch without one of its dimensions, at an index there."""
    pattern = input._pattern
    if dim >= len(pattern.batch):
        raise missing("select of a sparse dimension", input)
    extent = input.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at "
            f"dimension {dim}"
        )
    size = (*pattern.size[:dim], *pattern.size[dim + 1 :])
    starts, columns = (np.take(x, index, axis=dim) for x in (pattern.starts, pattern.columns))
    made = CompressedPattern(starts, columns, size, pattern.layout, pattern.blocksize)
    return make_sparse(made, input._elements.select(dim, index))


@rule(gathering.index_select)
def index_select(input, dim, index):
    """The slices at several indices."""
    csr, tensor = input.layout == CSR, as_coo(input)
    dim, count = _dim(tensor, dim), tensor.sparse_dim()
    size = (*tensor.shape[:dim], index.numel(), *tensor.shape[dim + 1 :])
    pattern, wanted = tensor._pattern, np.atleast_1d(index._array)
    extent = tensor.shape[dim]
    if wanted.size and not -extent <= wanted.min() <= wanted.max() < extent:
        raise IndexError(
            f"index_select(): index out of range for dimension {dim} with size {extent}"
        )
    if dim >= count:
        moved = pattern.moved(size=size)
        return make_sparse(moved, tensor._elements.index_select(dim - count + 1, index))
    starts, order = pattern.by(dim)
    wanted = wanted % extent if extent else wanted
    lengths = np.diff(starts)[wanted]
    ends = np.cumsum(lengths)
    places = np.arange(int(lengths.sum())) + np.repeat(starts[wanted] - (ends - lengths), lengths)
    if order is not None:
        places = order[places]
    indices = pattern.indices[:, places].copy()
    indices[dim] = np.repeat(np.arange(len(wanted)), lengths)
    made = make_sparse(Pattern(indices, size), tensor._elements.index_select(0, _tensor(places)))
    return as_csr(made) if csr else made


@rule(view_copies.narrow_copy, slicing.narrow)
def narrow(input, dim, start, length):
    """The slices from `start` on, their elements in the order that they have in the whole."""
    found = index_select(input, dim, _tensor(np.arange(start, start + length)))
    tensor, dim = as_coo(input), _dim(input, dim)
    if found.layout != COO or dim >= tensor.sparse_dim():
        return found
    row = tensor._pattern.indices[dim]
    places = np.nonzero((row >= start) & (row < start + length))[0]
    indices = tensor._pattern.indices[:, places].copy()
    indices[dim] -= start
    moved = Pattern(indices, found._pattern.size, tensor._pattern.coalesced)
    return make_sparse(moved, tensor._elements.index_select(0, _tensor(places)))


@only_first
def _pull_of_element(grad, input, index):
    out = zeros(input._pattern.size, dtype=grad.dtype, device=grad.device)
    out[index] = grad
    return out


@whole(_pull_of_element, node="SelectBackward0")
def _element(input, index):
    return _selected(input, index)


@rule("getitem", "__getitem__", every=True)
def getitem(input, index):
    """Integers select slices; whole dimensions (``:``) stay."""
    numbers = index if isinstance(index, tuple) else (index,)
    single = len(numbers) == input.sparse_dim() and all(type(n) is int for n in numbers)
    return (_element if single else _selected)(input, index)


def _selected(input, index):
    items = index if isinstance(index, tuple) else (index,)
    if Ellipsis in [i for i in items if not isinstance(i, Tensor)]:
        at = next(k for k, i in enumerate(items) if i is Ellipsis)
        given = sum(i is not None for i in items) - 1
        fill = (slice(None),) * (input.dim() - given)
        items = (*items[:at], *fill, *items[at + 1 :])
    dim = 0
    for item in items:
        if item is None:
            input, dim = input.unsqueeze(dim), dim + 1
        elif isinstance(item, slice):
            start, stop, step = item.indices(input.shape[dim])
            if (start, stop, step) != (0, input.shape[dim], 1):
                raise NotImplementedError(
                    "slices of a part of a sparse tensor are not available; use index_select or "
                    "narrow_copy, or call to_dense() first"
                )
            dim += 1
        elif (
            isinstance(item, Tensor) and item.dim() == 1 and not item.dtype.category == dtypes.BOOL
        ):
            input, dim = index_select(input, dim, item), dim + 1
        elif isinstance(item, int) or (isinstance(item, Tensor) and item.dim() == 0):
            input = select(input, dim, int(item)) if is_sparse(input) else input.select(dim, item)
        else:
            raise missing(f"an index of type {type(item).__name__}")
    return input


@rule(joining.cat)
def cat(tensors, dim=0):
    """Sparse tensors one after the other."""
    tensors = list(tensors)
    for position, tensor in enumerate(tensors):
        if not is_sparse(tensor):
            raise RuntimeError(
                "Concatenating sparse tensors, but a dense tensor was found at position "
                f"{position}."
            )
        if tensor._pattern.special:
            raise missing(cat.__name__, tensor)
    coo = [as_coo(x) for x in tensors]
    first = coo[0]
    dim, count = _dim(first, dim), first.sparse_dim()
    shapes = {(*x.shape[:dim], *x.shape[dim + 1 :]) for x in coo}
    if len(shapes) > 1 or any(x.sparse_dim() != count for x in coo):
        raise RuntimeError(
            f"All tensors must have the same shape: {[tuple(x.shape) for x in coo]} "
            f"(except in the concatenating dimension {dim})"
        )
    total = sum(x.shape[dim] for x in coo)
    size = (*first.shape[:dim], total, *first.shape[dim + 1 :])
    if dim >= count:
        return _side_by_side(coo, dim - count + 1, size)
    offset, indices = 0, []
    for x in coo:
        part = x._pattern.indices.copy()
        part[dim] += offset
        indices.append(part)
        offset += x.shape[dim]
    made = make_sparse(
        Pattern(np.concatenate(indices, 1), size), cat_dense([x._elements for x in coo])
    )
    return as_csr(made) if all(x.layout == CSR for x in tensors) else made


def _side_by_side(tensors, dim, size):
    """Sparse tensors joined along a dimension of their elements: the elements of each one, with
    zeros where the others have theirs."""
    extents = [x._elements.shape[dim] for x in tensors]
    parts, before = [], 0
    for x, extent in zip(tensors, extents, strict=True):
        shape = list(x._elements.shape)
        around = []
        for count in (before, sum(extents) - before - extent):
            shape[dim] = count
            around.append(zeros(shape, dtype=x._elements.dtype, device=x._elements.device))
        parts.append(cat_dense([around[0], x._elements, around[1]], dim))
        before += extent
    indices = np.concatenate([x._pattern.indices for x in tensors], 1)
    return make_sparse(Pattern(indices, size), cat_dense(parts))


@rule(joining.stack)
def stack(tensors, dim=0):
    """Sparse tensors one after the other along a new dimension."""
    return cat([unsqueeze(x, dim) for x in tensors], dim)


@rule(shaping.reshape)
def reshape(input, *shape):
    """The tensor itself where the shape is its own; there is no other reshaping."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    if tuple(shape) != input._pattern.size:
        raise missing(reshape.__name__)
    return input


@rule(slicing.unbind, every=True)
def unbind(input, dim=0):
    """The slices along a dimension."""
    return tuple(select(input, dim, i) for i in range(input.shape[dim]))


# ------------------------------------------------------------------------------- dtypes and devices
def _to(self, *args, **kwargs):
    """Another dtype; the tensor itself where nothing changes."""
    dtype, device, copy, _, _ = parse_to(args, kwargs)
    if device is not None and devices.as_device(device).type != "cpu":
        raise missing(f"to({device!r})")
    if dtype in (None, self.dtype) and not copy:
        return self
    return _converted(self, self.dtype if dtype is None else dtype, copy)


@only_first
def _pull_of_conversion(grad, self, dtype, copy):
    return grad.to(self.dtype)


@whole(_pull_of_conversion, node="ToCopyBackward0")
def _converted(self, dtype, copy):
    return with_elements(self, self._elements.to(dtype, copy=copy))


def _converter(name, dtype):
    def convert(self, memory_format=None):
        return self.to(dtype)

    convert.__name__ = name
    convert.__doc__ = f"The tensor with elements of dtype {name}."
    return convert


SparseTensor.to = _to
SparseTensor.half = _converter("half", dtypes.float16)
SparseTensor.float = _converter("float", dtypes.float32)
SparseTensor.double = _converter("double", dtypes.float64)
SparseTensor.short = _converter("short", dtypes.int16)
SparseTensor.int = _converter("int", dtypes.int32)
SparseTensor.long = _converter("long", dtypes.int64)
SparseTensor.chalf = _converter("chalf", dtypes.complex32)
SparseTensor.cfloat = _converter("cfloat", dtypes.complex64)
SparseTensor.cdouble = _converter("cdouble", dtypes.complex128)
SparseTensor.bool = _converter("bool", dtypes.bool_)
SparseTensor.bfloat16 = _converter("bfloat16", dtypes.bfloat16)
SparseTensor.byte = _converter("byte", dtypes.uint8)
SparseTensor.char = _converter("char", dtypes.int8)
SparseTensor.cpu = lambda self, memory_format=None: self
SparseTensor.type = lambda self, dtype=None, non_blocking=False: (
    Tensor.type(self) if dtype is None else self.to(dtype)
)


@rule(copying.contiguous)
def _contiguous(input, memory_format=None):
    if input.layout == COO:
        raise RuntimeError("unsupported memory format option Contiguous")
    return input
