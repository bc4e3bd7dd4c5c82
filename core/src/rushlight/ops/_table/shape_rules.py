"""Shape rules that several declarations share: what the meta device gives instead of a result.

A rule takes what the op's body takes (arrays without memory) and gives ``(shape, dtype)`` of a
row-major result, an array without memory where it is laid out otherwise, or a list of those.
"""

from __future__ import annotations

import functools
import math

from rushlight import dtypes
from rushlight.compiler.layout import ordered_strides, output_order
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.machine.meta_array import MetaArray, meta_array
from rushlight.tensor.memory_format import empty_iterated, empty_like
from rushlight.tensor.shape import wrap_dim, wrap_dims


def like(input, *_args, **_options):
    """The shape and dtype of the first argument."""
    return input.shape, dtype_of(input)


def alike(input, *_args, **_options):
    """The shape, dtype and, where it is dense, the strides of the first argument."""
    return empty_like(input, input.dtype)


def laid_out(shape, array_dtype, arrays):
    """A result of a shape, without gaps in the order that the operands give elementwise ops."""
    order = output_order(shape, arrays)
    if order is None:
        return meta_array(shape, array_dtype)
    return meta_array(shape, array_dtype, ordered_strides(shape, order, array_dtype.itemsize))


def broadcast(input, *others):
    """Operands broadcast, in the dtype of the first one."""
    arrays = input, *others
    return laid_out(np.broadcast_shapes(*[a.shape for a in arrays]), input.dtype, arrays)


def paired(input, other):
    """The broadcast shape of two arrays in the first one's dtype, row-major."""
    return np.broadcast_shapes(input.shape, other.shape), dtype_of(input)


def walked(input, *_args, **_options):
    """The shape and dtype of the first argument, without gaps in the order of its strides."""
    return empty_iterated(input.shape, input.dtype, (input.strides,), meta_array)


def scalar(input, *_args, **_options):
    """One number of the first argument's dtype."""
    return (), dtype_of(input)


def shaped(position):
    """The dtype of the first argument and the shape that an argument names."""

    def rule(*args):
        return tuple(args[position]), dtype_of(args[0])

    return rule


def same_length(input, *_args, **_options):
    """Values like the first argument, and an index for each."""
    return [like(input), (input.shape, dtypes.int64)]


def reduced_shape(shape, dim, keepdim):
    """The shape that is left of one when dimensions are reduced."""
    dims = wrap_dims(dim, len(shape))
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in dims)


def reduced_to(dtype):
    """Reduced over dimensions, in a given dtype."""

    def rule(input, dim=None, keepdim=False, **_options):
        return reduced_shape(input.shape, dim, keepdim), dtype

    return rule


def truth(input, dim=None, keepdim=False, **_options):
    """Reduced over dimensions to bools; uint8 stays uint8."""
    found = dtype_of(input)
    return reduced_shape(input.shape, dim, keepdim), (
        found if found is dtypes.uint8 else dtypes.bool_
    )


def real_reduced(input, dim=None, keepdim=False):
    """Reduced over dimensions, in the real dtype."""
    return reduced_shape(input.shape, dim, keepdim), dtype_of(input).to_real()


def chosen(input, dim=-1, keepdim=False):
    """An element chosen along one dimension, and its index."""
    shape = reduced_shape(input.shape, dim, keepdim)
    return [(shape, dtype_of(input)), (shape, dtypes.int64)]


def chosen_after(input, _k, dim=-1, keepdim=False):
    """:func:`chosen`, where another argument comes before the dimension."""
    return chosen(input, dim, keepdim)


def repeated(input, repeats):
    """Every dimension so many times as long."""
    lead = len(repeats) - input.ndim
    shape = (1,) * lead + input.shape
    return tuple(n * r for n, r in zip(shape, repeats, strict=True)), dtype_of(input)


def _promoted(tensors):
    return functools.reduce(dtypes.promote_types, [dtype_of(t) for t in tensors])


def joined(tensors, dim=0):
    """Tensors one after the other; empty vectors do not count."""
    real = [t for t in tensors if t.shape != (0,)] or list(tensors)
    shape = list(real[0].shape)
    axis = wrap_dim(dim, len(shape))
    shape[axis] = sum(t.shape[axis] for t in real)
    return tuple(shape), _promoted(tensors)


def stacked(tensors, dim=0):
    """Tensors side by side along a new dimension."""
    shape = list(tensors[0].shape)
    shape.insert(wrap_dim(dim, len(shape) + 1), len(tensors))
    return tuple(shape), _promoted(tensors)


