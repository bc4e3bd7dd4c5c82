"""Distances of rows, and bilinear forms, as core ATen graphs have them."""

from __future__ import annotations

from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.fixed_sizes import is_fixed
from rushlight.library.operators import lookup
from rushlight.ops.shape.joining import cat

_FEW = 25  # rows, up to which distances are not computed by a product
_BY_PRODUCT = 1  # as ATen numbers the ways to compute Euclidean distances


def _pdist(self, p=2.0):
    given = () if p == 2.0 else (p,)
    return exact(lookup("aten")._pdist_forward.default, self, *given)


def _cdist(x1, x2, p=2.0, compute_mode=None):
    sizes = x1.shape[-2], x2.shape[-2]
    if p == 2.0 and not compute_mode and not is_fixed(sizes):
        return NotImplemented
    many = max(sizes) > _FEW and not compute_mode
    if p != 2.0 or not (many or compute_mode == _BY_PRODUCT):
        return exact(lookup("aten")._cdist_forward.default, x1, x2, p, compute_mode)
    return _by_product(x1, x2)


def _by_product(x1, x2):
    """Roots of ``x1 ** 2 - 2 * x1 @ x2 + x2 ** 2``, the three by one product."""
    aten = lookup("aten")
    squares = [aten.sum.dim_IntList(x**2, [-1], True) for x in (x1, x2)]
    left_ones, right_ones = (aten.full_like.default(square, 1) for square in squares)
    left = cat([x1 * -2, squares[0], left_ones], -1)
    right = cat([x2, right_ones, squares[1]], -1)
    found = aten.clamp.default(left @ right.transpose(-2, -1), 0).sqrt()
    return found.view(*found.shape)


def _bilinear(input1, input2, weight, bias=None):
    left, right = (x.reshape(-1, x.shape[-1]) for x in (input1, input2))
    dims = [1, 3], [0], [1, 2], [2, 3]
    found = exact(lookup("aten")._trilinear.default, left, weight, right, *dims)
    found = found.view(*input1.shape[:-1], weight.shape[0])
    return found if bias is None else found + bias


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.pdist.default: _pdist,
        aten.cdist.default: _cdist,
        aten.bilinear.default: _bilinear,
    }
