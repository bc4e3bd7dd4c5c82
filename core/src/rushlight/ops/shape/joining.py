"""Joining tensors: cat, stack and their relatives."""

from __future__ import annotations

from rushlight.compiler import xp
from rushlight.dtypes import promote_types
from rushlight.errors import shape_text, type_name
from rushlight.kernels.copying import moving
from rushlight.kernels.launch.prepared import Short
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.machine.memory import empty
from rushlight.machine.meta_array import MetaArray
from rushlight.ops._table.op import TensorList, composite, op
from rushlight.ops._table.rules import same
from rushlight.ops._table.shape_rules import joined, stacked
from rushlight.ops.indexing.slicing import split
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.memory_format import channels_last, channels_last_3d, empty_in, suggests
from rushlight.tensor.overriding import call_by_override, overridable
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import EXACT, Tensor


def _is_legacy_empty(array):
    return array.ndim == 1 and array.shape[0] == 0


def _check_cat(arrays, dim):
    first = next((a for a in arrays if not _is_legacy_empty(a)), arrays[0])
    dim = wrap_dim(dim, first.ndim)
    for i, array in enumerate(arrays):
        if not array.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
        if _is_legacy_empty(array):
            continue
        if array.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {array.ndim}"
            )
        for d, (a, b) in enumerate(zip(first.shape, array.shape, strict=True)):
            if d != dim and a != b:
                raise RuntimeError(
                    f"cat: Sizes of tensors must match except in dimension {dim}. Expected size "
                    f"{a} but got size {b} for tensor number {i} in the list: shapes "
                    f"{shape_text(first.shape)} and {shape_text(array.shape)}"
                )
    return dim


def _cat_meta(tensors, dim=0):
    _check_cat(tensors, dim)
    shape, dtype = joined(tensors, dim)
    kept = _not_legacy_empty(tensors)
    if all(a.flags.c_contiguous for a in kept) or not _are_channels_last(kept):
        return shape, dtype
    chosen = channels_last if len(shape) == 4 else channels_last_3d
    return empty_in(shape, BY_CODE[dtype.code], chosen, MetaArray)


def _not_legacy_empty(arrays):
    return [a for a in arrays if not _is_legacy_empty(a)] or arrays[:1]


def _cat_samples(make):
    return [(([make(2, 3), make(1, 3)], 0), {}), (([make(2, 1), make(2, 4)], -1), {})]


@op(
    schemas=("cat(Tensor[] tensors, int dim=0) -> Tensor",),
    linear="+tensors",
    meta=_cat_meta,
    rule=same,
    samples=_cat_samples,
    method=False,
    aliases=("concat", "concatenate"),
    autocast="widest",
    limited="unsigned complex eight",
    batching="cat",
    saves="dim",
)
def cat(tensors: TensorList, dim=0):
    """The tensors joined along an existing dimension.

    >>> rushlight.cat([rushlight.ones(2), rushlight.zeros(1)])
    tensor([1., 1., 0.])
    """
    if not tensors:
        raise ValueError("cat(): expected a non-empty list of Tensors")
    dim = _check_cat(tensors, dim)
    return _concatenated(_not_legacy_empty(tensors), dim)


def _are_channels_last(arrays):
    """Whether strides fall from the images over rows and columns to the channels, everywhere."""
    if arrays[0].ndim not in (4, 5):
        return False
    chosen = channels_last if arrays[0].ndim == 4 else channels_last_3d
    return all(suggests(array.shape, array.strides, chosen) for array in arrays)


def _concatenated(arrays, dim):
    """The arrays joined, by rows as in PyTorch or, where all of them are, channels last; NumPy
    would follow any order of memory."""
    if type(arrays[0]) is not np.ndarray or all(a.flags.c_contiguous for a in arrays):
        return np.concatenate(arrays, axis=dim)
    if _are_channels_last(arrays):
        order = (0, *range(2, arrays[0].ndim), 1)
        turned = [a.transpose(order) for a in arrays]
        return np.moveaxis(_by_rows(turned, order.index(dim)), -1, 1)
    return _by_rows(arrays, dim)


def _by_rows(arrays, dim):
    shape = list(arrays[0].shape)
    shape[dim] = sum(a.shape[dim] for a in arrays)
    out = empty(tuple(shape), np.result_type(*arrays))
    return np.concatenate(arrays, axis=dim, out=out)


def _key(arrays, dim):
    """What a prepared call of `cat` or `stack` follows from."""
    if len(arrays) == 2:
        a, b = arrays
        return a.shape, a.strides, b.shape, b.strides, a.dtype, b.dtype, dim
    return dim, *[(a.shape, a.strides, a.dtype) for a in arrays]


def _joining(prepare, general):
    """A kernel that joins dense arrays by one call, others by the `general` way."""
    short = Short(1, listed=True)
    known = short.layouts

    def call(tensors, dim=0):
        if len(tensors) > moving.MOST:
            return general(tensors, dim)
        key = _key(tensors, dim)
        try:
            found = known[key]
            short.miss(found, tensors, (dim,))
        except KeyError:
            found = known.keep(key, prepare(tensors, dim))
            short.learn(found, tensors, (dim,))
        except TypeError:
            return general(tensors, dim)
        if found is not None:
            result = found(*tensors)
            if result is not NotImplemented:
                return result
        return general(tensors, dim)

    call.general, call.short = general, short
    return call


