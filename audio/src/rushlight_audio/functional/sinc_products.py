"""Resampling as products of matrices.

Outputs stand in rows that advance by a whole number of samples, so that each row has the same
weights. Neighbouring outputs of a row see nearly the same samples: groups of them are one product
of a matrix of samples, which is a view of the waveform, and one of weights, both without most of
the zeros of the filter's phases.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.sinc import SincFilter, cast_dtype
from rushlight_audio.functional.sinc_sums import of_examples

__all__ = ["grouped_weights", "resample_by_products"]

GROUP = 32  # outputs of a product


@dataclass(frozen=True)
class Layout:
    """How outputs of one row are grouped: for each group its outputs, and the samples it sees."""

    outputs: int
    step: int
    groups: tuple[tuple[int, int, int, int], ...]  # outputs from, to; samples from, how many

    @property
    def reach(self) -> int:
        """Samples from the beginning of a row to where its last group begins."""
        return max(begin for _, _, begin, _ in self.groups)


@functools.lru_cache(maxsize=64)
def layout_of(orig: int, new: int, width: int) -> Layout:
    """The layout of rates without a common divisor; samples are counted from `width` before the
    first."""
    most = GROUP * orig // new + 2 * width + 3
    turns = max(-(-most // orig), -(-GROUP // new))  # no group may see more than a row's samples
    whole = GROUP // math.gcd(GROUP, new)
    if turns > whole // 2:
        turns = -(-turns // whole) * whole
    outputs, groups = turns * new, []
    for first in range(0, outputs, GROUP):
        last = min(first + GROUP, outputs)
        begin = first * orig // new
        groups.append((first, last, begin, (last - 1) * orig // new + 2 * width + 2 - begin))
    return Layout(outputs, turns * orig, tuple(groups))


def grouped_weights(filters: SincFilter, kernel: rl.Tensor) -> list[rl.Tensor]:
    """The weights ``[samples, outputs]`` of each group, from the phases ``[new, 1, K]``."""
    orig, new, taps = filters.orig, filters.new, kernel.shape[-1]
    found = []
    with rl.inference_mode(False), rl.no_grad():
        for first, last, begin, count in layout_of(orig, new, filters.width).groups:
            output = rl.arange(first, last)
            turn, phase = output.div(new, rounding_mode="floor"), output % new
            tap = rl.arange(begin, begin + count).unsqueeze(1) - turn * orig
            inside = (tap >= 0) & (tap < taps)
            weights = kernel[:, 0].cpu()[phase, tap.clamp(0, taps - 1)] * inside
            found.append(weights.contiguous().to(kernel.device))
    return found


def resample_by_products(
    waveform: rl.Tensor, filters: SincFilter, weights: list[rl.Tensor]
) -> rl.Tensor:
    """``[..., T]`` to ``[..., ceil(T * new / orig)]``, with :func:`grouped_weights`."""
    length = waveform.shape[-1]
    rows = waveform.reshape(math.prod(waveform.shape[:-1]), length)
    found = _Products.apply(rows, filters, tuple(weights))
    return found.reshape(*waveform.shape[:-1], filters.target(length))


def _count(filters: SincFilter, layout: Layout, length: int) -> int:
    """Rows of outputs."""
    return -(-filters.target(length) // layout.outputs)


class _Products(rl.autograd.Function):
    """``[N, length]`` to ``[N, target]``."""

    @staticmethod
    def forward(rows: rl.Tensor, filters: SincFilter, weights: Any) -> rl.Tensor:
        length = rows.shape[1]
        layout = layout_of(filters.orig, filters.new, filters.width)
        count = _count(filters, layout, length)
        behind = max(layout.reach + count * layout.step - filters.width - length, 0)
        padded = F.pad(rows, (filters.width, behind))
        out = rows.new_empty(rows.shape[0], count, layout.outputs, dtype=cast_dtype(rows))
        for (first, last, begin, taps), weight in zip(layout.groups, weights, strict=True):
            samples = padded[:, begin : begin + count * layout.step]
            samples = samples.reshape(len(rows), count, layout.step)[..., :taps]
            out[..., first:last] = rl.matmul(samples, weight)
        return out.reshape(rows.shape[0], -1)[:, : filters.target(length)]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: rl.Tensor) -> None:
        rows, ctx.filters, ctx.weights = inputs
        ctx.length = rows.shape[1]

    @staticmethod
    def vmap(info: Any, in_dims: Any, rows: rl.Tensor, *rest: Any) -> tuple[rl.Tensor, int]:
        return of_examples(_Products, in_dims[0], rows, rest), 0

    @staticmethod
    def jvp(ctx: Any, tangent: rl.Tensor, *_: None) -> rl.Tensor:
        return _Products.apply(tangent, ctx.filters, ctx.weights)

    @staticmethod
    def backward(ctx: Any, grad: rl.Tensor) -> tuple[Any, None, None]:
        return _Transposed.apply(grad, ctx.filters, ctx.weights, ctx.length), None, None


class _Transposed(rl.autograd.Function):
    """The transpose of `_Products`: ``[N, target]`` to ``[N, length]``."""

    @staticmethod
    def forward(grad: rl.Tensor, filters: SincFilter, weights: Any, length: int) -> rl.Tensor:
        grad = grad.to(weights[0].dtype)  # it has autocast's where that was on
        layout = layout_of(filters.orig, filters.new, filters.width)
        count = _count(filters, layout, length)
        full = F.pad(grad, (0, count * layout.outputs - grad.shape[1]))
        full = full.reshape(len(grad), count, layout.outputs)
        size = max(layout.reach + count * layout.step, filters.width + length)
        out = grad.new_zeros(grad.shape[0], size)
        for (first, last, begin, taps), weight in zip(layout.groups, weights, strict=True):
            target = out[:, begin : begin + count * layout.step]
            target = target.reshape(len(grad), count, layout.step)[..., :taps]
            target += rl.matmul(full[..., first:last], weight.T)
        return out[:, filters.width : filters.width + length]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: rl.Tensor) -> None:
        _, ctx.filters, ctx.weights, ctx.length = inputs

    @staticmethod
    def vmap(info: Any, in_dims: Any, grad: rl.Tensor, *rest: Any) -> tuple[rl.Tensor, int]:
        return of_examples(_Transposed, in_dims[0], grad, rest), 0

    @staticmethod
    def jvp(ctx: Any, tangent: rl.Tensor, *_: None) -> rl.Tensor:
        return _Transposed.apply(tangent, ctx.filters, ctx.weights, ctx.length)

    @staticmethod
    def backward(ctx: Any, grad: rl.Tensor) -> tuple[Any, None, None, None]:
        return _Products.apply(grad, ctx.filters, ctx.weights), None, None, None
