"""Rearrangements between channels and space."""

from __future__ import annotations

from rushlight.errors import shape_text
from rushlight.ops._op import composite
from rushlight.ops.copying import in_format_of
from rushlight.tensor.tensor import Tensor


def _check(name, input, factor, argument):
    if input.dim() < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input of shape "
            f"{shape_text(input.shape)}"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")


@composite(method=False, limited=False)
def pixel_shuffle(input: Tensor, upscale_factor):
    """(*, C * r * r, H, W) to (*, C, H * r, W * r). (Shi et al., 2016.)

    >>> rushlight.pixel_shuffle(rushlight.ones(1, 8, 2, 3), 2).shape
    rushlight.Size([1, 2, 4, 6])
    """
    r = upscale_factor
    _check("pixel_shuffle", input, r, "upscale_factor")
    *batch, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of"
            f" upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    if r == 1:
        return input.clone()
    split = input.reshape(*batch, c // (r * r), r, r, h, w)
    n = len(batch)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return split.permute(order).reshape(*batch, c // (r * r), h * r, w * r)


@composite(method=False, limited=False)
def pixel_unshuffle(input: Tensor, downscale_factor):
    """(*, C, H * r, W * r) to (*, C * r * r, H, W): the inverse of :func:`pixel_shuffle`."""
    r = downscale_factor
    _check("pixel_unshuffle", input, r, "downscale_factor")
    *batch, c, h, w = input.shape
    for name, size in (("height", h), ("width", w)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but {name} "
                f"{size} is not divisible by {r}"
            )
    if r == 1:
        return input.clone()
    split = input.reshape(*batch, c, h // r, r, w // r, r)
    n = len(batch)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return split.permute(order).reshape(*batch, c * r * r, h // r, w // r)


@composite(method=False, limited=False)
def channel_shuffle(input: Tensor, groups):
    """The channels of (N, C, ...) dealt out over groups: (g, C / g) transposed to (C / g, g).

    (Zhang et al., 2018.)
    """
    if input.dim() < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{shape_text(input.shape)}"
        )
    c = input.shape[1]
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    split = input.reshape(input.shape[0], groups, c // groups, *input.shape[2:])
    return in_format_of(input, split.transpose(1, 2).reshape(tuple(input.shape)))


@composite(method=False)
def native_channel_shuffle(input: Tensor, groups):
    """Another name of :func:`channel_shuffle`."""
    return channel_shuffle(input, groups)
