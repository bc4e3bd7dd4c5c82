"""Views and copies that rearrange: reshape, permute, expand, slice, flip, ..."""

from __future__ import annotations

import math

from rushlight.dtypes import as_dtype
from rushlight.errors import shape_text
from rushlight.kernels.launch.prepared import by_layout, of_copies
from rushlight.kernels.reduction import totals
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of, strided
from rushlight.machine.meta_array import MetaArray, meta_array, restrided
from rushlight.ops._calls.elementwise_prepared import positional
from rushlight.ops._calls.known_views import ShortView
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.node_names import arguments, numbered
from rushlight.ops._table.op import Sizes, composite, op
from rushlight.ops._table.op import view as declare_view
from rushlight.ops.shape.copying import turned
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.memory_format import (
    contiguous_format,
    same_strides,
)
from rushlight.tensor.overriding import call_by_override, overridable
from rushlight.tensor.shape import MOST_DIMS, check_dims, normalize_size, wrap_dim, wrap_dims
from rushlight.tensor.tensor import EXACT, Tensor

_ndarray = np.ndarray


def infer_size(shape, count, name="view"):
    """A requested shape with its -1 replaced."""
    shape = normalize_size((shape,) if not isinstance(shape, tuple | list) else (tuple(shape),))
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in shape):
        raise RuntimeError(f"invalid shape dimension {min(shape)}")
    known = math.prod(n for n in shape if n != -1)
    if -1 in shape:
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {count} elements into shape {shape_text(shape)} because "
                "the unspecified dimension size -1 can be any value and is ambiguous"
            )
        if count % known == 0:
            return tuple(count // known if n == -1 else n for n in shape)
    if known != count or -1 in shape:
        raise RuntimeError(f"shape '{shape_text(shape)}' is invalid for input of size {count}")
    return shape


_COPIED = 1 << 12  # bytes from which a prepared copy pays


def _plain_size(shape):
    """A shape that NumPy understands as we do, at most one -1 in it, or None."""
    if type(shape) is not tuple or not shape:
        return None
    for n in shape:
        if type(n) is not int or n < -1:
            return None
    return shape


def _view_samples(make):
    x = make(2, 6)
    return [((x, (3, 4)), {}), ((x, (-1,)), {}), ((make(), (1, 1)), {}), ((make(0, 3), (0,)), {})]


@declare_view(
    schemas=(
        "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
        "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    ),
    linear=True, samples=_view_samples, oracle="Tensor", made_by="reshaped", aten="default dtype",
    batching="view",
)  # fmt: skip
def view(input: Tensor, shape: Sizes):
    """The same memory with another shape; a dtype instead of a shape reinterprets the bytes.

    Strides that cannot express the shape are an error; use :func:`reshape` to copy then.
    """
    size = _plain_size(shape)
    if size is not None and type(input) is _ndarray:
        try:
            out = input.reshape(size)
        except ValueError:
            infer_size(shape, input.size)  # says what is wrong
            raise
        base = out.base
        if base is input or base is not None and base is input.base:
            return out  # not a copy
    if shape and hasattr(shape[0], "category"):
        return NotImplemented  # a dtype: bytes seen otherwise
    try:
        return input.reshape(infer_size(shape, input.size), copy=False)
    except ValueError:
        shape = infer_size(shape, input.size)
        raise RuntimeError(
            f"view: size {shape_text(shape)} is not compatible with input of shape "
            f"{shape_text(input.shape)} and its strides (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ) from None


view.gradient(input=lambda grad, input_shape: grad.reshape(input_shape))
_view_op = view


def _view_method(self, *shape, size=None, dtype=None):
    """``x.view(2, 3)``, ``x.view((2, 3))`` or ``x.view(dtype)``."""
    if size is not None and not shape:
        shape = (size,)
    if len(shape) == 1 or dtype is not None:
        target = shape[0] if dtype is None else dtype
        target = as_dtype(target) if isinstance(target, type) else target
        if type(target) is not int and hasattr(target, "category"):
            return _view_dtype(self, target)
    return _view_op(self, *shape)


def _named_view():
    """The method: arguments that the op's native calls take go straight to them."""
    method = positional(_view_op.op, _view_method)
    method.__name__ = method.__qualname__ = _view_op.op.name
    method.__doc__, method.__wrapped__ = _view_method.__doc__, _view_method
    return method


def _view_dtype(tensor, target):
    from rushlight.machine.arrays import BY_CODE
    from rushlight.tensor.storage import storage_of
    from rushlight.tensor.tensor import make_tensor

    try:
        out = make_tensor(tensor._array.view(BY_CODE[target.code]), target)
    except ValueError as error:  # the last dimension's bytes are no whole number of elements
        raise RuntimeError(f"view({target}): {error}, got a tensor of {tensor._dtype}") from None
    out._storage = storage_of(tensor)
    return out


Tensor.view = _named_view()


def _shaped_as(made_by, general):
    """``x.view_as(y)`` and the like: `general` with the shape of another tensor, or a view made by
    machine code where nothing is recorded or watches."""

    def call(self, other):
        if type(other) not in EXACT:
            found = call_by_override(call, (self, other), {})
            if found is not NotImplemented:
                return found
        shape = other._array.shape
        if type(self) is Tensor and self._node is None and not STATE.modes:
            out = getattr(construction, made_by)(self, shape, (general.op, [shape]))
            if out is not NotImplemented:
                return construction.looked_at(self, out) if STATE.inference else out
        return general(self, shape)

    call.__name__ = call.__qualname__ = f"{general.__name__}_as"
    call.__doc__ = f":meth:`{general.__name__}` with the shape of `other`."
    return call


Tensor.view_as = _shaped_as("reshaped", _view_op)


@declare_view(
    node="View",
    schemas=("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",),
    linear=True,
    samples=_view_samples,
    made_by="reshaped",
    copies=True,
    batching="view",
)
def reshape(input: Tensor, shape: Sizes):
    """`input` with another shape: a view where strides allow it, else a copy.

    >>> rushlight.arange(4).reshape(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    size = _plain_size(shape)
    if size is not None:
        try:
            return _reshaped(input, size)
        except ValueError:
            pass  # the text below says what is wrong
    return _reshaped(input, infer_size(shape, input.size, "reshape"))


def _reshaped(array, size):
    """A view, or an array of another shape over a copy by a prepared call."""
    kind = type(array)
    if kind is _ndarray and array.nbytes < _COPIED or array.flags.c_contiguous:
        return array.reshape(size)
    if kind is not _ndarray and kind is not MetaArray:  # a GPU's
        return array.reshape(size)
    try:
        return array.reshape(size, copy=False)
    except ValueError:
        if kind is MetaArray:
            return meta_array(infer_size(size, array.size), array.dtype)
        return turned(array, contiguous_format).reshape(size)


reshape.gradient(input=lambda grad, input_shape: grad.reshape(input_shape))


@overridable(as_given=True)
def reshape_as(self, other):
    """:meth:`reshape` with the shape of `other`."""
    return reshape(self, tuple(other._array.shape))


Tensor.reshape_as = reshape_as


def _expand_samples(make):
    return [((make(3, 1), (3, 4)), {}), ((make(2), (3, -1)), {}), ((make(), (2, 2)), {})]


@declare_view(
    schemas=("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",),
    linear=True,
    samples=_expand_samples,
    oracle="Tensor",
    made_by="expanded",
    batching="expand",
)
def expand(input: Tensor, size: Sizes, *, implicit=False):
    """`input` repeated along dimensions of extent one (and new leading ones) without copying."""
    if _plain_size(size) is None:
        size = normalize_size((size,) if not isinstance(size, tuple | list) else (tuple(size),))
    check_dims(len(size))
    lead = len(size) - input.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the "
            f"number of dimensions in the tensor ({input.ndim})"
        )
    target = []
    for i, n in enumerate(size):
        have = input.shape[i - lead] if i >= lead else None
        if n == -1 and have is None:
            raise RuntimeError(
                f"expand: the expanded size of the tensor (-1) isn't allowed in a leading, "
                f"non-existing dimension {i}"
            )
        if have is not None and n not in (-1, have) and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at "
                f"non-singleton dimension {i}.  Target sizes: {shape_text(size)}.  Tensor sizes: "
                f"{shape_text(input.shape)}"
            )
        target.append(have if n == -1 else n)
    if type(input) is MetaArray:
        own = zip(input.strides, input.shape, target[lead:], strict=True)
        steps = [0] * lead + [s if n == m else 0 for s, n, m in own]
        return restrided(input, target, steps)
    if type(input) is np.ndarray and input.flags.c_contiguous and input.dtype.isbuiltin == 1:
        # What broadcast_to does, ten times as fast.
        steps = [0] * lead + [
            s if n == m else 0
            for s, n, m in zip(input.strides, input.shape, target[lead:], strict=True)
        ]
        out = np.ndarray(tuple(target), input.dtype, input, 0, tuple(steps))
    else:
        out = np.broadcast_to(input, tuple(target), subok=True)
    if type(out) is np.ndarray and input.flags.writeable:  # unless elements are shown twice
        out.flags.writeable = all(s or n < 2 for n, s in zip(target, out.strides, strict=True))
    return out


expand.gradient(input=lambda grad, input_shape: grad.sum_to_size(input_shape))
Tensor.expand_as = _shaped_as("expanded", expand)


@composite(samples=[((2, 3, 4),), ((2, -1, -1),)])
def broadcast_to(input: Tensor, size: Sizes):
    """`input` expanded to `size`."""
    return expand(input, size)


@in_aten(
    "broadcast_tensors(Tensor[] tensors) -> Tensor(a)[]",
    call=lambda *tensors: ("broadcast_tensors", {"tensors": list(tensors)}),
    run={"broadcast_tensors": lambda tensors: broadcast_tensors(*tensors)},
)
@overridable
def broadcast_tensors(*tensors):
    """All tensors expanded to their common shape."""
    shape = tuple(broadcast_shapes(*[t.shape for t in tensors]))
    return tuple(expand(t, shape) for t in tensors)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to."""
    from rushlight.tensor.shape import Size

    try:
        return Size(np.broadcast_shapes(*[s if isinstance(s, int) else tuple(s) for s in shapes]))
    except ValueError:
        raise RuntimeError(
            "Shape mismatch: objects cannot be broadcast to a single shape: "
            + ", ".join(shape_text(s if not isinstance(s, int) else (s,)) for s in shapes)
        ) from None


def _check_expandable(input, size):
    """A size as a tuple, to which a sum can bring the input."""
    size = tuple(size)
    lead = input.ndim - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, input.shape[lead:], strict=True)):
        raise RuntimeError(
            f"size {{{shape_text(size)}}} is not expandable to size {{{shape_text(input.shape)}}}."
        )
    return size


def _sum_to_samples(make):
    return [((make(3, 4), (1, 4)), {}), ((make(2, 3), (3,)), {}), ((make(2, 3), ()), {})]


@op(
    linear=True, samples=_sum_to_samples, oracle="Tensor",
    meta=lambda input, size: (_check_expandable(input, size), dtype_of(input)),
    limited="unsigned complex eight", batching="sum_to_size",
)  # fmt: skip
def sum_to_size(input: Tensor, size: Sizes):
    """The sum over the dimensions in which `size` has extent one or none."""
    size = _check_expandable(input, size)
    lead = input.ndim - len(size)
    inner = [lead + i for i, n in enumerate(size) if n == 1 and input.shape[lead + i] != 1]
    axes = (*range(lead), *inner)
    if not axes and (size or input.dtype.kind not in "biu"):
        return input.reshape(size)
    from rushlight.ops.reduction.sums_and_extremes import _wide

    target = np.int64 if input.dtype.kind in "biu" else input.dtype
    return np.asarray(_wide(input).sum(axis=axes, keepdims=True), target).reshape(size)


def _prepared_sum_to_size(input, size):
    size = tuple(size)
    lead = input.ndim - len(size)
    if input.dtype.kind != "f" or lead < 0 or 0 in size:
        return None
    apart = [d for d in range(lead, input.ndim) if input.shape[d] != size[d - lead]]
    if any(size[d - lead] != 1 for d in apart):
        return None
    return totals.totalled("sum", input, (*range(lead), *apart), True, input.dtype, size)


sum_to_size.cpu(by_layout(of_copies(_prepared_sum_to_size), sum_to_size.op.body))
sum_to_size.gradient(input=lambda grad, input_shape: grad.expand(input_shape))


@declare_view(
    schemas=("permute(Tensor(a) self, int[] dims) -> Tensor(a)",),
    linear=True,
    made_by="permuted",
    samples=lambda make: [((make(2, 3, 4), (2, 0, 1)), {}), ((make(), ()), {})],
    batching="permute",
)
def permute(input: Tensor, dims: Sizes):
    """The dimensions in another order."""
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    try:
        return input.transpose(dims)
    except (TypeError, ValueError):
        pass  # the checks below say what is wrong
    if len(dims) != input.ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    order = tuple(wrap_dim(d, input.ndim) for d in dims)
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return input.transpose(order)


def _inverse(dims):
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    count = len(dims)
    order = [0] * count
    for i, d in enumerate(dims):
        order[d % count] = i
    return tuple(order)


permute.gradient(input=lambda grad, dims: grad.permute(_inverse(dims)))


@declare_view(
    schemas=(
        "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
        "transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
    ),
    linear=True, batching="dims",
    samples=lambda make: [((make(2, 3), 0, 1), {}), ((make(2, 3, 4), -1, 0), {})],
    aliases=("swapaxes", "swapdims"), keywords={"axis0": "dim0", "axis1": "dim1"}, inplace=True,
    made_by="swapped", aten="int", aten_inplace="default",
)  # fmt: skip
def transpose(input: Tensor, dim0, dim1):
    """Two dimensions exchanged."""
    if not input.ndim:
        wrap_dim(dim0, 0), wrap_dim(dim1, 0)
        return input.view()
    return input.swapaxes(wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim))


