"""Features of frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F

__all__ = ["ComputeDeltas", "SlidingWindowCmn", "SpectralCentroid"]


class ComputeDeltas(nn.Module):
    """Slopes along time: :func:`rushlight_audio.functional.compute_deltas`.

    Args:
        win_length: frames of the window.
        mode: how the ends are padded.
    """

    def __init__(self, win_length: int = 5, mode: str = "replicate") -> None:
        super().__init__()
        self.win_length = win_length
        self.mode = mode

    def forward(self, specgram: rl.Tensor) -> rl.Tensor:
        """A tensor of the shape of `specgram`, ``[..., coefficients, frames]``."""
        return F.compute_deltas(specgram, win_length=self.win_length, mode=self.mode)


class SlidingWindowCmn(nn.Module):
    """Features less their moving mean: :func:`rushlight_audio.functional.sliding_window_cmn`.

    Args:
        cmn_window: frames of the window.
        min_cmn_window: least frames at the beginning, without `center`.
        center: put the window around its frame, else before it.
        norm_vars: divide by the deviation as well.
    """

    def __init__(
        self,
        cmn_window: int = 600,
        min_cmn_window: int = 100,
        center: bool = False,
        norm_vars: bool = False,
    ) -> None:
        super().__init__()
        self.cmn_window = cmn_window
        self.min_cmn_window = min_cmn_window
        self.center = center
        self.norm_vars = norm_vars

    def forward(self, specgram: rl.Tensor) -> rl.Tensor:
        """A tensor of the shape of `specgram`, ``[..., frames, features]``."""
        return F.sliding_window_cmn(
            specgram, self.cmn_window, self.min_cmn_window, self.center, self.norm_vars
        )


class SpectralCentroid(nn.Module):
    """The mean frequency of each frame: :func:`rushlight_audio.functional.spectral_centroid`.

    Args:
        sample_rate: samples per second.
        n_fft: length of a frame.
        win_length: length of the window; `n_fft` by default.
        hop_length: distance between frames; half the window by default.
        pad: zeros put before and after the waveform.
        window_fn: gives the window of a length.
        wkwargs: further arguments of `window_fn`.
    """

    def __init__(
        self,
        sample_rate: int,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window_fn: Callable[..., rl.Tensor] = F.hann_window,
        wkwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.sample_rate = sample_rate
        self.n_fft = n_fft
        self.win_length = n_fft if win_length is None else win_length
        self.hop_length = self.win_length // 2 if hop_length is None else hop_length
        self.register_buffer("window", window_fn(self.win_length, **(wkwargs or {})))
        self.pad = pad

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """``[..., frames]`` in Hz."""
        return F.spectral_centroid(
            waveform,
            self.sample_rate,
            self.pad,
            self.window,
            self.n_fft,
            self.hop_length,
            self.win_length,
        )
