"""Reading and writing along a dimension by index tensors and masks: gather, scatter."""

from __future__ import annotations

import functools

from rushlight.dtypes import held
from rushlight.kernels.copying.assignment import by_rows, written
from rushlight.kernels.copying.blocks import LEAST
from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.gemm import vectors
from rushlight.kernels.indexing import indices as index_kernels
from rushlight.kernels.launch.execution import FLOAT32, holds_low_precision
from rushlight.kernels.scan_sort import lines
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.machine.quiet import quietly
from rushlight.ops._table.inplace import write_directly, write_out
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.rules import number_dtype
from rushlight.ops._table.shape_rules import alike, checked
from rushlight.ops.creation.tensors import full, zeros
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.indexing import index_calls as place_calls
from rushlight.ops.indexing.assignment import number_or_scalar
from rushlight.ops.indexing.index_checks import (
    check_bounds,
    check_extents,
    check_index,
    check_same_dtype,
    check_vector_index,
    extents_of,
    line,
    slices_of,
)
from rushlight.ops.indexing.index_forms import slices
from rushlight.ops.indexing.items import _index_put
from rushlight.ops.indexing.scatter_steps import captured_write
from rushlight.ops.indexing.value_steps import index_rows
from rushlight.ops.shape.complex_views import conj_number
from rushlight.tensor.dispatch import readable
from rushlight.tensor.memory_format import same_order
from rushlight.tensor.overriding import overridable
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor, add_methods, make_tensor


def along(index, dim):
    """Open mesh over the other dimensions with `index` in place of `dim`."""
    grid = list(_mesh(index.shape))
    grid[dim] = index
    return tuple(grid)


@functools.lru_cache(64)
def _mesh(shape):
    """The positions along every dimension, shaped so that they broadcast; nobody writes to them."""
    rank = len(shape)
    return [np.arange(n).reshape([n if i == d else 1 for i in range(rank)])
            for d, n in enumerate(shape)]  # fmt: skip


# ------------------------------------------------------------------------------- gather and scatter
def _gather_samples(make):
    i = make.integers(0, 3, (3, 2))
    return [
        ((make(3, 4), 0, i), {}),
        ((make(4, 3), 1, i), {}),
        ((make(), 0, make.integers(0, 1, (2,))), {}),
    ]


def _meta_gather(input, dim, index, sparse_grad=False):
    dim = wrap_dim(dim, input.ndim)
    check_index("gather", index, input.ndim)
    check_extents("gather", line(index), line(input), dim)
    return index.shape, dtype_of(input)


@op(
    schemas=("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",),
    linear=True,
    samples=_gather_samples,
    meta=_meta_gather,
    exact_out=True,
    batching="along",
    saves="dim index sparse_grad",
)
def gather(input: Tensor, dim, index: Tensor, *, sparse_grad=False):
    """``out[i][j] = input[index[i][j]][j]`` for dim 0, and so on.

    >>> rushlight.gather(rushlight.tensor([5, 6, 7]), 0, rushlight.tensor([2, 0]))
    tensor([7, 5])
    """
    dim = wrap_dim(dim, input.ndim)
    check_index("gather", index, input.ndim)
    if not index.size:
        return np.empty(index.shape, input.dtype)
    rows, places = line(input), line(index)
    check_extents("gather", places, rows, dim)
    try:
        found = lines.read_at(rows, dim, places)
    except IndexError:
        found = None  # the check below says it better
    if found is None:
        check_bounds("gather", places, rows.shape[dim], dim)
        found = rows[along(places, dim)]
    if type(found) is np.ndarray and not found.flags.c_contiguous:
        found = found.copy()  # row by row, however the index is
    return found.reshape(index.shape)


def _gather_gradient(grad, input_shape, dim, index):
    return zeros(input_shape, dtype=grad._dtype, device=grad._device).scatter_add(dim, index, grad)


gather.cpu(place_calls.along(gather.op.body))
gather.gradient(input=_gather_gradient)


def _check_scatter(name, input, dim, index, src):
    check_index(name, index, input.ndim)
    check_same_dtype(name, input, src)
    check_index(name, index, src.ndim, "src")
    if index.size:
        check_extents(name, line(index), line(input), dim, line(src))
        check_bounds(name, index, line(input).shape[dim], dim)


