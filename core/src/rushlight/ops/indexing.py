"""Reading and writing parts of tensors by index, mask, or index tensors."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.autograd.mode import mode
from rushlight.backends import np
from rushlight.backends.arrays import cast, dtype_of
from rushlight.dtypes import FLOAT
from rushlight.errors import shape_text
from rushlight.ops._inplace import check_writable, written
from rushlight.ops._op import composite, op
from rushlight.ops._op import view as declare_view
from rushlight.ops._recording import record
from rushlight.ops._rules import number_dtype
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor, make_tensor

_BASIC = (int, slice, type(None), type(Ellipsis))


def _plain(item):
    """One index item as NumPy takes it; tensors become arrays."""
    if isinstance(item, bool):
        return np.asarray(item)
    if isinstance(item, _BASIC):
        return _plain_slice(item) if isinstance(item, slice) else item
    if isinstance(item, Tensor):
        if item._dtype.category >= FLOAT:
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors; got "
                f"{item._dtype}"
            )
        if item._dtype is dtypes.uint8:
            return item._array != 0
        if item._array.ndim == 0 and item._dtype is not dtypes.bool_:
            return int(item._array)
        return item._array
    if isinstance(item, (list, tuple, range)):
        array = np.asarray([i.item() if isinstance(i, Tensor) else i for i in item])
        return array.astype(np.int64) if array.size == 0 else array
    if isinstance(item, np.ndarray):
        return item
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {type(item).__name__})"
    )


def _plain_slice(item):
    if item.step is not None and _number(item.step) <= 0:
        raise ValueError("step must be greater than zero")
    parts = (item.start, item.stop, item.step)
    return slice(*[None if p is None else _number(p) for p in parts])


def _number(value):
    return int(value.item()) if isinstance(value, Tensor) else value.__index__()


def normalize(index):
    """An index as a tuple NumPy takes, and whether it is basic (a view)."""
    items = index if isinstance(index, tuple) else (index,)
    plain = tuple(_plain(item) for item in items)
    return plain, all(isinstance(item, _BASIC) for item in plain)


def _consumed(item):
    """How many dimensions an index item uses up."""
    if item is None:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1


def _in_two_steps(index, ndim):
    """An index with arrays as a basic one, applied first, and one of arrays and whole slices.

    NumPy counts integers among the advanced indices once there is an array; PyTorch selects first.
    """
    used = sum(_consumed(i) for i in index if i is not Ellipsis)
    whole = slice(None)
    if not any(i is Ellipsis for i in index):
        index = (*index, Ellipsis)
    first, second = [], []
    for item in index:
        if item is Ellipsis:
            rest = max(ndim - used, 0)
            first += [whole] * rest
            second += [whole] * rest
        elif isinstance(item, np.ndarray) and not (item.dtype == bool and item.ndim == 0):
            first += [whole] * _consumed(item)
            second.append(item)
        elif isinstance(item, np.ndarray):
            first.append(None)
            second.append(item.reshape(1))
        else:
            first.append(item)
            if not isinstance(item, int):
                second.append(whole)
    basic = any(i is None or isinstance(i, int) or i != whole for i in first)
    return (tuple(first) if basic else None), tuple(second)


def _explain(error, shape, index):
    """NumPy's index errors in PyTorch's words."""
    used = sum(
        1 if not isinstance(i, np.ndarray) or i.dtype != bool else i.ndim
        for i in index
        if i is not None and i is not Ellipsis
    )
    if used > len(shape):
        return IndexError(f"too many indices for tensor of dimension {len(shape)}")
    for dim, item in enumerate(i for i in index if i is not None):
        if item is Ellipsis:
            break
        if isinstance(item, int) and not -shape[dim] <= item < shape[dim]:
            return IndexError(
                f"index {item} is out of bounds for dimension {dim} with size {shape[dim]}"
            )
        if isinstance(item, np.ndarray) and item.dtype == bool and item.ndim == 1:
            if item.shape[0] != shape[dim]:
                return IndexError(
                    f"The shape of the mask {shape_text(item.shape)} at index {dim} does not match "
                    f"the shape of the indexed tensor {shape_text(shape)} at index {dim}"
                )
    return IndexError(str(error))


@declare_view(
    method=False,
    samples=lambda make: [
        ((make(4, 5), (1,)), {}),
        ((make(4, 5), (slice(1, 3), slice(None, None, 2))), {}),
        ((make(4, 5), (None, ..., 2)), {}),
    ],
    tested_by="tests/tensor/test_indexing.py",
)
def _slice(input: Tensor, index):
    """Basic indexing: a view."""
    try:
        out = input[index]
    except IndexError as error:
        raise _explain(error, input.shape, index) from None
    return out if isinstance(out, np.ndarray) else input[(*index, ...)]


def _slice_gradient(grad, input_shape, index):
    from rushlight.ops.creation import zeros
    from rushlight.ops.shape import view_scatter

    base = zeros(input_shape, dtype=grad._dtype)
    return view_scatter(base, grad, ((_slice.op, [index]),))


_slice.gradient(input=_slice_gradient)


@op(method=False, samples=lambda make: [], tested_by="tests/tensor/test_indexing.py")
def _index(input: Tensor, index):
    """Advanced indexing: a copy."""
    try:
        return np.asarray(input[index])
    except IndexError as error:
        raise _explain(error, input.shape, index) from None


def _index_gradient(grad, input_shape, index):
    from rushlight.ops.creation import zeros

    return _index_put(zeros(input_shape, dtype=grad._dtype), grad, index, True)


_index.gradient(input=_index_gradient)


@op(method=False, samples=lambda make: [], tested_by="tests/tensor/test_indexing.py")
def _index_put(input: Tensor, values: Tensor, index, accumulate):
    """A copy of `input` with `values` written (or added) at an index."""
    out = input.copy()
    _write_at(out, index, cast(values, dtype_of(out).code), accumulate)
    return out


def _write_at(out, index, values, accumulate):
    try:
        if accumulate:
            np.add.at(out, index, values)
        else:
            out[index] = values
    except IndexError as error:
        raise _explain(error, out.shape, index) from None
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {shape_text(values.shape)} cannot be broadcast "
            f"to indexing result of shape {shape_text(out[index].shape)}"
        ) from None


def _index_put_input(grad, values, index, accumulate):
    if accumulate:
        return grad
    return _index_put(grad, (values * 0).detach(), index, False)


_index_put.gradient(
    input=_index_put_input,
    values=lambda grad, index: getitem(grad, index),
)


def getitem(self, index):
    """``tensor[index]``: a view for ints, slices, None and ...; a copy for masks and tensors."""
    plain, basic = normalize(index)
    if basic:
        return _slice(self, plain)
    first, second = _in_two_steps(plain, self.dim())
    return _index(self if first is None else _slice(self, first), second)


def setitem(self, index, value):
    """``tensor[index] = value``: numbers and tensors, broadcast."""
    plain, basic = normalize(index)
    if not isinstance(value, Tensor):
        if number_dtype(value) is None:
            from rushlight.ops.creation import tensor

            value = tensor(value)
        elif basic:
            _slice(self, plain).fill_(value)
            return
        else:
            value = make_tensor(np.asarray(value, self._array.dtype), self._dtype)
    if basic:
        target = _slice(self, plain)
        target.copy_(_drop_leading(value, target))
        return
    first, second = _in_two_steps(plain, self.dim())
    put(self if first is None else _slice(self, first), second, value, False)


def _drop_leading(value, target):
    """Leading extents of one beyond the target's dimensions are allowed on assignment."""
    while value.dim() > target.dim() and value.shape[0] == 1:
        value = value.squeeze(0)
    return value


