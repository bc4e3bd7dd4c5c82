"""Views as copies, and copies of a tensor with a view replaced."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.errors import shape_text
from rushlight.ops._table.op import composite
from rushlight.ops.indexing.items import _slice
from rushlight.ops.indexing.slicing import as_strided, diagonal, narrow, select, split
from rushlight.ops.shape.complex_views import view_as_complex, view_as_real
from rushlight.ops.shape.views import view_scatter
from rushlight.tensor.dispatch import stack
from rushlight.tensor.memory_format import contiguous_format
from rushlight.tensor.shape import as_int, wrap_dim
from rushlight.tensor.tensor import Tensor


# ----------------------------------------------------------------------------------- views replaced
def _replaced(name, input, src, take):
    """`input` with `src` in place of the view that `take` makes of a tensor."""
    target = take(input.detach())
    path = target._path
    if tuple(src.shape) != tuple(target.shape):
        raise RuntimeError(
            f"{name}: expected src to have a size equal to the part of self it replaces. src size "
            f"= {shape_text(src.shape)}, part size = {shape_text(target.shape)}"
        )
    return view_scatter(input, src, path)


@composite(samples=lambda make: [(make(3, 4), make(3)), (make(2, 3, 3), make(3, 1), -1, 0, 2)])
def diagonal_scatter(input: Tensor, src: Tensor, offset=0, dim1=0, dim2=1):
    """A copy with `src` on the diagonal that :func:`diagonal` gives."""
    return _replaced("diagonal_scatter", input, src, lambda x: diagonal(x, offset, dim1, dim2))


@composite(samples=lambda make: [(make(3, 4), make(3), 1, -2), (make(3, 4), make(4), 0, 1)])
def select_scatter(input: Tensor, src: Tensor, dim, index):
    """A copy with `src` at one index of `dim`."""
    return _replaced("select_scatter", input, src, lambda x: select(x, dim, index))


def _slice_index(input, dim, start, end, step):
    dim, step = wrap_dim(dim, input.dim()), as_int(step, "step", "slice")
    if step <= 0:
        raise RuntimeError(f"slice step must be positive, got {step}")
    return (*(slice(None),) * dim, slice(start, end, step))


@composite(
    samples=lambda make: [(make(3, 4), make(2, 4), 0, 1), (make(3, 4), make(3, 2), -1, 0, 4, 2)]
)
def slice_scatter(input: Tensor, src: Tensor, dim=0, start=None, end=None, step=1):
    """A copy with `src` at the slice ``start:end:step`` of `dim`.

    >>> rushlight.slice_scatter(rushlight.zeros(4), rushlight.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    index = _slice_index(input, dim, start, end, step)
    return _replaced("slice_scatter", input, src, lambda x: _slice(x, index))


def _scattered_in_storage(input, src, size, stride, offset):
    """`src` in place of a view of the storage, for an input that is not in it row by row
    from the start."""
    steps, start = input.stride(), input.storage_offset()
    reach = sum((n - 1) * step for n, step in zip(input.shape, steps, strict=True))
    flat = as_strided(input, (start + reach + 1 if input.numel() else 0,), (1,), 0)
    offset = start if offset is None else offset
    written = _replaced(
        as_strided_scatter.op.name, flat, src, lambda x: as_strided(x, size, stride, offset)
    )
    return as_strided(written, tuple(input.shape), steps, start)


# PyTorch gives a gradient to the elements that `src` replaces, and none to the others.
@composite(
    differs=("gradient",),
    samples=lambda make: [(make(3, 4), make(2, 2), (2, 2), (4, 1), 1)],
    schemas=(
        "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
        "SymInt? storage_offset=None) -> Tensor",
    ),
)
def as_strided_scatter(input: Tensor, src: Tensor, size, stride, storage_offset=None):
    """A copy with `src` at the elements that :func:`as_strided` gives of the copy, which is in
    memory as `input` does. Elements that `src` replaces have no part in the result: their gradient
    is zero (PyTorch's as_strided_scatter gives these elements a gradient, and none to the others).
    """
    wrapped = stack.levels and any(getattr(t, "_level", None) is not None for t in (input, src))
    if not wrapped and not (input.is_contiguous() and input.storage_offset() == 0):
        return _scattered_in_storage(input, src, tuple(size), tuple(stride), storage_offset)
    base, offset = input.contiguous(), storage_offset or 0
    if wrapped:
        from rushlight.ops.creation.tensors import arange

        places = arange(base.numel(), device=base._device)
        places = places.as_strided(tuple(size), tuple(stride), offset)
        flat = base.reshape(-1).index_put((places.reshape(-1),), src.reshape(-1))
        return flat.reshape(tuple(base.shape))
    return _replaced(
        "as_strided_scatter", base, src, lambda x: as_strided(x, tuple(size), tuple(stride), offset)
    )


# PyTorch reads the storage of `input`, so only a slice that is everything can be compared.
@composite(method=False, samples=lambda make: [(make(3, 4).detach(),) * 2], differentiable=False)
def slice_inverse(input: Tensor, src: Tensor, dim=0, start=None, end=None, step=1):
    """The tensor `src` whose slice is `input`: `src` itself."""
    index = _slice_index(src, dim, start, end, step)
    if tuple(_slice(src.detach(), index).shape) != tuple(input.shape):
        raise RuntimeError(
            f"slice_inverse: input has shape {shape_text(input.shape)}, which is not that of the "
            f"slice of src, {shape_text(src.shape)}"
        )
    return src


# ---------------------------------------------------------------------------------- views as copies
def _copied(view):
    """A copy of a view, row by row in memory."""
    return view.clone(memory_format=contiguous_format)


@composite(method=False, samples="unary")
def alias_copy(input: Tensor):
    """A copy of `input`."""
    return _copied(input)


@composite(method=False, samples=[((2, 2), (4, 1), 1)])
def as_strided_copy(input: Tensor, size, stride, storage_offset=None):
    """A copy of :func:`as_strided`."""
    return _copied(as_strided(input, size, stride, storage_offset))


@composite(method=False, samples=[(), (1, 1, 0)])
def diagonal_copy(input: Tensor, offset=0, dim1=0, dim2=1):
    """A copy of :func:`diagonal`."""
    return _copied(diagonal(input, offset, dim1, dim2))


@composite(method=False, samples=[((2, 3, 4),), ((2, -1, -1),)])
def expand_copy(input: Tensor, size, *, implicit=False):
    """A copy of ``input.expand(size)``."""
    return _copied(input.expand(size))


@composite(samples=[(0, 1, 2), (-1, 0, 0)])
def narrow_copy(input: Tensor, dim, start, length):
    """A copy of :func:`narrow`."""
    if not input.dim():
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if dim >= input.dim():
        raise RuntimeError(
            f"narrow_copy: Expected dim < {input.dim()}, the dimensions of the input, but got {dim}"
        )
    dim = wrap_dim(dim, input.dim())
    size = input.shape[dim]
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    return _copied(narrow(input, dim, start, length))


@composite(method=False, samples=[((1, 0),)])
def permute_copy(input: Tensor, dims):
    """A copy of :func:`permute`."""
    return _copied(input.permute(dims))


@composite(method=False, samples=[(0, 1), (-1, -2)], aten="int_out")
def select_copy(input: Tensor, dim, index):
    """A copy of :func:`select`."""
    return _copied(select(input, dim, index))


@composite(method=False, samples=[(), (1, 0, 4, 2)], aten="Tensor Tensor_out")
def slice_copy(input: Tensor, dim=0, start=None, end=None, step=1):
    """A copy of the slice ``start:end:step`` of `dim`."""
    return _copied(_slice(input, _slice_index(input, dim, start, end, step)))


@composite(
    schemas=("split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",),
    method=False,
    samples=[(2,), (3, 1)],
    aten="Tensor Tensor_out",
)
def split_copy(input: Tensor, split_size, dim=0):
    """Copies of the pieces of :func:`split`."""
    return tuple(_copied(piece) for piece in split(input, split_size, dim))


@composite(
    schemas=("split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",),
    method=False,
    samples=[([1, 2],), ([3, 1], 1)],
)
def split_with_sizes_copy(input: Tensor, split_sizes, dim=0):
    """Copies of pieces of given sizes."""
    return tuple(_copied(piece) for piece in split(input, list(split_sizes), dim))


@composite(
    schemas=(
        "squeeze_copy(Tensor self) -> Tensor",
        "squeeze_copy.dim(Tensor self, int dim) -> Tensor",
        "squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
    ),
    method=False,
    samples=lambda make: [(make(2, 1, 3),), (make(2, 1, 3), 1), (make(1, 3, 1), (0, 2))],
    aten="default dim dims out dim_out dims_out",
)
def squeeze_copy(input: Tensor, dim=None):
    """A copy of :func:`squeeze`."""
    return _copied(input.squeeze(dim))


@composite(method=False, samples=lambda make: [(make(3),), (make(3, 4),)])
def t_copy(input: Tensor):
    """A copy of :func:`t`."""
    return _copied(input.t())


@composite(method=False, samples=[(0, 1), (-1, -2)], aten="int_out")
def transpose_copy(input: Tensor, dim0, dim1):
    """A copy of :func:`transpose`."""
    return _copied(input.transpose(dim0, dim1))


@composite(
    schemas=("unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",),
    method=False,
    samples=[(), (1,)],
    aten="int_out",
)
def unbind_copy(input: Tensor, dim=0):
    """Copies of the slices along `dim`."""
    return tuple(_copied(piece) for piece in input.unbind(dim))


@composite(method=False, samples=[(1, 2, 2), (0, 3, 1)])
def unfold_copy(input: Tensor, dimension, size, step):
    """A copy of ``input.unfold(dimension, size, step)``."""
    return _copied(input.unfold(dimension, size, step))


@composite(method=False, samples=[(0,), (-1,)])
def unsqueeze_copy(input: Tensor, dim):
    """A copy of :func:`unsqueeze`."""
    return _copied(input.unsqueeze(dim))


@composite(method=False, samples=[((2, 6),), ((-1,),)], aten="default dtype out dtype_out")
def view_copy(input: Tensor, size=None, dtype=None):
    """A copy of ``input.view(size)`` or ``input.view(dtype)``."""
    if dtype is not None or isinstance(size, dtypes.dtype):
        return _copied(input.view(size if dtype is None else dtype))
    return input.reshape(size).clone(memory_format=contiguous_format)


@composite(method=False, samples=lambda make: [(make.complex(3, 4),)])
def view_as_real_copy(input: Tensor):
    """A copy of :func:`view_as_real`."""
    return _copied(view_as_real(input))


@composite(method=False, samples=lambda make: [(make(3, 2),)])
def view_as_complex_copy(input: Tensor):
    """A copy of :func:`view_as_complex`."""
    return _copied(view_as_complex(input))
