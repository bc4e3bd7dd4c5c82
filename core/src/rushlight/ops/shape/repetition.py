"""Tensors and their elements repeated."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.errors import argument_error, shape_text
from rushlight.kernels.copying import moving
from rushlight.kernels.launch.prepared import by_layout, nothing
from rushlight.machine import memory, np
from rushlight.machine.arrays import BY_CODE
from rushlight.ops._calls.direct import unrecorded
from rushlight.ops._table.op import Sizes, composite, op
from rushlight.ops._table.shape_rules import repeated
from rushlight.tensor import construction
from rushlight.tensor.dispatch import readable
from rushlight.tensor.shape import check_dims, wrap_dim
from rushlight.tensor.tensor import Tensor, add_methods, make_tensor


@op(
    schemas=("repeat(Tensor self, SymInt[] repeats) -> Tensor",),
    linear=True,
    meta=repeated,
    samples=lambda make: [((make(2, 3), (2, 2)), {}), ((make(3), (2, 1, 2)), {})],
    oracle="Tensor",
    limited="unsigned complex eight",
    batching="repeat",
)
def repeat(input: Tensor, repeats: Sizes):
    """`input` tiled `repeats` times along each dimension."""
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    if len(repeats) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            f"tensor: {len(repeats)} repeats for a tensor of shape {shape_text(input.shape)}"
        )
    check_dims(len(repeats))
    return np.tile(input, repeats)


def _prepared_repeat(input, repeats):
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    if len(repeats) < input.ndim or any(type(n) is not int or n < 0 for n in repeats):
        return None
    lead = len(repeats) - input.ndim
    shape, strides = (1,) * lead + input.shape, (0,) * lead + input.strides
    window = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    steps = [n for s in strides for n in (0, s)]
    result = [n * m for n, m in zip(repeats, shape, strict=True)]
    return moving.copied(input, window, steps, 0, result)


repeat.cpu(by_layout(_prepared_repeat, repeat.op.body))


def _repeat_gradient(grad, input_shape, repeats):
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    shape = (1,) * (len(repeats) - len(input_shape)) + tuple(input_shape)
    pairs = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    return grad.reshape(pairs).sum(tuple(range(0, len(pairs), 2))).reshape(input_shape)


repeat.gradient(input=_repeat_gradient)


@composite(schemas=("tile(Tensor self, SymInt[] dims) -> Tensor",), samples=[((2,),), ((2, 1, 3),)])
def tile(input: Tensor, dims: Sizes):
    """`input` tiled; missing leading repeats are 1."""
    return repeat(input, (1,) * (input.dim() - len(dims)) + tuple(dims))


def _repeated_sizes(draw, input, repeats, dim=None, output_size=None):
    """As many as the repeats are together, unless `output_size` says so."""
    if not isinstance(repeats, Tensor):
        return NotImplemented
    shape, dim = (list(input.shape), dim % input.dim()) if dim is not None else ([0], 0)
    shape[dim] = draw(dim=dim) if output_size is None else output_size
    return input.new_empty(shape)


def _each_repeated(input, repeats, dim):
    """Each slice along `dim` that often: the gradient is a sum over a dimension."""
    before, behind = input.shape[: dim + 1], input.shape[dim + 1 :]
    found = input.unsqueeze(dim + 1).expand(*before, repeats, *behind)
    return found.contiguous().flatten(dim, dim + 1)


def _prepared_each(input, repeats, dim):
    """Each slice along `dim`, or each element where it is None, repeated in place."""
    axis = input.ndim if dim is None else dim + 1
    if axis == input.ndim and input.nbytes * repeats >= moving.LARGE:
        return None  # elements by vectors, as a copy of an expanded view takes them
    window = [*input.shape[:axis], repeats, *input.shape[axis:]]
    steps = [*input.strides[:axis], 0, *input.strides[axis:]]
    shape = input.shape[:dim], input.shape[axis - 1 : axis], input.shape[axis:]
    result = (input.size * repeats,)
    if dim is not None:
        result = (*shape[0], shape[1][0] * repeats, *shape[2])
    return moving.copied(input, window, steps, 0, result)


_each = by_layout(_prepared_each, nothing)


def _each_at_once(input, repeats, dim):
    """The repetition of a tensor that is in no graph by one call, where a kernel takes its layout;
    else NotImplemented."""
    if not unrecorded(input) or dim is not None and type(dim) is not int:
        return NotImplemented
    array = input._array
    if dim is not None:
        dim = wrap_dim(dim, array.ndim)
    if not array.ndim or not array.size:
        return NotImplemented
    out = _each.short.call(input, repeats, dim)
    if out is not NotImplemented:
        return construction.inferred(out)
    found = _each(array, repeats, dim)
    return found if found is NotImplemented else make_tensor(found, input._dtype)


@composite(
    schemas=(
        "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
        "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? "
        "output_size=None) -> Tensor",
        "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? "
        "output_size=None) -> Tensor",
    ),
    samples=[(2,), (2, 1), (3, -1)],
    aten="Tensor self_Tensor self_int Tensor_out",
    value_sized=_repeated_sizes,
    method=False,
    alone="repeats",
)
def repeat_interleave(input: Tensor, repeats=None, dim=None, *, output_size=None):
    """Each element (or slice along `dim`) repeated in place, as often as `repeats`, a number or a
    vector of int32 or int64 numbers, says. Of numbers of repeats alone: each position that often.

    `output_size` is how many there will be along the dimension; RuntimeError where it is not.

    >>> rushlight.repeat_interleave(rushlight.tensor([1, 0, 2]))
    tensor([0, 2, 2])
    >>> rushlight.repeat_interleave(rushlight.tensor([5, 6]), 2)
    tensor([5, 5, 6, 6])
    """
    if repeats is None:
        return _positions(input, dim, output_size)
    if type(repeats) is int and repeats > 0 and output_size is None:
        found = _each_at_once(input, repeats, dim)
        if found is not NotImplemented:
            return found
    if dim is None:
        input, dim = input if input.dim() == 1 else input.flatten(), 0
    else:
        dim = wrap_dim(dim, input.dim())
    if not isinstance(repeats, Tensor):
        repeats = _as_count(repeats)
        if type(output_size) is int is type(repeats) and output_size != repeats * input.size(dim):
            raise RuntimeError(
                "repeat_interleave: Invalid output_size, expected "
                f"{repeats * input.size(dim)} but got {output_size}"
            )
        return _each_repeated(input, repeats, dim)
    _check_repeats(repeats, input.size(dim))
    index = _indices(repeats, input.shape[dim], output_size)
    return input.index_select(dim, _beside(input, index))


def _repeated(
    self, repeats: int | Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Method :func:`rushlight.repeat_interleave`: `repeats` must be given."""
    if output_size is None:
        return repeat_interleave(self, repeats, dim)
    return repeat_interleave(self, repeats, dim, output_size=output_size)