def put(self, index, values, accumulate):
    """Write at an advanced index in place."""
    recording = mode.recording and (self._node is not None or values._node is not None)
    check_writable(self, recording)
    node = None
    if recording:
        attributes = [None, None, index, accumulate]
        out = make_tensor(self._array, self._dtype)
        node = record(_index_put.op, (self, values), attributes, (out,))
    _write_at(self._array, index, cast(values._array, self._dtype.code), accumulate)
    written(self, node)
    return self


def index_put_(self, indices, values, accumulate=False):
    """Write (or add) `values` at a tuple of index tensors, in place."""
    return put(self, normalize(tuple(indices))[0], values, accumulate)


def index_put(input, indices, values, accumulate=False):
    """A copy of `input` with `values` written (or added) at a tuple of index tensors."""
    return _index_put(input, values, normalize(tuple(indices))[0], accumulate)


Tensor.__getitem__, Tensor.__setitem__ = getitem, setitem
Tensor.index_put_, Tensor.index_put = index_put_, index_put


def _check_index(name, index, ndim):
    if index.dtype not in (np.dtype(np.int64), np.dtype(np.int32)):
        raise RuntimeError(f"{name}(): Expected dtype int64 for index, got {index.dtype}")
    if index.ndim != ndim:
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as input tensor: {name} got "
            f"{index.ndim} and {ndim}"
        )


