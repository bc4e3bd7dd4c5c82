"""Rearrangements between channels and space."""

from __future__ import annotations

from rushlight.errors import shape_text
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.prepared import by_layout
from rushlight.kernels.resampling import pixels as kernels
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.op import composite, op
from rushlight.ops.shape.copying import in_format_of
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.tensor import Tensor

_ndarray = np.ndarray


def _check(name, input, factor, argument):
    if input.dim() < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input of shape "
            f"{shape_text(input.shape)}"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")


def _shuffled_shape(input, factor):
    *lead, c, h, w = input.shape
    return (*lead, c // factor**2, h * factor, w * factor), dtype_of(input)


def _unshuffled_shape(input, factor):
    *lead, c, h, w = input.shape
    return (*lead, c * factor**2, h // factor, w // factor), dtype_of(input)


@op(
    linear=True,
    batching="trailing",
    meta=_shuffled_shape,
    method=False,
    node="PixelShuffle",
    samples=lambda make: [((make(2, 8, 3, 2), 2), {}), ((make(9, 1, 4), 3), {})],
    saves="upscale_factor:factor",
)
def _shuffled(input: Tensor, factor):
    """:func:`pixel_shuffle` by one kernel."""
    *lead, c, h, w = input.shape
    split = input.reshape(*lead, c // factor**2, factor, factor, h, w)
    turned = np.moveaxis(split, (-4, -3), (-3, -1))
    return by_rows(turned).reshape(*lead, c // factor**2, h * factor, w * factor)


@op(
    linear=True,
    batching="trailing",
    meta=_unshuffled_shape,
    method=False,
    node="PixelUnshuffle",
    samples=lambda make: [((make(2, 2, 6, 4), 2), {}), ((make(1, 3, 6), 3), {})],
    saves="downscale_factor:factor",
)
def _unshuffled(input: Tensor, factor):
    """:func:`pixel_unshuffle` by one kernel."""
    *lead, c, h, w = input.shape
    split = input.reshape(*lead, c, h // factor, factor, w // factor, factor)
    turned = np.moveaxis(split, (-3, -1), (-4, -3))
    return by_rows(turned).reshape(*lead, c * factor**2, h // factor, w // factor)


def _kernel_or(compiled, general):
    def call(input, factor):
        return (compiled if kernels.is_compiled(input) else general)(input, factor)

    call.general = general
    return call


_shuffled.cpu(_kernel_or(kernels.shuffled, _shuffled.op.cpu_kernel))
_unshuffled.cpu(_kernel_or(kernels.unshuffled, _unshuffled.op.cpu_kernel))
_shuffled.gradient(input=lambda grad, factor: _unshuffled(grad, factor))
_unshuffled.gradient(input=lambda grad, factor: _shuffled(grad, factor))


@op(
    linear=True,
    batching="rows",
    meta=lambda input, groups: (input.shape, dtype_of(input)),
    method=False,
    samples=lambda make: [((make(2, 6, 3, 2), 2), {}), ((make(1, 6, 4), 3), {})],
    node="ChannelShuffle",
    saves="groups",
)
def _dealt(input: Tensor, groups):
    """:func:`channel_shuffle` by one kernel."""
    n, c = input.shape[:2]
    split = np.swapaxes(input.reshape(n, groups, c // groups, -1), 1, 2)
    return by_rows(split).reshape(input.shape)


_dealt.cpu(by_layout(kernels.prepare_dealt, _dealt.op.body, count=2))
_dealt.gradient(input=lambda grad, groups, input_shape: _dealt(grad, input_shape[1] // groups))


def _is_plain(input):
    """Whether the kernels take the tensor."""
    plain = not STATE.levels and type(input._array) is _ndarray
    return plain and kernels.is_compiled(input._array)


@composite(
    schemas=("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",),
    method=False,
    limited=False,
    samples=lambda make: [(make(1, 4, 2, 3), 2), (make(9, 1, 2), 3)],
)
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
    if _is_plain(input):
        return _shuffled(input, r)
    split = input.reshape(*batch, c // (r * r), r, r, h, w)
    n = len(batch)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return split.permute(order).reshape(*batch, c // (r * r), h * r, w * r)


@composite(
    method=False, limited=False, samples=lambda make: [(make(1, 1, 4, 6), 2), (make(1, 3, 6), 3)]
)
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
    if _is_plain(input):
        return _unshuffled(input, r)
    split = input.reshape(*batch, c, h // r, r, w // r, r)
    n = len(batch)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return split.permute(order).reshape(*batch, c * r * r, h // r, w // r)


@composite(
    method=False, limited=False, samples=lambda make: [(make(2, 4, 3), 2), (make(1, 6, 2, 2), 3)]
)
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
    if 1 < groups < c and _is_plain(input):
        return _dealt(input, groups)
    split = input.reshape(input.shape[0], groups, c // groups, *input.shape[2:])
    return in_format_of(input, split.transpose(1, 2).reshape(tuple(input.shape)))


@composite(method=False, samples=lambda make: [(make(2, 4, 3), 2), (make(1, 6, 2, 2), 3)])
def native_channel_shuffle(input: Tensor, groups):
    """Another name of :func:`channel_shuffle`."""
    return channel_shuffle(input, groups)