def indexed(input, index):
    """Advanced indexing. Bool masks need their values, which the meta device does not have."""
    stand_ins = []
    for item in index if type(index) is tuple else (index,):
        if type(item) is MetaArray and item.dtype.kind == "b":
            raise NotImplementedError(
                "indexing by a bool tensor on the meta device: how many elements it picks depends "
                "on its values; use the CPU"
            )
        meta = type(item) is MetaArray
        stand_ins.append(np.zeros(item.shape, np.int64) if meta else item)
    flags = np.broadcast_to(np.zeros((), bool), input.shape)
    return flags[tuple(stand_ins)].shape, dtype_of(input)


def padded(input, pad, *_value):
    """Padding (or cropping) of the last dimensions, given innermost first."""
    shape = list(input.shape)
    for i in range(len(pad) // 2):
        shape[-1 - i] += pad[2 * i] + pad[2 * i + 1]
    return tuple(shape), dtype_of(input)


def diagonals(input, offset=0, dim1=-2, dim2=-1):
    """Vectors on the diagonals of matrices."""
    size = input.shape[-1] + abs(offset)
    shape, ndim = list(input.shape[:-1]), input.ndim + 1
    for dim in sorted((wrap_dim(dim1, ndim), wrap_dim(dim2, ndim))):
        shape.insert(dim, size)
    return tuple(shape), dtype_of(input)


def rows_of(weight, indices, *_options):
    """Rows looked up by number."""
    return (*indices.shape, weight.shape[1]), dtype_of(weight)


def bags_of(weight, indices, offsets, mode, per_sample_weights, include_last_offset, *_options):
    """A row for every bag; where bags start, what they hold, and the rows of maxima."""
    bags = indices.shape[0] if offsets is None else offsets.shape[0] - bool(include_last_offset)
    found = [(bags, weight.shape[1]), (bags + 1,), (bags,)]
    found.append((bags if mode == "max" else 0, weight.shape[1]))
    return list(zip(found, (dtype_of(weight), *[dtypes.int64] * 3), strict=True))


def entropy(input, target, weight, reduction, *_options):
    """Losses (or one), a number for every sample, and what a mean divides by."""
    shape = target.shape if reduction == "none" else ()
    return [(shape, dtype_of(input)), (target.shape, dtype_of(input)), ((), dtypes.float64)]


def batch_normalized(input, *_options):
    """The result, and a mean and an inverse deviation for every channel."""
    channels = (input.shape[1],), dtype_of(input)
    return [like(input), channels, channels]


def layer_normalized(input, size, *_options):
    """The result, and a mean and an inverse deviation for every run of `size` elements."""
    runs = (math.prod(input.shape) // size if size else 0,), dtype_of(input)
    return [like(input), runs, runs]


def group_normalized(input, groups, *_options):
    """The result, and a mean and an inverse deviation for every group of channels of an image."""
    runs = (input.shape[0] * groups,), dtype_of(input)
    return [like(input), runs, runs]


def rms_normalized(input, size, *_options):
    """The result, and an inverse root mean square for every run of `size` elements."""
    return layer_normalized(input, size)[:2]


def rms_gradients(grad, input, _weight, _rstd, size):
    """Gradients of the input and of the weight of a run's elements."""
    return layer_gradients(grad, input, None, None, None, size)[:2]


def batch_gradients(_grad, input, *_saved):
    """Gradients of the input and of what every channel has."""
    channels = (input.shape[1],), dtype_of(input)
    return [like(input), channels, channels]


def layer_gradients(_grad, input, _weight, _mean, _rstd, size):
    """Gradients of the input and of what the elements of a run have."""
    run = (size,), dtype_of(input)
    return [like(input), run, run]


def table_gradient(output, indices, count, *_options):
    """The gradient of a table of so many rows."""
    return (count, output.shape[-1]), dtype_of(output)


def indexed_numbers(grad, weight, indices, *_options):
    """A number for every index."""
    return indices.shape, dtype_of(grad)


def histogram_of(input, bins=100, *_bounds):
    """A count for every bin."""
    return (bins,), dtype_of(input)


def in_range(input, dim, *_args, **_options):
    """The check that a tensor has the dimension that the argument behind it names."""
    wrap_dim(dim, input.ndim)


def checked(check, rule):
    """A shape rule behind a check of the arguments: what the body refuses has no shape either."""

    def meta(*args, **kwargs):
        check(*args, **kwargs)
        return rule(*args, **kwargs)

    return meta