def _bounds(name, index, size, dim):
    if index.size and (index.min() < 0 or index.max() >= size):
        bad = index[(index < 0) | (index >= size)].flat[0]
        raise IndexError(
            f"{name}: index {bad} is out of bounds for dimension {dim} with size {size}"
        )


def _along(index, dim):
    """Open mesh over the other dimensions with `index` in place of `dim`."""
    grid = list(np.ogrid[tuple(slice(n) for n in index.shape)]) if index.ndim else []
    if index.ndim:
        grid[dim] = index
    return tuple(grid)


def _gather_samples(make):
    i = make.integers(0, 3, (3, 2))
    return [((make(3, 4), 0, i), {}), ((make(4, 3), 1, i), {})]


@op(samples=_gather_samples)
def gather(input: Tensor, dim, index: Tensor, *, sparse_grad=False):
    """``out[i][j] = input[index[i][j]][j]`` for dim 0, and so on."""
    _check_index("gather", index, input.ndim)
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return input.copy()
    _bounds("gather", index, input.shape[dim], dim)
    return input[_along(index, dim)]


def _gather_gradient(grad, input_shape, dim, index):
    from rushlight.ops.creation import zeros

    return zeros(input_shape, dtype=grad._dtype).scatter_add(dim, index, grad)


gather.gradient(input=_gather_gradient)


def take_along_dim(input, indices, dim=None):
    """Values along `dim` at `indices`, broadcast against the input."""
    if dim is None:
        return input.flatten().gather(0, indices.flatten())
    shape = list(np.broadcast_shapes(_but(input, dim), _but(indices, dim)))
    at = dim % input.dim()
    full = [*shape]
    full[at] = indices.shape[at]
    whole = [*shape]
    whole[at] = input.shape[at]
    return input.expand(*whole).gather(dim, indices.expand(*full))


def _but(tensor, dim):
    shape = list(tensor.shape)
    shape[dim] = 1
    return tuple(shape)


Tensor.take_along_dim = take_along_dim


def _scatter_samples(make):
    i = make.integers(0, 3, (2, 4), unique_dim=0)
    return [((make(3, 4), 0, i, make(2, 4)), {})]


@op(samples=_scatter_samples, method=False, inplace="_scatter_")
def _scatter(input: Tensor, dim, index: Tensor, src: Tensor):
    """`input` with ``src`` written at the index."""
    _check_index("scatter", index, input.ndim)
    dim, out = wrap_dim(dim, input.ndim), input.copy()
    _bounds("scatter", index, input.shape[dim], dim)
    out[_along(index, dim)] = src[tuple(slice(n) for n in index.shape)]
    return out


