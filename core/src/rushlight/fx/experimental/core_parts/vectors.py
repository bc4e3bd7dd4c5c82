"""Products of vectors and small products of matrices as core ATen graphs have them."""

from __future__ import annotations

from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import totalled
from rushlight.fx.experimental.core_parts.pointwise import real
from rushlight.fx.experimental.core_parts.shapes import broadcast, range_of
from rushlight.library.operators import lookup
from rushlight.ops.linalg.other_products import tensordot
from rushlight.tensor.shape import wrap_dim

_AXES = 3  # of vectors that have a cross product


def _dot(self, tensor):
    return totalled(self * tensor)


def _mv(self, vec):
    return totalled(self * vec, [1])


def _outer(self, vec2):
    return self.reshape(self.shape[0], 1) * vec2


def _inner(self, other):
    if not self.dim() or not other.dim():
        return self * other
    return tensordot(self, other, dims=([-1], [-1]))


def _vecdot(x, y, *, dim=-1):
    return totalled(x * y, [dim])


def _addr(self, vec1, vec2, *, beta=1, alpha=1):
    product = _outer(vec1, vec2) * alpha
    if beta == 0:
        return product
    wide = lookup("aten").expand.default(self, [vec1.shape[0], vec2.shape[0]])
    return wide * beta + product


def _kron(self, other):
    ndim = max(self.dim(), other.dim())
    shapes = [[1] * (ndim - each.dim()) + list(each.shape) for each in (self, other)]
    rows = self.reshape([n for size in shapes[0] for n in (size, 1)])
    columns = other.reshape([n for size in shapes[1] for n in (1, size)])
    sizes = [a * b for a, b in zip(*shapes, strict=True)]
    return (rows * columns).view(*sizes)


def _cross(self, other, dim=None):
    if dim is None:
        dim = next((i for i, size in enumerate(self.shape) if size == _AXES), None)
        if dim is None:
            return NotImplemented
    return _linalg_cross(self, other, dim=dim)


def _linalg_cross(self, other, *, dim=-1):
    aten = lookup("aten")
    self, other = broadcast([self, other])
    dim = wrap_dim(dim, self.dim())
    order = range_of(0, _AXES, self)

    def turned(input, by):
        index = exact(aten.remainder.Scalar, order + by, _AXES)
        return aten.index_select.default(input, dim, index)

    forward = turned(self, 1) * turned(other, 2)
    return forward - turned(self, 2) * turned(other, 1)


def _multi_dot(tensors):
    if len(tensors) > _AXES or any(each.dim() != 2 for each in tensors):
        return NotImplemented
    mm = lookup("aten").mm.default
    if len(tensors) == 2:
        found = mm(*tensors)
    else:
        a, b, c = tensors
        (n, k), (m, p) = a.shape, c.shape
        first = n * k * m + n * m * p <= k * m * p + n * k * p
        found = mm(mm(a, b), c) if first else mm(a, mm(b, c))
    return found.view(*found.shape)


def _matrix_power(self, n):
    if n < 1:
        return NotImplemented
    if n == _AXES:
        return self @ self @ self
    found, square = None, self
    while True:
        if n % 2:
            found = square if found is None else found @ square
        n //= 2
        if not n:
            return found.clone() if found is self else found
        square = square @ square


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.dot.default: real(_dot),
        aten.vdot.default: real(_dot),
        aten.mv.default: _mv,
        aten.outer.default: _outer,
        aten.inner.default: _inner,
        aten.linalg_vecdot.default: real(_vecdot),
        aten.addr.default: _addr,
        aten.kron.default: _kron,
        aten.cross.default: _cross,
        aten.linalg_cross.default: _linalg_cross,
        aten.linalg_multi_dot.default: _multi_dot,
        aten.linalg_matrix_power.default: _matrix_power,
    }