def _prepared_cat(arrays, dim):
    if not arrays or any(_is_legacy_empty(a) for a in arrays):
        return None
    dim = _check_cat(arrays, dim)
    shape = list(arrays[0].shape)
    shape[dim] = sum(a.shape[dim] for a in arrays)
    if _are_channels_last(arrays) and not all(a.flags.c_contiguous for a in arrays):
        return None  # so is the result then
    return moving.joined(arrays, dim, shape)


cat.cpu(_joining(_prepared_cat, cat.op.body))


@cat.gradients("tensors")
def cat_gradient(grad, tensors_shape, dim, needs):
    """Each tensor gets its part of the gradient."""
    dim = dim % grad.dim()
    nothing = [shape == (0,) and grad.dim() != 1 for shape in tensors_shape]  # of any dimensions
    sizes = [
        0 if alone else shape[dim] for alone, shape in zip(nothing, tensors_shape, strict=True)
    ]
    parts = split(grad, sizes, dim)
    if not any(nothing):
        return (parts,)
    pairs = zip(nothing, parts, strict=True)
    return (tuple(part.reshape(-1) if alone else part for alone, part in pairs),)


def _check_stack(tensors):
    for i, array in enumerate(tensors):
        if array.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got "
                f"{shape_text(tensors[0].shape)} at entry 0 and {shape_text(array.shape)} at entry "
                f"{i}"
            )


def _stack_meta(tensors, dim=0):
    _check_stack(tensors)
    shape, dtype = stacked(tensors, dim)
    dim = wrap_dim(dim, len(shape))
    found = _cat_meta(tensors, dim) if dim < len(shape) - 1 else None
    if type(found) is not MetaArray:
        return shape, dtype
    try:
        return found.reshape(shape, copy=False)
    except ValueError:  # the elements of a tensor are apart: copied by rows
        return shape, dtype


def _stack_samples(make):
    return [(([make(2, 3), make(2, 3)], 0), {}), (([make(2), make(2)], -1), {})]


@op(
    schemas=("stack(Tensor[] tensors, int dim=0) -> Tensor",),
    linear="+tensors",
    meta=_stack_meta,
    rule=same,
    samples=_stack_samples,
    method=False,
    autocast="widest",
    limited="unsigned complex eight",
    batching="stack",
)
def stack(tensors: TensorList, dim=0):
    """The tensors, all of one shape, joined along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    _check_stack(tensors)
    dim = wrap_dim(dim, tensors[0].ndim + 1)
    if type(tensors[0]) is not np.ndarray or all(a.flags.c_contiguous for a in tensors):
        return np.stack(tensors, axis=dim)
    if dim == tensors[0].ndim:
        return _by_rows([np.expand_dims(a, dim) for a in tensors], dim)
    shape = tensors[0].shape
    return _concatenated(tensors, dim).reshape(*shape[:dim], len(tensors), *shape[dim:])


def _prepared_stack(arrays, dim):
    if not arrays or any(a.shape != arrays[0].shape for a in arrays):
        return None
    shape, dim = arrays[0].shape, wrap_dim(dim, arrays[0].ndim + 1)
    dense = all(a.flags.c_contiguous for a in arrays)
    if not dense and dim < len(shape) and _are_channels_last(arrays):
        return None  # the general path follows the order of memory
    return moving.joined(arrays, dim, (*shape[:dim], len(arrays), *shape[dim:]))


stack.cpu(_joining(_prepared_stack, stack.op.body))


@stack.gradients("tensors")
def stack_gradient(grad, dim, needs):
    """Each tensor gets its slice of the gradient."""
    return (grad.unbind(dim),)


def variadic(function):
    """Let a composite of one list of tensors take the tensors as separate arguments too."""
    op, of_list = function.op, function

    def call(*tensors, **kwargs):
        if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
            tensors = tensors[0]
        check_tensors(op.name, tensors)
        return of_list(tuple(tensors), **kwargs)

    call.__name__ = call.__qualname__ = op.name
    call.__doc__, call.__module__, call.op = function.__doc__, function.__module__, op
    op.function, op.variadic = call, True
    return call


def at_least(count):
    """A function that gives a tensor at least `count` dimensions, as NumPy places the new ones."""

    def widen(tensor):
        while tensor.dim() < count:
            tensor = tensor.unsqueeze(0) if count < 3 or tensor.dim() < 2 else tensor.unsqueeze(-1)
        return tensor

    return widen


def widened(tensors, count):
    """The arguments of an ``atleast`` function with at least `count` dimensions each."""
    many = len(tensors) == 1 and isinstance(tensors[0], (tuple, list))
    check_tensors(f"atleast_{count}d", tensors[0] if many else tensors)
    out = tuple(at_least(count)(t) for t in (tensors[0] if many else tensors))
    return out if many or len(out) != 1 else out[0]


@overridable
def atleast_1d(*tensors):
    """Tensors with at least one dimension; a tuple unless one tensor was given."""
    return widened(tensors, 1)


@overridable
def atleast_2d(*tensors):
    """Tensors with at least two dimensions; a tuple unless one tensor was given."""
    return widened(tensors, 2)


def check_list(name, tensors):
    """Refuse what is no list of tensors, or an empty one."""
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    check_tensors(name, tensors)


def check_tensors(name, tensors):
    """Refuse what is no tensor in a list of them."""
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor) and not xp.is_traced(tensor):
            raise TypeError(
                f"{name}(): expected Tensor as element {i} of the tensors, but got "
                f"{type_name(tensor)}"
            )


@composite(
    method=False,
    samples=lambda make: [([make(3), make(2)],), ([make(), make()],), ([make(3, 1), make(3, 2)],)],
)
def hstack(tensors):
    """Tensors joined along the second dimension (the first for vectors)."""
    check_list("hstack", tensors)
    tensors = [at_least(1)(t) for t in tensors]
    return cat(tensors, 0 if tensors[0].dim() == 1 else 1)


@composite(
    method=False,
    samples=lambda make: [
        ([make(3), make(2, 3)],),
        ([make(), make()],),
        ([make(1, 2, 1), make(2, 2, 1)],),
    ],
)
def vstack(tensors):
    """Tensors joined along the first dimension, vectors as rows."""
    check_list("vstack", tensors)
    return cat([at_least(2)(t) for t in tensors], 0)


@composite(
    method=False,
    samples=lambda make: [
        ([make(3), make(3)],),
        ([make(3, 2), make(3, 2)],),
        ([make(2, 2, 1), make(2, 2, 3)],),
    ],
)
def dstack(tensors):
    """Tensors joined along the third dimension; vectors as rows, matrices as slices."""
    check_list("dstack", tensors)
    return cat([at_least(3)(t) for t in tensors], 2)


def _grids(tensors):
    """Vectors as tensors of one dimension for each of them."""
    shape = tuple(t.numel() for t in tensors)
    grids = []
    for i, tensor in enumerate(tensors):
        column = tensor.reshape((1,) * i + (-1,) + (1,) * (len(shape) - i - 1))
        grids.append(column.expand(shape))
    return grids


def meshgrid(*tensors, indexing=None):
    """Coordinate grids of vectors, ``indexing="ij"`` (default) or ``"xy"``."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if tensors and type(tensors[0]) not in EXACT:
        found = call_by_override(meshgrid, tensors, {"indexing": indexing})
        if found is not NotImplemented:
            return found
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    grids = _grids(tensors)
    if swap:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


