"""Numbers and shapes: choices and differences with numbers, triangles, shuffled pixels."""

from __future__ import annotations

from rushlight.dtypes import bool_, int64
from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import chosen, number
from rushlight.library.operators import lookup
from rushlight.ops.shape.views import broadcast_shapes
from rushlight.tensor.shape import wrap_dim

_PLANES = 3  # dimensions of input that planes with channels have at least


def range_of(start, end, like, dtype=None):
    """The whole numbers from `start` up to `end`."""
    named = {} if dtype is None else {"dtype": dtype}
    target = lookup("aten").arange.start_step
    return exact(target, start, end, **named, device=like.device)


def sliced(input, dim, start, *end):
    """A slice along a dimension, as ``slice.Tensor``."""
    return exact(lookup("aten").slice.Tensor, input, dim, start, *end)


def broadcast(tensors):
    """Tensors of one shape; those that have it as they are."""
    shape = broadcast_shapes(*(each.shape for each in tensors))
    return [each if each.shape == shape else each.expand(*shape) for each in tensors]


def _offsets(input):
    """How far the columns of a matrix are to the right of its rows."""
    rows, columns = input.shape[-2:]
    return range_of(0, columns, input).unsqueeze(-2) - range_of(0, rows, input).unsqueeze(-1)


def lower_triangle(input, diagonal=0):
    """What matrices have up to a diagonal, and zeros above."""
    return _kept(_offsets(input) <= diagonal, input)


def _upper_triangle(input, diagonal=0):
    return _kept(_offsets(input) >= diagonal, input)


def _kept(within, input):
    if input.dtype is bool_:
        return lookup("aten").logical_and.default(within, input)
    return chosen(within, input, 0)


def _pixel_shuffle(self, upscale_factor):
    if self.dim() < _PLANES:
        return NotImplemented
    *batch, channels, rows, columns = self.shape
    n, factor = len(batch), upscale_factor
    parts = self.view(*batch, channels // factor**2, factor, factor, rows, columns)
    apart = parts.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return apart.reshape(*batch, channels // factor**2, rows * factor, columns * factor)


def _pixel_unshuffle(self, downscale_factor):
    if self.dim() < _PLANES:
        return NotImplemented
    *batch, channels, rows, columns = self.shape
    n, factor = len(batch), downscale_factor
    rows, columns = rows // factor, columns // factor
    parts = self.view(*batch, channels, rows, factor, columns, factor)
    apart = parts.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return apart.reshape(*batch, channels * factor**2, rows, columns)


def _channel_shuffle(input, groups):
    batch, channels, *sizes = input.shape
    parts = input.view(batch, groups, channels // groups, *sizes)
    return parts.permute(0, 2, 1, *range(3, 3 + len(sizes))).reshape(*input.shape)


def _one_hot(self, num_classes=-1):
    if num_classes < 0:
        return NotImplemented  # the number of classes depends on values
    _checked(self >= 0, "one_hot: Class values must be non-negative.")
    _checked(self < num_classes, "one_hot: Class values must be smaller than num_classes.")
    return (self.unsqueeze(-1) == range_of(0, num_classes, self, int64)).to(int64)


def _checked(condition, text):
    aten = lookup("aten")
    some = exact(aten.any.dims, aten.logical_not.default(condition))
    every = aten.logical_not.default(some)
    exact(aten._assert_async.msg, every, text)


def _cosine_similarity(x1, x2, dim=1, eps=1e-08):
    dim, aten = wrap_dim(dim, max(x1.dim(), x2.dim())), lookup("aten")
    if x1.dim() != x2.dim():
        return NotImplemented
    least = number(eps, x1)
    x1, x2 = (
        x / exact(aten.clamp.Tensor, aten.linalg_vector_norm.default(x, 2, [dim], True), least)
        for x in (x1, x2)
    )
    return (x1 * x2).sum(dim)


def _where_scalar(condition, self, other):
    return chosen(condition, self, other)


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.where.ScalarOther: _where_scalar,
        aten.where.ScalarSelf: _where_scalar,
        aten.tril.default: lower_triangle,
        aten.triu.default: _upper_triangle,
        aten.pixel_shuffle.default: _pixel_shuffle,
        aten.pixel_unshuffle.default: _pixel_unshuffle,
        aten.channel_shuffle.default: _channel_shuffle,
        aten.one_hot.default: _one_hot,
        aten.cosine_similarity.default: _cosine_similarity,
    }
