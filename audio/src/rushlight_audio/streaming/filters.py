"""Filters and convolutions of pieces."""

from __future__ import annotations

from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional import fftconvolve
from rushlight_audio.streaming.streams import Stream

__all__ = ["ConvolutionStream", "FilterStream"]


class FilterStream(Stream):
    """:func:`rushlight_audio.functional.lfilter` of pieces ``[..., T]``.

    Args:
        a_coeffs: ``[taps]``, of the output.
        b_coeffs: ``[taps]``, of the input.
        clamp: limit the output to [-1, 1].
    """

    def __init__(self, a_coeffs: rl.Tensor, b_coeffs: rl.Tensor, clamp: bool = True) -> None:
        if a_coeffs.dim() != 1 or a_coeffs.shape != b_coeffs.shape:
            raise ValueError(
                "FilterStream(): coefficients must both have shape [taps], got "
                f"{list(a_coeffs.shape)} and {list(b_coeffs.shape)}"
            )
        first = a_coeffs[0].double()
        self.feedback = a_coeffs.double() / first
        self.forward = b_coeffs.double() / first
        self.clamp = clamp
        super().__init__()

    def _begin(self) -> None:
        self._inputs: Any = None
        self._outputs: Any = None

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        order, wide = len(self.feedback) - 1, piece.double()
        if self._inputs is None or self._outputs is None:
            self._inputs = self._outputs = wide.new_zeros(*wide.shape[:-1], order)
        seen = rl.cat([self._inputs, wide], -1)
        one = self.feedback.new_ones(1)
        driven = rl.signal.recursive_filter(seen, one, self.forward)[..., order:]
        # What earlier outputs still add, as if it came from outside.
        ahead = F.pad(self._outputs, (0, order))
        echo = rl.signal.recursive_filter(ahead, one, F.pad(self.feedback[1:], (1, 0)))
        echo = F.pad(echo[..., order:], (0, max(wide.shape[-1] - order, 0)))
        driven = driven - echo[..., : wide.shape[-1]]
        found = rl.signal.recursive_filter(driven, self.feedback, one)
        self._inputs = seen[..., seen.shape[-1] - order :]
        outputs = rl.cat([self._outputs, found], -1)
        self._outputs = outputs[..., outputs.shape[-1] - order :]
        found = found.to(piece.dtype)
        self._nothing = found[..., :0]
        return found.clamp(-1.0, 1.0) if self.clamp else found

    def _finish(self) -> rl.Tensor:
        return self._nothing


class ConvolutionStream(Stream):
    """The full convolution of pieces ``[..., T]`` with an impulse response.

    Args:
        impulse: ``[M]``; the end gives the last M - 1 samples.
    """

    def __init__(self, impulse: rl.Tensor) -> None:
        if impulse.dim() != 1 or not len(impulse):
            raise ValueError(
                f"ConvolutionStream(): impulse must have shape [M], got {list(impulse.shape)}"
            )
        self.impulse = impulse
        super().__init__()

    def _begin(self) -> None:
        self._tail: Any = None

    def _push(self, piece: rl.Tensor) -> rl.Tensor:
        rest = len(self.impulse) - 1
        if self._tail is None:
            self._tail = piece.new_zeros(*piece.shape[:-1], rest)
        found = F.pad(self._tail, (0, piece.shape[-1]))
        if piece.shape[-1]:
            impulse = self.impulse.reshape(*[1] * (piece.dim() - 1), -1)
            found = found + fftconvolve(piece, impulse.to(piece.device, piece.dtype))
        self._tail = found[..., piece.shape[-1] :]
        return found[..., : piece.shape[-1]]

    def _finish(self) -> rl.Tensor:
        return self._tail
