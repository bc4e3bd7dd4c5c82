"""Tensors of numbers, diagonals, and elements in another order, as core ATen graphs have them."""

from __future__ import annotations

from rushlight.dtypes import bool_, float32, get_default_dtype, int64
from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.fixed_sizes import is_fixed
from rushlight.fx.experimental.core_parts.numbers import below, chosen, scaled
from rushlight.fx.experimental.core_parts.pointwise import real
from rushlight.fx.experimental.core_parts.shapes import broadcast, range_of, sliced
from rushlight.library.operators import lookup
from rushlight.ops.shape.joining import cat, stack
from rushlight.tensor.shape import wrap_dim

_TURNS = 4  # by a right angle each, until a plane is as before


# --------------------------------------------------------------------------------------- diagonals
def _diag(self, diagonal=0):
    if self.dim() == 1:
        return _diag_embed(self, diagonal)
    return self.diagonal(diagonal).clone()


def _diag_embed(self, offset=0, dim1=-2, dim2=-1):
    ndim = self.dim() + 1
    dim1, dim2 = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if dim1 > dim2:
        dim1, dim2, offset = dim2, dim1, -offset
    size = self.shape[-1]
    if offset:
        named = {"dtype": self.dtype, "device": self.device}
        empty = lookup("aten").full.default([*self.shape[:-1], abs(offset)], 0, **named)
        self = cat([empty, self] if offset > 0 else [self, empty], -1)
        size += abs(offset)
    wide = self.unsqueeze(dim1)
    order = [i for i in range(ndim) if i != ndim - 1]
    order.insert(dim2, ndim - 1)
    wide = lookup("aten").permute.default(wide, order)
    columns = range_of(0, size, self, int64)
    rows = range_of(offset, size + offset, self, int64).unsqueeze(-1)
    shape = [size if i in (dim1, dim2) else 1 for i in range(ndim)]
    return chosen((columns == rows).view(*shape), wide, 0)


def _eye(n, m=None, **named):
    columns = n if m is None else m
    ranges = (
        exact(lookup("aten").arange.start_step, 0, size, dtype=int64, device=named.get("device"))
        for size in (n, columns)
    )
    rows, columns = ranges
    found = rows.unsqueeze(-1) == columns
    dtype = named.get("dtype") or get_default_dtype()
    return found if dtype is bool_ else found.to(dtype)


# ------------------------------------------------------------------------------------------- order
def _flipped(*dims):
    def run(self):
        return self.flip(list(dims))

    return run


def _rot90(self, k=1, dims=(0, 1)):
    first, second = dims
    turns = k % _TURNS
    if turns == 1:
        return self.flip([second]).transpose(first, second)
    if turns == 2:
        return self.flip([first, second])
    if turns == 3:
        return self.flip([first]).transpose(first, second)
    return self.clone()


def _tile(self, dims):
    return self.repeat(*[1] * (self.dim() - len(dims)), *dims)


def _cartesian_prod(tensors):
    if len(tensors) == 1:
        return NotImplemented
    meshgrid = lookup("aten").meshgrid.indexing(list(tensors), indexing="ij")
    return stack([each.reshape(-1) for each in meshgrid], 1)


def _diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    return A.diagonal(offset, dim1, dim2)


def _ravel(self):
    return self.reshape(-1)


def _msort(self):
    return lookup("aten").sort.default(self, 0)[0]


def _argsort(self, dim=-1, descending=False):
    given = () if (dim, descending) == (-1, False) else (dim, descending)
    return exact(lookup("aten").sort.default, self, *(given if descending else given[:1]))[1]


def _argsort_stable(self, *, stable, dim=-1, descending=False):
    named = {"stable": stable, "dim": dim, "descending": descending}
    return exact(lookup("aten").sort.stable, self, **named)[1]


@real
def _adjoint(self):
    return self.transpose(-2, -1)


def _unbind(self, dim=0):
    dim, aten = wrap_dim(dim, self.dim()), lookup("aten")
    size = self.shape[dim]
    if not size or not is_fixed(size):
        return NotImplemented
    slices = [sliced(self, dim, i, i + 1) for i in range(size)]
    return tuple(exact(aten.squeeze.dims, part, [dim]) for part in slices)


