"""Parts of tensors as views: narrow, select, diagonal, unfold, split and their relatives."""

from __future__ import annotations

import functools
import itertools

from rushlight.autograd.mode import mode
from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.machine.arrays import strided
from rushlight.machine.memory import start_of
from rushlight.machine.meta_array import MetaArray, in_block
from rushlight.ops._calls.known_views import ShortView
from rushlight.ops._table.arrays import one_of_many
from rushlight.ops._table.node_names import arguments
from rushlight.ops._table.op import Position, Whole, composite
from rushlight.ops._table.op import view as declare_view
from rushlight.ops.indexing.windows_in_levels import picked, tensor_below
from rushlight.ops.shape.views import BEFORE, view_scatter
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE, stack
from rushlight.tensor.shape import as_int, wrap_dim
from rushlight.tensor.storage import _root
from rushlight.tensor.tensor import EXACT, Tensor, add_methods


def _narrowed(input, dim, start, length):
    """Ints in range, by machine code."""
    shape = input._array.shape
    if type(dim) is not int or not -len(shape) <= dim < len(shape) <= 6:
        return NotImplemented
    if type(start) is not int or type(length) is not int or start < 0 or length < 0:
        return NotImplemented
    if start + length > shape[dim]:
        return NotImplemented
    index = *BEFORE[dim % len(shape)], slice(start, start + length)
    return construction.indexed(input, index, (narrow.op, [dim, start, length]))