def _padded(grad, src_shape):
    from rushlight.ops.creation import zeros

    if tuple(grad.shape) == tuple(src_shape):
        return grad
    out = zeros(src_shape, dtype=grad._dtype)
    return _index_put(out, grad, tuple(slice(n) for n in grad.shape), False)


_scatter.gradient(
    input=lambda grad, dim, index: _scatter(grad, dim, index, zeros_for(grad, index)),
    src=lambda grad, dim, index, src_shape: _padded(grad.gather(dim, index), src_shape),
)


def zeros_for(grad, index):
    """Zeros in the shape of an index."""
    from rushlight.ops.creation import zeros

    return zeros(tuple(index.shape), dtype=grad._dtype)


def _source(input, index, src, value):
    if isinstance(src, Tensor):
        return src
    value = src if value is None else value
    return make_tensor(np.full(index._array.shape, value, input._array.dtype), input._dtype)


@composite()
def scatter(input: Tensor, dim, index: Tensor, src=None, value=None, *, reduce=None):
    """A copy with ``src`` (or a number) written at ``index`` along `dim`; `reduce` ``"add"`` or
    ``"multiply"`` combines instead."""
    source = _source(input, index, src, value)
    if reduce == "add":
        return scatter_add(input, dim, index, source)
    if reduce is not None:
        raise NotImplementedError(f"scatter(reduce={reduce!r}) is not available; use 'add'")
    return _scatter(input, dim, index, source)


def scatter_(self, dim, index, src=None, value=None, *, reduce=None):
    """In-place version of :func:`rushlight.scatter`."""
    source = _source(self, index, src, value)
    if reduce == "add":
        return self.scatter_add_(dim, index, source)
    if reduce is not None:
        raise NotImplementedError(f"scatter_(reduce={reduce!r}) is not available; use 'add'")
    return self._scatter_(dim, index, source)


Tensor.scatter_ = scatter_


def _scatter_add_samples(make):
    i = make.integers(0, 3, (2, 4))
    return [((make(3, 4), 0, i, make(2, 4)), {})]


@op(samples=_scatter_add_samples, inplace=True)
def scatter_add(input: Tensor, dim, index: Tensor, src: Tensor):
    """A copy with ``src`` added at ``index`` along `dim`; repeated indices add up."""
    _check_index("scatter_add", index, input.ndim)
    dim, out = wrap_dim(dim, input.ndim), input.copy()
    if not input.ndim:
        return out + src
    _bounds("scatter_add", index, input.shape[dim], dim)
    np.add.at(out, _along(index, dim), src[tuple(slice(n) for n in index.shape)])
    return out


scatter_add.gradient(
    input=lambda grad: grad,
    src=lambda grad, dim, index, src_shape: _padded(grad.gather(dim, index), src_shape),
)


def _select_samples(make):
    return [((make(4, 3), 0, make.integers(0, 4, (5,))), {})]


@op(samples=_select_samples)
def index_select(input: Tensor, dim, index: Tensor):
    """The slices at `index` (a vector) along `dim`."""
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return input.copy()
    _bounds("index_select", index, input.shape[dim], dim)
    return np.take(input, np.atleast_1d(index), axis=dim)


def _index_select_gradient(grad, input_shape, dim, index):
    from rushlight.ops.creation import zeros

    return zeros(input_shape, dtype=grad._dtype).index_add(dim, index, grad)


index_select.gradient(input=_index_select_gradient)


def _index_add_samples(make):
    return [((make(4, 3), 0, make.integers(0, 4, (5,)), make(5, 3)), {"alpha": 2})]


@op(samples=_index_add_samples, inplace=True)
def index_add(input: Tensor, dim, index: Tensor, source: Tensor, *, alpha=1):
    """A copy with the slices of `source` added at `index` along `dim`."""
    dim, out = wrap_dim(dim, input.ndim), input.copy()
    _bounds("index_add", index, input.shape[dim], dim)
    np.add.at(out, (slice(None),) * dim + (index,), source if alpha == 1 else source * alpha)
    return out