def _block_meta(tensors):
    """The shape, and the dtype that all promote to."""
    _, dtype = joined(tensors)
    return (sum(a.shape[0] for a in tensors), sum(a.shape[1] for a in tensors)), dtype


@op(
    linear="+tensors",
    meta=_block_meta,
    rule=same,
    samples=lambda make: [(([make(2, 3), make(1, 1)],), {})],
    method=False,
    in_aten=False,
    limited="unsigned complex eight",
)
def _block_diag(tensors: TensorList):
    """Matrices one after the other on the diagonal of one of zeros."""
    shape, _ = _block_meta(tensors)
    found, row, column = np.zeros(shape, tensors[0].dtype), 0, 0
    for block in tensors:
        rows, columns = block.shape
        found[row : row + rows, column : column + columns] = block
        row, column = row + rows, column + columns
    return found


@_block_diag.gradients("tensors")
def _blocks(grad, tensors_shape, needs):
    """Each matrix gets its block of the gradient."""
    found, row, column = [], 0, 0
    for rows, columns in tensors_shape:
        found.append(grad[row : row + rows, column : column + columns])
        row, column = row + rows, column + columns
    return (found,)


@overridable
def block_diag(*tensors):
    """A block-diagonal matrix of 2-D (or smaller) tensors.

    >>> rushlight.block_diag(rushlight.tensor([[1, 2]]), rushlight.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    from rushlight.ops.creation.tensors import zeros

    for i, tensor in enumerate(tensors):
        if tensor.dim() > 2:
            raise RuntimeError(
                f"block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                f"{tensor.dim()} dimensions"
            )
    if not tensors:
        return zeros(1, 0)
    if not (STATE.modes or STATE.levels):
        return _block_diag([t if t.dim() == 2 else at_least(2)(t) for t in tensors])
    dtype = tensors[0].dtype
    for tensor in tensors[1:]:
        dtype = promote_types(dtype, tensor.dtype)
    blocks = [at_least(2)(t) for t in tensors]
    width, rows, at = sum(b.shape[1] for b in blocks), [], 0
    for block in blocks:
        left = zeros(block.shape[0], at, dtype=dtype, device=block._device)
        rest = width - at - block.shape[1]
        right = zeros(block.shape[0], rest, dtype=dtype, device=block._device)
        rows.append(cat([left, block, right], 1))
        at += block.shape[1]
    return cat(rows, 0)
