"""The gradient of a product: the products of all other elements, zeros included."""

from __future__ import annotations

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.prepared import by_layouts
from rushlight.kernels.scan_sort.lines import prepare_others
from rushlight.ops._calls.direct import on_arrays, tensor_of
from rushlight.ops.reduction.sums_and_extremes import restore
from rushlight.ops.shape.complex_views import conj_of
from rushlight.ops.shape.joining import cat
from rushlight.tensor.shape import wrap_dim

__all__ = ["prod_gradient"]

_others = by_layouts(prepare_others, lambda input, grad, dim: None)


def prod_gradient(grad, input, dim, keepdim):
    """By one call where nothing is recorded, else by exclusive products from both ends."""
    if not input.dim():
        return grad.reshape(())
    if dim is None:
        return prod_gradient(grad.reshape(1), input.reshape(-1), 0, True).reshape(input.shape)
    if not input.numel():
        return input * restore(grad, tuple(input.shape), dim, keepdim)
    if on_arrays(grad, input):
        dim = wrap_dim(dim, input.dim())
        found = _others(input._array, by_rows(grad._array), dim)
        if found is not None:
            return tensor_of(found)
    before = _exclusive_product(input, dim)
    after = _exclusive_product(input.flip(dim), dim).flip(dim)
    return restore(grad, tuple(input.shape), dim, keepdim) * conj_of(before * after)


def _exclusive_product(input, dim):
    one = input.narrow(dim, 0, 1) * 0 + 1
    shifted = input.narrow(dim, 0, input.shape[dim] - 1)
    return cat((one, shifted), dim).cumprod(dim)
