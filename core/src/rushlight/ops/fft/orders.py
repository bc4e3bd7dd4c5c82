"""The order in which dimensions are transformed, which is that of the result in memory."""

from __future__ import annotations

from rushlight.kernels.copying.assignment import by_rows
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.machine.meta_array import MetaArray, meta_array


def by_stride(input, dims):
    """Dimensions, those with the widest steps first."""
    if type(input) not in (np.ndarray, MetaArray):
        return tuple(dims)
    return tuple(sorted(dims, key=lambda d: -input.strides[d]))


def result_order(input, dims):
    """The dimensions of the result, outermost first: those that are not transformed by their
    steps, then `dims`."""
    return (*by_stride(input, [d for d in range(input.ndim) if d not in dims]), *dims)


def laid_out(input, dims, shape, dtype):
    """The result of :func:`walked` on the meta device."""
    order = result_order(input, tuple(d % input.ndim for d in dims))
    made = meta_array([shape[d] for d in order], BY_CODE[dtype.code])
    return made.transpose(np.argsort(order)) if order else made


def walked(input, dims, function, **options):
    """The transform over `dims`, in PyTorch's order: the others outside, by their steps, then
    `dims`, the last one innermost. That is the result's order in memory."""
    dims = tuple(d % input.ndim for d in dims)
    if type(input) is not np.ndarray or not dims:
        return function(input, axes=dims, **options)
    if input.flags.c_contiguous and dims == tuple(range(input.ndim - len(dims), input.ndim)):
        return by_rows(function(input, axes=dims, **options))
    order = result_order(input, dims)
    axes = tuple(range(input.ndim - len(dims), input.ndim))
    found = by_rows(function(input.transpose(order), axes=axes, **options))
    return found.transpose(np.argsort(order))


def last_given(input, dim):
    """Dimensions to transform, all but the last one by their steps."""
    return (*by_stride(input, dim[:-1]), dim[-1]) if dim else dim