def _unsafe_chunk(self, chunks, dim=0):
    size = self.shape[dim]
    if not size or not is_fixed(size):
        return NotImplemented
    part = -(-size // chunks)
    sizes = [min(part, size - start) for start in range(0, size, part)]
    return lookup("aten").split_with_sizes.default(self, sizes, dim)


def _sum_to_size(self, size):
    first = self.dim() - len(size)
    dims = list(range(first))
    dims += [i for i in range(first, self.dim()) if size[i - first] == 1 != self.shape[i]]
    if not dims:
        return self
    found = exact(lookup("aten").sum.dim_IntList, self, dims, True)
    return found.view(*size) if first else found


# -------------------------------------------------------------------------------------- neighbours
def _diff(self, n=1, dim=-1, prepend=None, append=None):
    given = [each for each in (prepend, self, append) if each is not None]
    self = cat(given, dim) if len(given) > 1 else self
    for _ in range(n):
        size = self.shape[dim]
        ahead, behind = (sliced(self, dim, i, size - 1 + i) for i in range(2))
        if self.dtype is bool_:
            self = lookup("aten").logical_xor.default(behind, ahead)
        else:
            self = behind - ahead
    return self


def _gradient(self, *, spacing=None, dim=None, edge_order=1):
    if edge_order != 1:
        return NotImplemented
    if dim is None:
        return [
            slope for i in range(self.dim()) for slope in _gradient(self, spacing=spacing, dim=i)
        ]
    dim, step = wrap_dim(dim, self.dim()), 1.0 if spacing is None else spacing

    def slope(first, second):
        divide = lookup("aten").div.Scalar
        return exact(divide, sliced(self, dim, *second) - sliced(self, dim, *first), step)

    inner = slope((0, -2), (2,))
    edges = slope((0, 1), (1, 2)), slope((-2, -1), (-1,))
    inner = exact(lookup("aten").div.Scalar, inner, 2)
    return [cat([edges[0], inner, edges[1]], dim)]


def _trapezoid(y, *, dx=1, dim=-1):
    select = lookup("aten").select.int
    if not y.shape[dim]:
        return NotImplemented
    last = exact(select, y, dim, -1)
    ends = scaled(exact(select, y, dim, 0) + last, 0.5)
    return scaled(lookup("aten").sum.dim_IntList(y, [dim]) - ends, dx)


def _cumulative_trapezoid(y, *, dx=1, dim=-1):
    pairs = sliced(y, dim, 0, -1) + sliced(y, dim, 1)
    return scaled(pairs, dx / 2).cumsum(dim)


def _weighted_pairs(y, x, dim):
    """Sums of neighbours, times the distances between them."""
    steps = sliced(x, dim, 1) - sliced(x, dim, 0, -1)
    return (sliced(y, dim, 0, -1) + sliced(y, dim, 1)) * steps


def _trapezoid_of(total):
    def run(y, x, *, dim=-1):
        if x.dim() != y.dim():
            return NotImplemented
        dim = wrap_dim(dim, y.dim())
        return exact(lookup("aten").div.Scalar, total(_weighted_pairs(y, x, dim), dim), 2.0)

    return run


def _linspace(start, end, steps, **named):
    dtype = named.get("dtype") or get_default_dtype()
    numbers = all(isinstance(each, int | float) for each in (start, end))
    if not numbers or not dtype.is_floating_point or not is_fixed(steps) or not steps:
        return NotImplemented
    if steps == 1:
        return lookup("aten").full.default([1], start, dtype=dtype, device=named.get("device"))
    aten, step = lookup("aten"), (end - start) / (steps - 1)
    wide = dtype if dtype.itemsize >= float32.itemsize else float32
    order = exact(aten.arange.start_step, 0, steps, device=named.get("device"))
    ahead = order.to(wide) * step + start
    behind = below(end, below(steps - 1, order).to(wide) * step)
    found = aten.where.self(order < steps / 2, ahead, behind)
    return found if wide is dtype else found.to(dtype)


def _of_order(aten):
    return {
        aten.fliplr.default: _flipped(1),
        aten.flipud.default: _flipped(0),
        aten.rot90.default: _rot90,
        aten.tile.default: _tile,
        aten.ravel.default: _ravel,
        aten.msort.default: _msort,
        aten.argsort.default: _argsort,
        aten.argsort.stable: _argsort_stable,
        aten.adjoint.default: _adjoint,
        aten.unbind.int: _unbind,
        aten.unsafe_chunk.default: _unsafe_chunk,
        aten.broadcast_tensors.default: broadcast,
        aten.cartesian_prod.default: _cartesian_prod,
    }


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return _of_order(aten) | {
        aten.diag.default: _diag,
        aten.diag_embed.default: _diag_embed,
        aten.linalg_diagonal.default: _diagonal,
        aten.eye.default: _eye,
        aten.eye.m: _eye,
        aten.linspace.default: _linspace,
        aten.sum_to_size.default: _sum_to_size,
        aten.diff.default: _diff,
        aten.gradient.scalarint: _gradient,
        aten.trapezoid.dx: _trapezoid,
        aten.trapezoid.x: _trapezoid_of(lambda pairs, dim: pairs.sum(dim)),
        aten.cumulative_trapezoid.dx: _cumulative_trapezoid,
        aten.cumulative_trapezoid.x: _trapezoid_of(lambda pairs, dim: pairs.cumsum(dim)),
    }