def scattered(name, input, dim, index, src, write):
    """A copy of `input` after ``write(copy, dim, index, the part of src that it reaches)``."""
    dim, out = wrap_dim(dim, input.ndim), input.copy()
    _check_scatter(name, input, dim, index, src)
    if holds_low_precision(input):
        wide = scattered(name, cast(input, FLOAT32), dim, index, cast(src, FLOAT32), write)
        return cast(wide, input.dtype)
    if index.size:
        index, src = line(index), line(src)
        write(line(out), dim, index, src[tuple(slice(n) for n in index.shape)])
    return out


def meta_like_input(input, *rest, **named):
    """The shape and dtype of the first argument."""
    return input.shape, dtype_of(input)


def _scatter_samples(make):
    i = make.integers(0, 3, (2, 4), unique_dim=0)
    return [((make(3, 4), 0, i, make(2, 4)), {})]


def _assign(out, dim, index, values):
    out[along(index, dim)] = values


def _multiply(out, dim, index, values):
    np.multiply.at(out, along(index, dim), values)


def _add(out, dim, index, values):
    if lines.added_at(out, dim, index, values) is None:
        np.add.at(out, along(index, dim), values)


@op(
    linear="+input,src",
    samples=_scatter_samples,
    method=False,
    inplace="_scatter_",
    meta=checked(extents_of("scatter"), meta_like_input),
    batching="along",
    saves="dim index",
)
def _scatter(input: Tensor, dim, index: Tensor, src: Tensor):
    """`input` with ``src`` written at the index."""
    return scattered("scatter", input, dim, index, src, _assign)


_scatter.cpu(place_calls.writing(index_kernels.PUT, _scatter.op.body))
_scatter.op.writes = place_calls.writing_into(index_kernels.PUT)


def _padded(grad, src_shape):
    if tuple(grad.shape) == tuple(src_shape):
        return grad
    out = zeros(src_shape, dtype=grad._dtype, device=grad._device)
    return _index_put(out, grad, tuple(slice(n) for n in grad.shape), False)


_scatter.gradient(
    input=lambda grad, dim, index: _scatter(grad, dim, index, zeros_for(grad, index)),
    src=lambda grad, dim, index, src_shape: _padded(grad.gather(dim, index), src_shape),
)


def zeros_for(grad, index):
    """Zeros in the shape of an index."""
    return zeros(tuple(index.shape), dtype=grad._dtype, device=grad._device)


@op(
    samples=lambda make: [],
    method=False,
    inplace="_scatter_multiply_",
    differentiable=False,
    meta=meta_like_input,
    tested_by="tests/ops/indexing/test_scattering.py",
    batching="along",
)
def _scatter_multiply(input: Tensor, dim, index: Tensor, src: Tensor):
    """`input` multiplied by ``src`` at the index; repeated indices multiply again."""
    return scattered("scatter", input, dim, index, src, _multiply)


_scatter_multiply.cpu(place_calls.writing(index_kernels.MULTIPLY, _scatter_multiply.op.body))
_scatter_multiply.op.writes = place_calls.writing_into(index_kernels.MULTIPLY)


def _source(input, index, src, value):
    if isinstance(src, Tensor):
        return src
    value = src if value is None else value
    if value is None:
        raise TypeError("scatter() missing required argument: 'src' or 'value'")
    value = held(value, input._dtype)
    if not readable(index):
        return full(tuple(index.shape), value, dtype=input._dtype, device=input._device)
    return make_tensor(
        np.full_like(index._array, value, input._array.dtype, subok=False), input._dtype
    )


def _check_reduce(reduce):
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce!r}")