add_methods(repeat_interleave=_repeated)


def _as_count(repeats):
    """A whole number of repeats."""
    if isinstance(repeats, bool) or not hasattr(repeats, "__index__"):
        raise argument_error(repeat_interleave.op.name, "repeats", "int or Tensor", repeats)
    if repeats < 0:
        raise RuntimeError(f"repeat_interleave: Repeats must be non-negative, got {repeats}")
    return repeats


def _positions(repeats, dim, output_size):
    """Each position of a vector of repeats, that often."""
    if dim is not None:
        raise TypeError("repeat_interleave() missing required argument: 'repeats' (pos 2)")
    if repeats.dim() != 1:
        raise RuntimeError(
            f"repeat_interleave only accept 1D vector as repeat, got {repeats.dim()} dimensions"
        )
    _check_repeats(repeats, repeats.size(0))
    found = _indices(repeats, repeats.shape[0], output_size)
    return _beside(repeats, found.astype(BY_CODE[repeats._dtype.code], copy=False))


def _beside(tensor, indices):
    """Indices as a tensor on the device of another."""
    from rushlight.ops.creation.tensors import beside

    return beside(tensor, indices)


def _check_repeats(repeats, count):
    """Numbers of repeats are whole, and one for all or one for each."""
    if repeats._dtype not in (dtypes.int32, dtypes.int64):
        raise NotImplementedError(
            f"repeat_interleave: not implemented for repeats of {repeats._dtype}; use int64"
        )
    if repeats.dim() > 1:
        raise RuntimeError("repeat_interleave: repeats must be 0-dim or 1-dim tensor")
    if repeats.dim() and repeats.size(0) not in (1, count):
        raise RuntimeError(
            "repeat_interleave: repeats must have the same size as input along dim, but got "
            f"repeats.size(0) = {repeats.size(0)} and input.size(0) = {count}"
        )


def _indices(repeats, count, output_size):
    """Each of `count` positions, that often, as an array."""
    if not readable(repeats) and not repeats.is_cuda:
        raise RuntimeError(
            "repeat_interleave: the numbers of repeats must be there to be read, and be the "
            "same for all examples of vmap: the result's shape depends on them"
        )
    repeats = repeats.cpu()._array
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeats can not be negative")
    try:
        found = np.repeat(np.arange(count), repeats)
    except MemoryError as error:
        raise memory.refused(error) from None
    if type(output_size) is int and output_size != found.size:
        raise RuntimeError(
            "repeat_interleave: allocated size does not match required size: output_size is "
            f"{output_size}, the repeats make {found.size}"
        )
    return found