index_add.gradient(
    input=lambda grad: grad,
    source=lambda grad, dim, index, alpha: grad.index_select(dim, index) * alpha,
)


@op(
    samples=lambda make: [
        ((make(4, 3), 0, make.integers(0, 4, (2,), unique_dim=0), make(2, 3)), {})
    ],
    inplace=True,
)
def index_copy(input: Tensor, dim, index: Tensor, source: Tensor):
    """A copy with the slices of `source` written at `index` along `dim`."""
    dim, out = wrap_dim(dim, input.ndim), input.copy()
    out[(slice(None),) * dim + (index,)] = source
    return out


index_copy.gradient(
    input=lambda grad, dim, index: grad.index_fill(dim, index, 0),
    source=lambda grad, dim, index: grad.index_select(dim, index),
)


@op(samples=lambda make: [((make(4, 3), 0, make.integers(0, 4, (2,)), 1.5), {})], inplace=True)
def index_fill(input: Tensor, dim, index: Tensor, value):
    """A copy with the slices at `index` along `dim` set to `value`."""
    dim, out = wrap_dim(dim, input.ndim), input.copy()
    out[(slice(None),) * dim + (index,)] = value
    return out


index_fill.gradient(input=lambda grad, dim, index: grad.index_fill(dim, index, 0))


def _mask_check(name, mask):
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"{name}: expected mask to be a bool tensor, got {mask.dtype} (convert it with .bool())"
        )


@op(samples=lambda make: [((make(3, 4), make.mask(3, 4), 1.5), {})], inplace=True)
def masked_fill(input: Tensor, mask: Tensor, value):
    """A copy with `value` where `mask` is true."""
    _mask_check("masked_fill", mask)
    if isinstance(value, Tensor):
        value = value._array
    return np.where(mask, np.asarray(value, input.dtype), input)


masked_fill.gradient(input=lambda grad, mask: grad.masked_fill(mask, 0))


@op(samples=lambda make: [((make(3, 4), make.mask(3, 4)), {})])
def masked_select(input: Tensor, mask: Tensor):
    """The elements where `mask` is true, as a vector."""
    _mask_check("masked_select", mask)
    input, mask = np.broadcast_arrays(input, mask)
    return input[mask]


def _masked_select_gradient(grad, input_shape, mask):
    from rushlight.ops.creation import zeros

    shape = np.broadcast_shapes(tuple(input_shape), tuple(mask.shape))
    index = (np.broadcast_to(mask._array, shape),)
    return _index_put(zeros(shape, dtype=grad._dtype), grad, index, False)


masked_select.gradient(input=_masked_select_gradient)


@op(samples=lambda make: [((make(3, 4), make.integers(0, 12, (5,))), {})])
def take(input: Tensor, index: Tensor):
    """The elements of the flattened input at `index`."""
    return np.take(input, index)


def _take_gradient(grad, input_shape, index):
    from rushlight.ops.creation import zeros

    flat = zeros(input_shape, dtype=grad._dtype).reshape(-1)
    return flat.index_add(0, index.reshape(-1), grad.reshape(-1)).reshape(input_shape)


take.gradient(input=_take_gradient)


@op(method=False, samples=lambda make: [((make(3, 4),), {})], differentiable=False)
def _nonzero(input: Tensor):
    """The indices of the nonzero elements, one row each."""
    if not input.ndim:
        return np.zeros((int(input != 0), 0), np.int64)
    return np.argwhere(input)


def nonzero(input, *, as_tuple=False):
    """The indices of the nonzero elements: rows of a matrix, or a tuple of vectors."""
    found = _nonzero(input)
    if not as_tuple:
        return found
    return _nonzero(input.reshape(1)).unbind(1) if not input.dim() else found.unbind(1)


argwhere = Tensor.argwhere = lambda input: _nonzero(input)
Tensor.nonzero = nonzero