@composite(
    schemas=(
        "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
        "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
        "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
        "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) "
        "-> Tensor",
    ),
    samples=lambda make: [
        (make(3, 4), 0, make.integers(0, 3, (2, 4), 0), make(2, 4)),
        (make(3, 4), 1, make.integers(0, 4, (3, 2), 1), {"value": 1.5}),
    ],
    aten="value src reduce value_reduce src_out value_out reduce_out value_reduce_out",
    aten_inplace="src value reduce value_reduce",
)
def scatter(input: Tensor, dim, index: Tensor, src=None, value=None, *, reduce=None):
    """A copy with ``src`` (or a number) written at ``index`` along `dim`; `reduce` ``"add"`` or
    ``"multiply"`` combines instead.

    >>> rushlight.scatter(rushlight.zeros(3), 0, rushlight.tensor([2, 0]), 5.0)
    tensor([5., 0., 5.])
    """
    _check_reduce(reduce)
    source = _source(input, index, src, value)
    if reduce is None:
        return _scatter(input, dim, index, source)
    combine = scatter_add if reduce == "add" else _scatter_multiply
    return combine(input, dim, index, source)


@captured_write(lambda self, *args, **kwargs: self.copy_(scatter(self, *args, **kwargs)))
@overridable(as_given=True)
def scatter_(self, dim, index, src=None, value=None, *, reduce=None):
    """In-place version of :func:`rushlight.scatter`."""
    _check_reduce(reduce)
    combine = _COMBINING[reduce]
    src = src if value is None else value
    if not isinstance(src, Tensor) and number_dtype(src) is not None:
        src = held(src, self._dtype)
    if write_directly(combine.op, self, (dim, index, src)):
        return self
    return combine.op.inplace(self, dim, index, _source(self, index, src, None))


Tensor.scatter_ = scatter_


def _scatter_add_samples(make):
    i = make.integers(0, 3, (2, 4))
    return [
        ((make(3, 4), 0, i, make(2, 4)), {}),
        ((make(), 0, make.integers(0, 1, (2,)), make(2)), {}),
    ]


@op(
    linear="+input,src",
    samples=_scatter_add_samples,
    inplace=True,
    meta=checked(extents_of("scatter_add"), meta_like_input),
    batching="along",
    saves="dim index",
)
def scatter_add(input: Tensor, dim, index: Tensor, src: Tensor):
    """A copy with ``src`` added at ``index`` along `dim`; repeated indices add up."""
    return scattered("scatter_add", input, dim, index, src, _add)


scatter_add.cpu(place_calls.writing(index_kernels.ADD, scatter_add.op.body))
scatter_add.op.writes = place_calls.writing_into(index_kernels.ADD)
_COMBINING = {None: _scatter, "add": scatter_add, "multiply": _scatter_multiply}
scatter_add.gradient(
    input=lambda grad: grad,
    src=lambda grad, dim, index, src_shape: _padded(grad.gather(dim, index), src_shape),
)


# ------------------------------------------------------------------------ slices along a dimension
def _select_samples(make):
    return [
        ((make(4, 3), 0, make.integers(0, 4, (5,))), {}),
        ((make(2, 3), -1, make.integers(0, 3, (2,))), {}),
        ((make(), 0, make.integers(0, 1, (1,))), {}),
    ]


def _check_one(input, count):
    if not input.ndim and count != 1:
        raise IndexError("index_select(): a 0-d tensor takes an index of one element")


def _meta_select(input, dim, index):
    slices_of("index_select")(input, dim, index)
    dim = wrap_dim(dim, input.ndim)
    count = index.shape[0] if index.ndim else 1
    _check_one(input, count)
    return tuple(count if i == dim else n for i, n in enumerate(input.shape)), dtype_of(input)


@op(
    linear=True,
    samples=_select_samples,
    meta=_meta_select,
    limited="unsigned complex eight",
    batching="index_select",
)
def index_select(input: Tensor, dim, index: Tensor):
    """The slices at `index` (a vector) along `dim`."""
    dim, index = check_vector_index("index_select", input, dim, index)
    _check_one(input, len(index))
    if not input.ndim:
        return input.copy()
    return np.take(input, index, axis=dim)


index_select.cpu(place_calls.rows(index_select.op.body))
index_select.gradient(
    input=lambda grad, input_shape, dim, index: zeros(
        input_shape, dtype=grad._dtype, device=grad._device
    ).index_add(dim, index, grad)
)


def _index_add_samples(make):
    return [
        ((make(4, 3), 0, make.integers(0, 4, (5,)), make(5, 3)), {"alpha": 2}),
        ((make(), 0, make.integers(0, 1, (1,)), make()), {}),
    ]