transpose.gradient(input=lambda grad, dim0, dim1: grad.transpose(dim0, dim1))


def _swapped(input):
    if input._array.ndim != 2:
        return NotImplemented
    return construction.swapped(input, 0, 1, (t.op, []))


@declare_view(
    linear=True, samples=lambda make: [((make(2, 3),), {}), ((make(3),), {}), ((make(),), {})],
    inplace=True, made_by=_swapped, batching="t",
)  # fmt: skip
def t(input: Tensor):
    """The transpose of a matrix; vectors and scalars are returned as they are."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.transpose()


t.gradient(input=lambda grad: grad.t())


def _matrix_transpose(self):
    if self.dim() < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.dim()}-D "
            "tensor."
        )
    return transpose(self, -2, -1)


_REVERSED = tuple(tuple(range(ndim))[::-1] for ndim in range(9))


def _transposed(self):
    """The dimensions in reverse order."""
    ndim = self._array.ndim
    order = _REVERSED[ndim] if ndim < len(_REVERSED) else tuple(range(ndim))[::-1]
    if self._node is None and type(self) is Tensor and not STATE.modes:
        out = construction.permuted(self, order, (permute.op, [order]))
        if out is not NotImplemented:
            return construction.looked_at(self, out) if STATE.inference else out
    return permute(self, order)


Tensor.T = property(_transposed)
Tensor.mT = property(_matrix_transpose)
Tensor.H = Tensor.mH = property(lambda self: _matrix_transpose(self).conj())


_moved = ShortView()


@composite(
    schemas=(
        "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
        "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
        "moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
        "moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    ),
    aliases=("moveaxis",),
    samples=lambda make: [(make(3, 4), 0, 1), (make(2, 3, 4), (0, 2), (-1, 0))],
    aten="int intlist",
    aten_aliases={"moveaxis": "int intlist"},
)
def movedim(input: Tensor, source, destination):
    """Dimensions moved to new positions; the others keep their order."""
    if (out := _moved.of_composite(input, source, destination)) is not NotImplemented:
        return out
    ndim = input.dim()
    start = wrap_dims(source, ndim, empty_is_all=False)
    end = wrap_dims(destination, ndim, empty_is_all=False)
    if len(start) != len(end):
        raise RuntimeError(f"movedim: source has {len(start)} dims and destination has {len(end)}")
    order = [d for d in range(ndim) if d not in start]
    for at, d in sorted(zip(end, start, strict=True)):
        order.insert(at, d)
    return _moved.miss(input, (source, destination), permute(input, tuple(order)))


movedim.op.paths.shared = (_moved,)


def _squeeze_samples(make):
    return [((make(1, 3, 1),), {}), ((make(1, 3, 1), 0), {}), ((make(1, 3, 1), (0, 2)), {})]


BEFORE = tuple((slice(None),) * dim for dim in range(6))  # index of the dimensions before one


def _squeezed(input, dim):
    """One dimension by machine code."""
    array = input._array
    if type(dim) is not int or not -array.ndim <= dim < array.ndim <= 6:
        return NotImplemented
    index = () if array.shape[dim] != 1 else (*BEFORE[dim % array.ndim], 0)
    return construction.indexed(input, index, (squeeze.op, [dim]))


def _form_of_squeeze(values):
    """Of all dims, of one or of several."""
    return 0 if values[1] is None else 2 if isinstance(values[1], tuple | list) else 1


def _kept_of_squeeze(node):
    return ("", "dim ", "dim[] ")[_form_of_squeeze(arguments(node))] + "self_sym_sizes"


@declare_view(
    node=numbered("Squeeze", _form_of_squeeze),
    schemas=(
        "squeeze(Tensor(a) self) -> Tensor(a)",
        "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
        "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    ),
    linear=True, samples=_squeeze_samples, inplace=True, made_by=_squeezed, known=ShortView(),
    spread=True, aten="default dim dims", aten_inplace="default dim dims", batching="squeeze",
    saves=_kept_of_squeeze,
)  # fmt: skip
def squeeze(input: Tensor, dim=None):
    """Without dimensions of extent one: all, or those named."""
    if dim is None:
        return input.squeeze()
    dims = wrap_dims(dim, input.ndim, empty_is_all=False)
    return input.squeeze(tuple([d for d in dims if input.shape[d] == 1]))


squeeze.gradient(input=lambda grad, input_shape: grad.reshape(input_shape))


_NEW_AT = tuple((*before, None) for before in BEFORE)  # index of a new dimension


def _unsqueezed(input, dim):
    ndim = input._array.ndim
    if type(dim) is not int or not -ndim - 1 <= dim <= ndim < len(_NEW_AT):
        return NotImplemented
    return construction.indexed(input, _NEW_AT[dim % (ndim + 1)], (unsqueeze.op, [dim]))


@declare_view(schemas=("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",),
    linear=True,
    samples=lambda make: [((make(3), 0), {}), ((make(3, 2), -1), {}), ((make(), 0), {})],
    inplace=True, made_by=_unsqueezed, known=ShortView(), batching="unsqueeze",
)  # fmt: skip
def unsqueeze(input: Tensor, dim):
    """With a new dimension of extent one at `dim`."""
    dim = wrap_dim(dim, input.ndim + 1)
    if input.ndim == MOST_DIMS:
        check_dims(input.ndim + 1)
    if type(input) is _ndarray and input.flags.c_contiguous:
        return input.reshape((*input.shape[:dim], 1, *input.shape[dim:]))
    if type(input) is not _ndarray and type(input) is not MetaArray:
        return input[_NEW_AT[dim] if dim < len(_NEW_AT) else (slice(None),) * dim + (None,)]
    step = input.itemsize if dim == input.ndim else input.shape[dim] * input.strides[dim]
    shape = (*input.shape[:dim], 1, *input.shape[dim:])
    strides = (*input.strides[:dim], step, *input.strides[dim:])
    return strided(input, shape, strides)


unsqueeze.gradient(input=lambda grad, dim: grad.squeeze(dim))


_WHOLE = (-1,)


@composite(
    schemas=("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",),
    samples=lambda make: [(make(),), (make(2, 3, 4), 1), (make(2, 3, 4), 0, -2)],
    aten="using_ints",
)
def flatten(input: Tensor, start_dim=0, end_dim=-1):
    """Dimensions `start_dim` to `end_dim` as one."""
    shape = input._array.shape
    ndim = len(shape)
    if end_dim == -1 and 0 <= start_dim <= 1 and ndim > start_dim + 1:  # as models do at their ends
        size = (shape[0], -1) if start_dim else _WHOLE
        if input._node is None and type(input) is Tensor:
            out = construction.reshaped(input, size, (reshape.op, [size]))
            if out is not NotImplemented:
                return construction.looked_at(input, out) if STATE.inference else out
        if not input._array.size:
            size = (*shape[:start_dim], math.prod(shape[start_dim:]))
        return reshape(input, size)
    start, end = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not ndim:
        return reshape(input, (1,))
    if start == end:
        return input
    return reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite(aliases=(), samples="unary")
def ravel(input: Tensor):
    """One dimension; a view of a tensor whose elements are row-major."""
    return reshape(input.contiguous(), (-1,))


@composite(
    schemas=("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",),
    samples=[(1, (2, 2)), (-1, (-1, 2))],
)
def unflatten(input: Tensor, dim, sizes):
    """One dimension split into several; one of `sizes` may be -1."""
    dim, shape = wrap_dim(dim, input.dim()), input._array.shape
    return reshape(input, (*shape[:dim], *infer_size(tuple(sizes), shape[dim]), *shape[dim + 1 :]))


def _scattered(base, _value, path):
    """A copy of `base` to write to: with its strides, unless the path goes by those of rows."""
    raw = any("raw_memory" in step.options for step, _ in path)
    return base.copy() if raw else same_strides(base)


@op(
    linear="+base,value", meta=_scattered, method=False, samples=lambda make: [],
    tested_by="tests/autograd/test_inplace_views.py", limited="unsigned complex eight", moves=True,
    batching="view_scatter",
)  # fmt: skip
def view_scatter(base: Tensor, value: Tensor, path):
    """A copy of `base`, with its strides, in which the view described by `path` holds `value`."""
    out = _scattered(base, value, path)
    _follow_array(path, out)[...] = value
    return out


def _follow_array(path, array):
    for step, values in path:
        array = step.body(array, *values[: step.positional - 1])
    return array


def follow(path, tensor):
    """The view described by a path, of a tensor."""
    for step, values in path:
        tensor = step.replay(tensor, values)
    return tensor


def _laid_out(grad, path):
    """A gradient with the strides that a path through raw memory counts on."""
    return grad.contiguous() if any("raw_memory" in step.options for step, _ in path) else grad


def _without(grad, path):
    grad = _laid_out(grad, path)
    zero = follow(path, grad).detach() * 0
    return view_scatter(grad, zero, path)


view_scatter.gradient(
    base=lambda grad, path: _without(grad, path),
    value=lambda grad, path: follow(path, _laid_out(grad, path)),
)


@in_aten("sym_size.int(Tensor self, int dim) -> SymInt")
def _sym_size(self, dim):
    """A size as a number: what graphs with sizes that may differ begin with."""
    return int(self.shape[dim])


@in_aten("sym_numel(Tensor self) -> SymInt")
def _sym_numel(self):
    return self.numel()


@in_aten("sym_stride.int(Tensor self, int dim) -> SymInt")
def _sym_stride(self, dim):
    return int(self.stride(dim))
