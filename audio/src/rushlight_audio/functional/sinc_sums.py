"""Resampling as a sum over the samples near each output, block by block.

Beside input and output there is a block of weights and samples, whatever the rates: rates without
a common divisor have as many phases as the rate has, each used once a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import rushlight as rl
from rushlight_audio.functional.sinc import SincFilter, cast_dtype

__all__ = ["of_examples", "resample_by_sums"]

# Weights of a block, and samples of all rows that they meet.
BLOCK = 1 << 17
FEWEST = 1 << 10
MOST_SAMPLES = 1 << 10


def _blocks(filters: SincFilter, length: int, rows: int) -> Iterator[tuple[int, Any, Any]]:
    """First output, sample numbers ``[outputs, samples]`` and their weights, block by block.

    The samples of an output are those within the filter's width, moved into the waveform where
    they would begin before it or end behind it; those that come in by that weigh nothing.
    """
    target = filters.target(length)
    taps = min(2 * filters.width + 2, length)
    across = min(taps, MOST_SAMPLES)
    down = max(max(BLOCK // rows, FEWEST) // across, 1)
    for first in range(0, target, down):
        output = rl.arange(first, min(first + down, target)).unsqueeze(1)
        turn = output.div(filters.new, rounding_mode="floor") * filters.orig
        phase = output % filters.new
        near = turn + (phase * filters.orig).div(filters.new, rounding_mode="floor")
        begin = (near - filters.width).clamp(0, length - taps)
        for tap in range(0, taps, across):
            number = begin + rl.arange(tap, min(tap + across, taps))
            weights = filters.weights(phase.to(rl.float64), (number - turn).to(rl.float64))
            yield first, number, weights


def of_examples(function: Any, dim: int, rows: rl.Tensor, rest: tuple[Any, ...]) -> rl.Tensor:
    """A function of rows, of those of all examples of :func:`rushlight.func.vmap`."""
    rows = rows.movedim(dim, 0)
    found = function.apply(rows.flatten(0, 1), *rest)
    return found.unflatten(0, rows.shape[:2])


class _Sums(rl.autograd.Function):
    """``[rows, length]`` to ``[rows, target]``."""

    @staticmethod
    def forward(rows: rl.Tensor, filters: SincFilter) -> rl.Tensor:
        length = rows.shape[1]
        wide = rl.promote_types(rows.dtype, rl.float32)
        out = rl.zeros(rows.shape[0], filters.target(length), dtype=wide, device=rows.device)
        for first, number, weights in _blocks(filters, length, rows.shape[0]):
            samples = rows.index_select(1, number.flatten().to(rows.device))
            samples = samples.reshape(rows.shape[0], *number.shape)
            sums = (samples.to(wide) * weights.to(rows.device, wide)).sum(-1)
            out[:, first : first + number.shape[0]] += sums
        return out.to(rows.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: rl.Tensor) -> None:
        rows, ctx.filters = inputs
        ctx.length = rows.shape[1]

    @staticmethod
    def vmap(info: Any, in_dims: Any, rows: rl.Tensor, *rest: Any) -> tuple[rl.Tensor, int]:
        return of_examples(_Sums, in_dims[0], rows, rest), 0

    @staticmethod
    def jvp(ctx: Any, tangent: rl.Tensor, *_: None) -> rl.Tensor:
        return _Sums.apply(tangent, ctx.filters)

    @staticmethod
    def backward(ctx: Any, grad: rl.Tensor) -> tuple[Any, None]:
        return _Spread.apply(grad, ctx.filters, ctx.length), None


class _Spread(rl.autograd.Function):
    """The transpose of `_Sums`: ``[rows, target]`` to ``[rows, length]``."""

    @staticmethod
    def forward(grad: rl.Tensor, filters: SincFilter, length: int) -> rl.Tensor:
        wide = rl.promote_types(grad.dtype, rl.float32)
        out = rl.zeros(grad.shape[0], length, dtype=wide, device=grad.device)
        for first, number, weights in _blocks(filters, length, grad.shape[0]):
            part = grad[:, first : first + number.shape[0]].to(wide).unsqueeze(-1)
            shares = (part * weights.to(grad.device, wide)).flatten(1)
            out.index_add_(1, number.flatten().to(grad.device), shares)
        return out.to(grad.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: rl.Tensor) -> None:
        _, ctx.filters, ctx.length = inputs

    @staticmethod
    def vmap(info: Any, in_dims: Any, grad: rl.Tensor, *rest: Any) -> tuple[rl.Tensor, int]:
        return of_examples(_Spread, in_dims[0], grad, rest), 0

    @staticmethod
    def jvp(ctx: Any, tangent: rl.Tensor, *_: None) -> rl.Tensor:
        return _Spread.apply(tangent, ctx.filters, ctx.length)

    @staticmethod
    def backward(ctx: Any, grad: rl.Tensor) -> tuple[Any, None, None]:
        return _Sums.apply(grad, ctx.filters), None, None


def resample_by_sums(waveform: rl.Tensor, filters: SincFilter) -> rl.Tensor:
    """``[..., T]`` to ``[..., ceil(T * new / orig)]``."""
    leading, length = waveform.shape[:-1], waveform.shape[-1]
    target = filters.target(length)
    if waveform.numel() == 0:
        return waveform.new_zeros((*leading, target))
    rows = waveform.reshape(math.prod(leading), length)
    found = _Sums.apply(rows, filters).reshape(*leading, target)
    return found.to(cast_dtype(waveform))  # as the products of smaller filters