def _spread(array, dim, source):
    """A source of slices with the dimensions that NumPy's indexing of `array` gives."""
    return line(source) if source.ndim or not array.ndim else source


@op(
    linear="+input,source",
    samples=_index_add_samples,
    inplace=True,
    meta=checked(slices_of("index_add"), meta_like_input),
    limited="complex",
    batching="index_writes",
    saves="alpha dim index source_dim:",
    saves_as={"source_dim": lambda read: len(read("source_sym_sizes"))},
)
def index_add(input: Tensor, dim, index: Tensor, source: Tensor, *, alpha=1):
    """A copy with the slices of `source`, times `alpha`, added at `index` along `dim`."""
    dim, index = check_vector_index("index_add", input, dim, index, source)
    alpha = alpha if alpha == 1 else held(alpha, dtype_of(source))
    if holds_low_precision(input):
        wide = cast(input, FLOAT32), dim, index, cast(source, FLOAT32)
        return cast(index_add.op.body(*wide, alpha=alpha), input.dtype)
    out = input.copy()
    values = source
    if alpha != 1:
        values = quietly(np.multiply, source, np.asarray(alpha, source.dtype))
    quietly(np.add.at, line(out), slices(dim, index), _spread(out, dim, values))
    return out


index_add.cpu(place_calls.adding_rows(index_add.op.body))
index_add.op.writes = place_calls.writing_rows_into(index_kernels.ADD)
index_add.gradient(
    input=lambda grad: grad,
    source=lambda grad, dim, index, alpha, source_shape: (
        grad.index_select(dim, index) * conj_number(alpha)
    ).reshape(source_shape),
)


def _index_copy_samples(make):
    i = make.integers(0, 4, (2,), unique_dim=0)
    return [((make(4, 3), 0, i, make(2, 3)), {})]


@op(
    linear="+input,source",
    samples=_index_copy_samples,
    inplace=True,
    meta=checked(slices_of("index_copy"), meta_like_input),
    autocast="widest",
    limited="complex",
    batching="index_writes",
    saves="dim index source_dim:",
    saves_as={"source_dim": lambda read: len(read("source_sym_sizes"))},
)
def index_copy(input: Tensor, dim, index: Tensor, source: Tensor):
    """A copy with the slices of `source` written at `index` along `dim`."""
    dim, index = check_vector_index("index_copy", input, dim, index, source)
    out = input.copy()
    line(out)[slices(dim, index)] = _spread(out, dim, source)
    return out


_put_slices = place_calls.writing_rows_into(index_kernels.PUT)
index_copy.cpu(place_calls.on_a_copy(_put_slices, index_copy.op.body))
index_copy.op.writes = _put_slices
index_copy.gradient(
    input=lambda grad, dim, index: grad.index_fill(dim, index, 0),
    source=lambda grad, dim, index, source_shape: grad.index_select(dim, index).reshape(
        source_shape
    ),
)


@op(
    linear=True,
    samples=lambda make: [((make(4, 3), 0, make.integers(0, 4, (2,)), 1.5), {})],
    method=False,
    inplace="_index_fill_",
    meta=checked(slices_of("index_fill"), alike),
    oracle="Tensor",
    limited="complex",
    batching="index_writes",
    fills=True,
)
def _index_fill(input: Tensor, dim, index: Tensor, value):
    """A copy with the slices at `index` along `dim` set to a number."""
    dim, index = check_vector_index("index_fill", input, dim, index)
    out = same_order(input)
    line(out)[slices(dim, index)] = value
    return out


def _fill_slices(target, dim, index, value):
    if _put_slices(target, dim, index, value):
        return True
    quick = type(dim) is int and 0 <= dim < target.ndim and type(index) is np.ndarray
    quick = quick and index.ndim == 1 and index.dtype == np.int64 and index.flags.c_contiguous
    if not (quick and index.size and index_kernels.all_inside(index, target.shape[dim])):
        dim, index = check_vector_index(index_fill.op.name, target, dim, index)
    line(target)[slices(dim, index)] = value
    return True