@declare_view(
    node="Slice",
    schemas=("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",),
    linear=True,
    batching="dims",
    samples=lambda make: [((make(3, 4), 1, 1, 2), {}), ((make(3, 4), 0, 0, 0), {})],
    made_by=_narrowed,
    aten="default Tensor",
    saves="dim end: self_sym_sizes start step:",
    saves_as={"end": lambda read: read("start") + read("length"), "step": 1},
)
def narrow(input: Tensor, dim, start: Position, length):
    """The slice of `length` elements from `start` along `dim`."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    if isinstance(start, Tensor):
        if start.dim() or start._dtype.category != 1:
            raise RuntimeError(
                f"start must be an 0-dim integral Tensor; got {start._dtype} of shape "
                f"{shape_text(start.shape)}"
            )
        start = start.item()
    start = as_int(start, "start", "narrow")
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    begin = start + size if start < 0 else start
    if not 0 <= begin <= size or length < 0 or begin + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return input[(slice(None),) * dim + (slice(begin, begin + length),)]


def _narrow_gradient(grad, input_shape, dim, start, length):
    from rushlight.ops.creation.tensors import zeros

    base = zeros(input_shape, dtype=grad._dtype, device=grad._device)
    return view_scatter(base, grad, ((narrow.op, [dim, start, length]),))


narrow.gradient(input=_narrow_gradient)


def _selected(input, dim, index):
    """Ints in range, by machine code."""
    ndim = input._array.ndim
    if type(dim) is not int or not -ndim <= dim < ndim <= 6:
        return NotImplemented
    if type(index) is not int:
        return NotImplemented
    return construction.indexed(input, (*BEFORE[dim % ndim], index), (select.op, [dim, index]))


@declare_view(
    schemas=("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",),
    linear=True,
    batching="dims",
    samples=lambda make: [((make(3, 4), 1, 2), {}), ((make(3, 4), 0, -1), {})],
    made_by=_selected,
    aten="int",
)
def select(input: Tensor, dim, index):
    """The slice at one index of `dim`, without that dimension."""
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, input.ndim)
    index = as_int(index, "index", "select")
    if not -input.shape[dim] <= index < input.shape[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {shape_text(input.shape)} at "
            f"dimension {dim}"
        )
    return input[(slice(None),) * dim + (index, ...)]


def _select_gradient(grad, input_shape, dim, index):
    from rushlight.ops.creation.tensors import zeros

    base = zeros(input_shape, dtype=grad._dtype, device=grad._device)
    return view_scatter(base, grad, ((select.op, [dim, index]),))


select.gradient(input=_select_gradient)


def _diagonal_window(input, offset, dim1, dim2):
    """Ints in range, by machine code."""
    array = input._array
    ndim = array.ndim
    if not type(offset) is type(dim1) is type(dim2) is int or not array.size:
        return NotImplemented
    if not -ndim <= dim1 < ndim or not -ndim <= dim2 < ndim:
        return NotImplemented
    first, second = dim1 % ndim, dim2 % ndim
    shape, strides = array.shape, array.strides
    rows, columns, down, across = shape[first], shape[second], strides[first], strides[second]
    if offset >= 0:
        columns, start = columns - offset, offset * across
    else:
        rows, start = rows + offset, -offset * down
    length = rows if rows < columns else columns
    if first == second or length <= 0:
        return NotImplemented
    sizes, steps = (length,), (down + across,)
    if ndim > 2:
        rest = [d for d in range(ndim) if d != first and d != second]
        sizes, steps = (*[shape[d] for d in rest], length), (*[strides[d] for d in rest], *steps)
    step = diagonal.op, [offset, dim1, dim2]
    return construction.windowed(input, sizes, steps, start, step)


@declare_view(
    linear=True,
    batching="dims",
    samples=lambda make: [((make(3, 4),), {}), ((make(3, 4), 1, -1, 0), {})],
    made_by=_diagonal_window,
    known=ShortView(),
)
def diagonal(input: Tensor, offset=0, dim1=0, dim2=1):
    """The diagonal over two dimensions, as the last dimension."""
    first, second = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    out = input.diagonal(offset, first, second)
    if input.flags.writeable:
        out.flags.writeable = True  # NumPy hands diagonals out read-only
    return out


def diagonal_gradient(grad, input_shape, offset, dim1, dim2):
    """Zeros with `grad` on a diagonal."""
    from rushlight.ops.creation.tensors import zeros

    base = zeros(input_shape, dtype=grad._dtype, device=grad._device)
    return view_scatter(base, grad, ((diagonal.op, [offset, dim1, dim2]),))


diagonal.gradient(input=diagonal_gradient)


def _unfold_windows(input, dimension, size, step):
    """Ints in range, by machine code."""
    array = input._array
    ndim = array.ndim
    if not type(dimension) is type(size) is type(step) is int:
        return NotImplemented
    if not -ndim <= dimension < ndim or step <= 0 or not 0 < size <= array.shape[dimension]:
        return NotImplemented
    sizes, strides, dim = list(array.shape), list(array.strides), dimension % ndim
    sizes[dim] = (sizes[dim] - size) // step + 1
    sizes.append(size)
    strides.append(strides[dim])
    strides[dim] *= step
    taken = unfold.op, [dimension, size, step]
    return construction.windowed(input, tuple(sizes), tuple(strides), 0, taken)


@declare_view(
    linear=True,
    batching="dims",
    samples=lambda make: [((make(6),), {"dimension": 0, "size": 3, "step": 2})],
    oracle="Tensor",
    made_by=_unfold_windows,
    known=ShortView(),
)
def unfold(input: Tensor, dimension, size, step):
    """Windows of `size` elements every `step` along `dimension`; the window is the last one."""
    dim = wrap_dim(dimension, input.ndim)
    if not input.ndim and size in (0, 1):
        return input.reshape(1)[:size]
    if size > (input.shape[dim] if input.ndim else 1):
        raise RuntimeError(
            f"maximum size for tensor at dimension {dim} is "
            f"{input.shape[dim] if input.ndim else 1} but size is {size}"
        )
    shape, steps = list(input.shape), list(input.strides)
    shape[dim] = (shape[dim] - size) // step + 1
    shape, steps = (*shape, size), (*steps[:dim], steps[dim] * step, *steps[dim + 1 :], steps[dim])
    return strided(input, shape, steps)


def _unfold_gradient(grad, input_shape, dimension, size, step):
    from rushlight.ops.fft.spectrogram import _overlap_add

    if not input_shape:
        return grad.sum().reshape(())
    dim = dimension % len(input_shape)
    if dim == len(input_shape) - 1:
        return _overlap_add(grad, step, input_shape[-1])
    return _overlap_add(grad.movedim(dim, -2), step, input_shape[dim]).movedim(-1, dim)


unfold.gradient(input=_unfold_gradient)


@declare_view(
    linear=True,
    node="AsStrided",
    method=False,
    tested_by="as_strided",
    raw_memory=True,
    samples=lambda make: [((make(3, 4), (2, 2), (4, 1), 1, (4, 1), 0), {})],
    inplace="_as_strided_",
    saves="size stride",
    aten_call=lambda input, size, stride, storage_offset, *layout: (
        "as_strided",
        {
            "self": input,
            "size": list(size),
            "stride": list(stride),
            "storage_offset": storage_offset,
        },
    ),
)
def _as_strided(input: Tensor, size, stride, storage_offset, input_stride, input_offset):
    """A view of the storage; where the input is in it is for the gradient to know."""
    owner, item = _root(input), input.itemsize
    if 0 in size and storage_offset >= 0:  # no elements: nothing that could be out of bounds
        storage_offset = min(storage_offset, owner.nbytes // item)
    reach = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else -1
    if storage_offset < 0 or (storage_offset + reach + 1) * item > owner.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {shape_text(size)}, strides {shape_text(stride)}, storage offset "
            f"{storage_offset} are out of bounds for storage of size {owner.nbytes}"
        )
    whole = owner if owner.flags.c_contiguous else owner.T
    steps = tuple(s * item for s in stride)
    if type(input) is MetaArray:
        return in_block(owner, size, input.dtype, storage_offset * item, steps)
    return np.ndarray(size, input.dtype, whole, storage_offset * item, steps)


def _as_strided_gradient(
    grad, input_shape, size, stride, storage_offset, input_stride, input_offset
):
    """Add up in a stand-in for the storage, and read it as the input does. Elements that the input
    holds several times share their gradient."""
    from rushlight.ops.creation.tensors import arange, ones, zeros

    def last(shape, strides, offset):
        steps = ((n - 1) * s for n, s in zip(shape, strides, strict=True))
        return offset + sum(steps) if 0 not in shape else 0

    count = 1 + max(
        last(size, stride, storage_offset), last(input_shape, input_stride, input_offset)
    )
    places = arange(count, device=grad._device)
    index = places.as_strided(size, stride, storage_offset).reshape(-1)
    total = zeros(count, dtype=grad._dtype, device=grad._device).index_add(
        0, index, grad.reshape(-1)
    )
    own = places.as_strided(input_shape, input_stride, input_offset).reshape(-1)
    if 0 in input_stride:
        held = zeros(count, dtype=grad._dtype, device=grad._device).index_add(
            0, own, ones(own.shape, dtype=grad._dtype, device=grad._device)
        )
        total = total / held.clamp_min(1)
    return total[own].reshape(input_shape)


_as_strided.gradient(input=_as_strided_gradient)


def _strided_values(input, size, stride, storage_offset):
    own = (start_of(input._array) - start_of(_root(input._array))) // input._array.itemsize
    offset = own if storage_offset is None else storage_offset
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(
            f"as_strided: mismatch in length of strides and shape: size {shape_text(size)} has "
            f"{len(size)} dimensions, stride {shape_text(stride)} has {len(stride)}"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: "
            f"{shape_text(stride)}"
        )
    return size, stride, offset, input.stride(), own


def _window_at_once(input, size=None, stride=None, storage_offset=None, *rest):
    """A window on a tensor that is in no graph, is no view, and whose array is all of its memory,
    so that the layout tells which windows there are; else NotImplemented."""
    if type(size) is not tuple or type(stride) is not tuple or len(size) != len(stride) or rest:
        return NotImplemented
    if type(input) not in EXACT or STATE.modes or STATE.levels or input._node is not None:
        return NotImplemented
    array, start = input._array, 0 if storage_offset is None else storage_offset
    if type(array) is not np.ndarray or input._base is not None or not array.flags.c_contiguous:
        return NotImplemented
    if array.base is not None and type(array.base) is not bytearray:
        return NotImplemented
    if type(start) is not int or start < 0:
        return NotImplemented
    reach, item, steps = start + 1, array.itemsize, []
    for n, s in zip(size, stride, strict=True):
        if type(n) is not int or type(s) is not int or n < 1 or s < 0:
            return NotImplemented
        reach += (n - 1) * s
        steps.append(s * item)
    if reach > array.size:
        return NotImplemented
    step = _as_strided.op, [size, stride, start, input.stride(), 0]
    out = construction.windowed(input, size, tuple(steps), start * item, step)
    if out is not NotImplemented and STATE.inference and mode.inference:
        construction.seen(input, out)
    return out


@composite(
    samples=lambda make: [((make(3, 4), (2, 2), (4, 1), 1), {})],
    at_once=_window_at_once,
    schemas=(
        "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, "
        "SymInt? storage_offset=None) -> Tensor(a)",
    ),
)
def as_strided(input: Tensor, size, stride, storage_offset=None):
    """A view of the storage with any shape, strides (in elements) and offset."""
    below = input
    if stack.levels and getattr(input, "_level", None) is not None:
        below = tensor_below(input)
        if below is None:
            return picked(input, tuple(size), tuple(stride), storage_offset or 0)
    return _as_strided(input, *_strided_values(below, size, stride, storage_offset))


def _as_strided_inplace(self, size, stride, storage_offset=None):
    """In-place version of :func:`rushlight.as_strided`."""
    return self._as_strided_(*_strided_values(self, size, stride, storage_offset))


add_methods(as_strided_=_as_strided_inplace)


@declare_view(
    schemas=("unbind.int(Tensor(a) self, int dim=0) -> Tensor(a)[]",),
    linear=True,
    batching="dims",
    samples=lambda make: [((make(3, 4),), {}), ((make(3, 4), 1), {})],
    aten="int",
    saves="dim",
)
def unbind(input: Tensor, dim=0):
    """The slices along `dim`, as a tuple of views."""
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, input.ndim)
    if type(input) is np.ndarray and input.ndim > 1:
        return list(np.moveaxis(input, dim, 0) if dim else input)
    lead = (slice(None),) * dim
    return [input[(*lead, i, ...)] for i in range(input.shape[dim])]


def _stack_pieces(grads, input_shape, dim):
    from rushlight.ops.creation.tensors import zeros
    from rushlight.ops.shape.joining import stack

    dim = dim % len(input_shape)
    shape = tuple(n for i, n in enumerate(input_shape) if i != dim)
    present = next(g for g in grads if g is not None)
    none = zeros(shape, dtype=present._dtype, device=present._device)
    return stack([none if g is None else g for g in grads], dim)


def unbind_gradient(grad, input_shape, dim):
    """Gradient of `unbind`; of one slice only it comes as a tensor."""
    grads = grad if isinstance(grad, list) else [grad]
    return _stack_pieces(grads, input_shape, dim)


def _unbound(input, dim):
    if type(dim) is not int:
        return NotImplemented
    return construction.parts(input, dim, None, one_of_many(unbind.op.name))


unbind.op.options["made_by"] = _unbound
unbind.gradient(input=unbind_gradient)
unbind.op.outputs = 0  # as many as the dimension is long


def _split_form(input, split_size_or_sections, dim=0):
    given = {"self": input, "dim": dim}
    if isinstance(split_size_or_sections, int):
        return "split", given | {"split_size": split_size_or_sections}
    return "split_with_sizes", given | {"split_sizes": split_size_or_sections}


def _split_name(node):
    """By equal parts, or by the sizes of all."""
    sizes = isinstance(arguments(node)[1], tuple | list)
    return "SplitWithSizesBackward0" if sizes else "SplitBackward0"


def _kept_of_split(node):
    sizes = "split_sizes" if "Sizes" in _split_name(node) else "split_size"
    return f"dim self_sym_sizes {sizes}:split_size_or_sections"


@declare_view(
    node=_split_name,
    aten_call=_split_form,
    schemas=(
        "split.Tensor(Tensor(a) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
        "split_with_sizes(Tensor(a) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
    ),
    linear=True,
    batching="dims",
    samples=lambda make: [
        ((make(5, 2), 2), {}),
        ((make(5, 2), [1, 4]), {}),
        ((make(2, 6), 4, 1), {}),
    ],
    keywords={"split_size": "split_size_or_sections", "tensor": "input"},
    aten="Tensor sizes default",
    saves=_kept_of_split,
)
def split(input: Tensor, split_size_or_sections: Whole, dim=0):
    """Pieces of a size, or of given sizes, along `dim`, as a tuple of views."""
    dim, size = wrap_dim(dim, input.ndim), None
    extent = input.shape[dim] if input.ndim else 0
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    sections = split_size_or_sections
    if not isinstance(sections, (tuple, list)):
        size = as_int(sections, "split_size", "split")
        if size < 0 or (size == 0 and extent):
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={size}"
            )
        sections = [size] * (extent // size) if size else [0]
        if size and extent % size:
            sections.append(extent % size)
        sections = sections or [0]
    if sum(sections) != extent:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's size "
            f"at dimension {dim}), but got split_sizes={list(sections)}"
        )
    pieces, start = [], 0
    for length in sections:
        pieces.append(input[(slice(None),) * dim + (slice(start, start + length),)])
        start += length
    return pieces


def split_gradient(grad, input_shape, split_size_or_sections, dim):
    """Gradient of `split`: the pieces joined, zeros where none arrived."""
    from rushlight.ops.creation.tensors import zeros
    from rushlight.ops.shape.joining import cat

    grads = grad if isinstance(grad, list) else [grad]
    dim, sections = dim % len(input_shape), split_size_or_sections
    if not isinstance(sections, (tuple, list)):
        extent = input_shape[dim]
        sections = [min(sections, extent - i) for i in range(0, extent, sections)] or [0]
    present = next(g for g in grads if g is not None)

    def none(n):
        shape = (*input_shape[:dim], n, *input_shape[dim + 1 :])
        return zeros(shape, dtype=present._dtype, device=present._device)

    found = zip(grads, sections, strict=True)
    return cat([none(n) if g is None else g for g, n in found], dim)


def _split_whole(input, split_size_or_sections, dim):
    sections = sizes = split_size_or_sections
    if type(dim) is not int or not -input._array.ndim <= dim < input._array.ndim:
        return NotImplemented
    if type(sections) is int:
        extent = input._array.shape[dim]
        if sections <= 0 or not extent:
            return NotImplemented
        sizes = (sections,) * (extent // sections)
        if extent % sections:
            sizes = (*sizes, extent % sections)
    elif type(sections) is list:
        sizes = tuple(sections)
    return construction.parts(input, dim, sizes, one_of_many("split"))


split.op.options["made_by"] = _split_whole
split.gradient(input=split_gradient)
split.op.outputs = 0


@composite(
    schemas=("chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor(a)[]",),
    samples=[(2,), (3, -1)],
)
def chunk(input: Tensor, chunks, dim=0):
    """At most `chunks` pieces of equal size along `dim` (the last may be smaller); `chunks` of
    them where that has no elements."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    shape = input._array.shape
    size = -(-shape[wrap_dim(dim, len(shape))] // chunks)
    if size == 0:
        return split(input, [0] * chunks, dim)
    if input._node is None and type(input) is Tensor and not STATE.modes:
        found = _split_whole(input, size, dim)
        if found is not NotImplemented:
            return construction.looked_at(input, found) if STATE.inference else found
    return split(input, size, dim)


@functools.lru_cache(maxsize=256)
def _equal_parts(extent, count):
    """So many slices whose lengths differ by at most one, longer ones first."""
    if count <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {count}")
    small, larger = divmod(extent, count)
    edges = [small * i + min(i, larger) for i in range(count + 1)]
    return [slice(start, end) for start, end in itertools.pairwise(edges)]


@composite(
    schemas=(
        "tensor_split.sections(Tensor(a) self, SymInt sections, int dim=0) -> Tensor(a)[]",
        "tensor_split.indices(Tensor(a) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
    ),
    keywords={
        name: "indices_or_sections"
        for name in ("sections", "indices", "tensor_indices_or_sections")
    },
    aten="sections indices tensor_indices_or_sections",
    samples=[(2,), ((1, 3), 1), (5, -1)],
)
def tensor_split(input: Tensor, indices_or_sections, dim=0):
    """Pieces at given indices, or a number of pieces whose sizes differ by at most one."""
    shape, parts = input._array.shape, indices_or_sections
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, got a 0-d one")
    dim = wrap_dim(dim, len(shape))
    if isinstance(parts, Tensor):
        parts = parts.tolist()
    if isinstance(parts, int):
        pieces = _equal_parts(shape[dim], parts)
    else:
        extent = shape[dim]
        edges = [0, *[min(max(i + extent if i < 0 else i, 0), extent) for i in parts], extent]
        pieces = [slice(start, max(start, end)) for start, end in itertools.pairwise(edges)]
    if dim:
        before = (slice(None),) * dim
        pieces = [(*before, piece) for piece in pieces]
    return tuple([input[piece] for piece in pieces])
