"""Long sounds piece by piece, so that what is between input and output stays small.

Only what no graph keeps is cut: a gradient needs the whole, and a captured program must serve any
length. Numbers are those of the whole.
"""

from __future__ import annotations

from collections.abc import Callable

import rushlight as rl

__all__ = ["by_frames", "in_one_piece", "in_pieces"]

# Numbers of arrays in between: those computed at once, and of a piece where there are more.
# Cutting is not faster, so that sounds of half a minute stay whole.
LONG = 1 << 20
PIECE = 1 << 18


def in_one_piece(waveform: rl.Tensor, numbers: int) -> bool:
    """Whether a sound that makes arrays of so many `numbers` is better computed at once."""
    return (
        numbers <= LONG
        or (waveform.requires_grad and rl.is_grad_enabled())
        or rl.jit.is_tracing()
        or rl.compiler.is_exporting()
    )


def in_pieces(waveform: rl.Tensor, function: Callable[[rl.Tensor], rl.Tensor]) -> rl.Tensor:
    """A function of single samples, of pieces of a waveform ``[..., T]``."""
    if in_one_piece(waveform, 4 * waveform.numel()):  # with what is computed on the way
        return function(waveform)
    rows = max(waveform.numel() // waveform.shape[-1], 1)
    pieces = waveform.split(max(PIECE // rows, 1), -1)
    return rl.cat([function(piece) for piece in pieces], -1)


def by_frames(
    padded: rl.Tensor, size: int, hop: int, function: Callable[[rl.Tensor], rl.Tensor]
) -> rl.Tensor:
    """A function that makes frames ``[..., n, frames]`` of `size` samples, `hop` apart, of pieces
    of a waveform ``[..., T]``."""
    count = (padded.shape[-1] - size) // hop + 1
    rows = max(padded.numel() // padded.shape[-1], 1)
    pieces = min(-(-count * rows * size // PIECE), count)
    step = -(-count // pieces)  # a frame less in the last ones: small rests are rounded otherwise
    found = []
    for first in range(0, count, step):
        last = min(first + step, count)
        found.append(function(padded[..., first * hop : (last - 1) * hop + size]).mT)
    return rl.cat(found, -2).mT