_index_fill.cpu(place_calls.on_a_copy(_put_slices, _index_fill.op.body))
_fill_slices.known = _put_slices.known
_index_fill.op.writes = _fill_slices
_index_fill.gradient(input=lambda grad, dim, index: _index_fill(grad, dim, index, 0))


@composite(
    schemas=(
        "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
        "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    ),
    samples=lambda make: [
        ((make(3, 4), 1, make.integers(0, 4, (2,)), 2.0), {}),
        ((make(3), 0, make.integers(0, 3, ()), -1.0), {}),
    ],
    aten="int_Tensor int_Scalar int_Scalar_out int_Tensor_out",
    aten_inplace="int_Tensor int_Scalar",
)
def index_fill(input: Tensor, dim, index: Tensor, value):
    """A copy with the slices at `index` along `dim` set to `value`, a number or 0-d tensor."""
    value = _filling("index_fill", input, value)
    if isinstance(value, Tensor) and not (readable(value) and readable(index)):
        from rushlight.ops.creation.tensors import zeros_like

        chosen = _index_fill(zeros_like(input.detach()), dim, index, 1.0) != 0
        return where(chosen, value.to(input._dtype), input)
    if isinstance(value, Tensor):
        from rushlight.ops.reduction.sorting import unique

        dim, index = wrap_dim(dim, input.dim()), unique(index)
        shape = [index.numel() if i == dim else n for i, n in enumerate(input.shape)]
        return index_copy(input, dim, index, value.to(input._dtype).expand(shape))
    return _index_fill(input, dim, index, value)


def _filling(name, input, value):
    if isinstance(value, complex) and not input.is_complex():
        raise RuntimeError(f"{name}: a complex value ({value}) needs a complex input")
    return number_or_scalar(name, input, value)


@overridable(as_given=True)
def _index_fill_inplace(self, dim, index, value):
    """In-place version of :func:`rushlight.index_fill`."""
    value = _filling(index_fill.op.name + "_", self, value)
    if isinstance(value, Tensor):
        return self.copy_(index_fill(self, dim, index, value))
    if write_directly(_index_fill.op, self, (dim, index, value)):
        return self
    return self._index_fill_(dim, index, value)


add_methods(index_fill_=_index_fill_inplace)


@op(
    method=False,
    samples=lambda make: [((make(3, 4),), {})],
    differentiable=False,
    schemas=("nonzero(Tensor self) -> Tensor",),
    aten_call=lambda input: ("nonzero", {"self": input}),
    value_sized=index_rows,
    limited="complex",
    batching="dynamic",
)
def _nonzero(input: Tensor):
    """The indices of the nonzero elements, one row each."""
    if not input.ndim:
        return np.zeros((int(input != 0), 0), np.int64)
    return np.argwhere(input)


def _truth(input):
    """Which elements are not zero."""
    if input.dtype == bool:
        return input
    if input.size >= LEAST:
        truth = np.empty(input.shape, bool)
        if written(truth, input):
            return truth
    return input.astype(bool)


def _nonzero_kernel(input):
    """Bools by one kernel, others as such."""
    truth = _truth(input)
    found = vectors.nonzero(by_rows(truth))
    return _nonzero.op.body(truth) if found is None else found


_nonzero_kernel.general = _nonzero.op.body
_nonzero.cpu(_nonzero_kernel)


@numpy_names
def nonzero(input, *, as_tuple=False, out=None):
    """The indices of the nonzero elements: rows of a matrix, or a tuple of vectors.

    >>> rushlight.nonzero(rushlight.tensor([0, 3, 5]))
    tensor([[1],
            [2]])
    """
    found = _nonzero(input)
    if out is not None:
        write_out(_nonzero.op, out, found)
        return out
    if not as_tuple:
        return found
    return _nonzero(input.reshape(1)).unbind(1) if not input.dim() else found.unbind(1)


@composite(
    samples=lambda make: [(make.mask(3, 4),), (make(3, 4),)],
    differentiable=False,
    value_sized=index_rows,
)
def argwhere(input: Tensor):
    """The indices of the nonzero elements, one row each."""
    return _nonzero(input)


Tensor.nonzero = nonzero
