"""Elements by index, and shifted, as core ATen graphs have them."""

from __future__ import annotations

import math

from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import element
from rushlight.fx.experimental.core_parts.shapes import range_of
from rushlight.library.operators import lookup
from rushlight.ops.shape.views import broadcast_shapes
from rushlight.tensor.shape import wrap_dim


def _roll(self, shifts, dims=()):
    shifts, dims = ([v] if isinstance(v, int) else list(v) for v in (shifts, dims))
    if not self.numel():
        return self.clone()
    if not dims:
        if len(shifts) != 1:
            return NotImplemented
        count = self.numel()
        return _roll(self.reshape(count), shifts, [0]).view(*self.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        dim = wrap_dim(dim, self.dim())
        size = self.shape[dim]
        index = exact(
            lookup("aten").fmod.Scalar, range_of(0, size, self) + (size - shift) % size, size
        )
        self = lookup("aten").index_select.default(self, dim, index)
    return self


def _put(self, dim, index, values, add=False):
    """A copy with other values, or sums with them, along a dimension."""
    dim = wrap_dim(dim, max(self.dim(), 1))
    whole = self.unsqueeze(0) if not self.dim() else self
    rest = (True,) if add else ()
    found = exact(lookup("aten").index_put.default, whole, [None] * dim + [index], values, *rest)
    return found if self.dim() else found.squeeze(0)


def _index_add(self, dim, index, source, *, alpha=1):
    return _put(self, dim, index, source if alpha == 1 else source * alpha, add=True)


def _index_copy(self, dim, index, source):
    return _put(self, dim, index, source)


def _index_fill(self, dim, index, value):
    value = element(value, self)
    if not self.dim():
        return NotImplemented
    shape = list(self.shape)
    shape[wrap_dim(dim, len(shape))] = index.numel()
    return _put(self, dim, index, value.expand(shape))


def _take(self, index):
    return exact(lookup("aten").index.Tensor, self.reshape(-1), [index])


def _take_along_dim(self, indices, dim=None):
    aten = lookup("aten")
    if dim is None:
        return exact(aten.gather.default, self.reshape(-1), 0, indices.reshape(-1))
    dim = wrap_dim(dim, self.dim())
    shapes = [list(each.shape) for each in (self, indices)]
    for shape in shapes:
        shape[dim] = 1
    wide = list(broadcast_shapes(*shapes))
    sizes = ([*wide[:dim], each.shape[dim], *wide[dim + 1 :]] for each in (indices, self))
    indices, self = (
        aten.expand.default(each, size) for each, size in zip((indices, self), sizes, strict=True)
    )
    index = exact(aten.remainder.Scalar, indices, self.shape[dim])
    return exact(aten.gather.default, self, dim, index)


def _select_scatter(self, src, dim, index):
    dim, aten = wrap_dim(dim, self.dim()), lookup("aten")
    size = self.shape[dim]
    order = range_of(0, size, self).view(*(-1 if i == dim else 1 for i in range(self.dim())))
    chosen = order == (index + size if index < 0 else index)
    return aten.where.self(chosen, aten.expand.default(src.unsqueeze(dim), [*self.shape]), self)


def _repeat_interleave(self, repeats, dim=None, *, output_size=None):
    if dim is None:
        self, dim = self.reshape(-1), 0
    dim = wrap_dim(dim, self.dim())
    shape = list(self.shape)
    wide = self.unsqueeze(dim + 1)
    wide = lookup("aten").expand.default(wide, [*shape[: dim + 1], repeats, *shape[dim + 1 :]])
    wide = exact(lookup("aten").clone.default, wide)
    return wide.reshape(*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :])


def _unpooled(n):
    """Maxima back where they were among `n` dimensions, zeros elsewhere."""

    def run(self, indices, output_size, stride=None, padding=None):
        planes = list(self.shape[:-n])
        count, size = math.prod(planes), math.prod(output_size)
        starts = range_of(0, count, self).view(*planes, *[1] * n) * size
        index = (indices + starts).reshape(-1)
        named = {"dtype": self.dtype, "device": self.device}
        whole = lookup("aten").full.default([*planes, *output_size], 0, **named)
        put = exact(lookup("aten").index_put.default, whole.view(-1), [index], self.reshape(-1))
        return put.view(*planes, *output_size)

    return run


def unpooling() -> dict:
    """Overloads of unpooling -> their parts."""
    aten = lookup("aten")
    return {aten.max_unpool2d.default: _unpooled(2), aten.max_unpool3d.default: _unpooled(3)}


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return unpooling() | {
        aten.roll.default: _roll,
        aten.index_add.default: _index_add,
        aten.index_copy.default: _index_copy,
        aten.index_fill.int_Scalar: _index_fill,
        aten.index_fill.int_Tensor: _index_fill,
        aten.take.default: _take,
        aten.take_along_dim.default: _take_along_dim,
        aten.select_scatter.default: _select_scatter,
        aten.repeat_interleave.self_int: _repeat_interleave,
    }
