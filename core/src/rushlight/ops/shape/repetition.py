"""Tensors and their elements repeated."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.errors import shape_text
from rushlight.kernels.copying import moving
from rushlight.kernels.launch.prepared import by_layout
from rushlight.machine import memory, np
from rushlight.ops._table.op import Sizes, composite, op
from rushlight.ops._table.shape_rules import repeated
from rushlight.tensor.dispatch import readable
from rushlight.tensor.shape import check_dims, wrap_dim
from rushlight.tensor.tensor import Tensor


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
)
def repeat_interleave(input: Tensor, repeats=None, dim=None, *, output_size=None):
    """Each element (or slice along `dim`) repeated in place. Of numbers of repeats alone: each
    position that often.

    >>> rushlight.repeat_interleave(rushlight.tensor([1, 0, 2]))
    tensor([0, 2, 2])
    """
    from rushlight.ops.creation.tensors import arange, beside

    if repeats is None:
        _check_positions(input, dim)
        repeats, dim = input, 0
        input = arange(repeats.shape[0], dtype=repeats._dtype, device=repeats._device)
    if dim is None:
        input, dim = input.flatten(), 0
    if type(repeats) is int and repeats > 1:
        return _each_repeated(input, repeats, wrap_dim(dim, input.dim()))
    if isinstance(repeats, Tensor):
        if not readable(repeats) and not repeats.is_cuda:
            raise RuntimeError(
                "repeat_interleave: the numbers of repeats must be there to be read, and be the "
                "same for all examples of vmap: the result's shape depends on them"
            )
        repeats = repeats.cpu()._array
        if repeats.size and repeats.min() < 0:
            raise RuntimeError("repeats can not be negative")
    try:
        index = np.repeat(np.arange(input.shape[dim]), repeats)
    except MemoryError as error:
        raise memory.refused(error) from None
    index = beside(input, index) if index.size else arange(0, device=input._device)
    return input.index_select(dim, index)


def _check_positions(repeats, dim):
    """Repeats without an input are a vector of whole numbers."""
    if dim is not None:
        raise TypeError("repeat_interleave() missing required argument: 'repeats' (pos 2)")
    if repeats.dim() != 1:
        raise RuntimeError(
            f"repeat_interleave only accept 1D vector as repeat, got {repeats.dim()} dimensions"
        )
    if repeats._dtype not in (dtypes.int32, dtypes.int64):
        raise NotImplementedError(
            f"repeat_interleave: not implemented for repeats of {repeats._dtype}; use int64"
        )
