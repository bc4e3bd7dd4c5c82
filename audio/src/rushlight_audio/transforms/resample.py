"""Resampling."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_audio.functional.checks import require_waveform
from rushlight_audio.functional.resample import apply_kernel, reduced_rates, sinc_kernel
from rushlight_audio.functional.sinc import SincFilter
from rushlight_audio.functional.sinc_products import grouped_weights, resample_by_products
from rushlight_audio.functional.sinc_sums import resample_by_sums

__all__ = ["Resample"]


class Resample(nn.Module):
    """A waveform ``[..., T]`` at another sample rate; the filter is computed once.

    Where the filter would be large (see :func:`rushlight_audio.functional.resample`) none is kept,
    and the state dict has no ``kernel``.

    Args:
        orig_freq: rate of the input, an integer.
        new_freq: rate of the output.
        resampling_method: as for :func:`rushlight_audio.functional.resample`, like the rest.
        lowpass_filter_width: zero crossings of the sinc on each side.
        rolloff: edge of the filter as a share of the lower Nyquist frequency.
        beta: shape of the Kaiser window.
        dtype: of the filter; float32 by default.
    """

    __constants__ = ("_is_large",)  # scripts hold one of the ways

    def __init__(
        self,
        orig_freq: int = 16000,
        new_freq: int = 16000,
        resampling_method: str = "sinc_interp_hann",
        lowpass_filter_width: int = 6,
        rolloff: float = 0.99,
        beta: float | None = None,
        *,
        dtype: rl.dtype | None = None,
    ):
        super().__init__()
        self.orig_freq = orig_freq
        self.new_freq = new_freq
        self.resampling_method = resampling_method
        self.lowpass_filter_width = lowpass_filter_width
        self.rolloff = rolloff
        self.beta = beta
        self._orig, self._new = reduced_rates(orig_freq, new_freq)
        self._filters = SincFilter(
            self._orig,
            self._new,
            lowpass_filter_width,
            rolloff,
            resampling_method,
            beta,
            dtype or rl.float32,
        )
        self._weights: tuple[rl.Tensor, int, list[rl.Tensor]] | None = None
        self._is_large = self._filters.is_large
        if self._orig != self._new and not self._is_large:
            self.register_buffer("kernel", sinc_kernel(self._filters)[0].clone())

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """``[..., ceil(T * new_freq / orig_freq)]``."""
        require_waveform("Resample", waveform)
        if self._orig == self._new:
            return waveform
        if rl.jit.is_scripting():
            return self._scripted(waveform)
        if self._is_large:
            return self._summed(waveform)
        if self.kernel.requires_grad or self.kernel.is_meta or not waveform.numel():
            return apply_kernel(waveform, self.kernel, self._orig, self._new)
        return resample_by_products(waveform, self._filters, self._grouped())

    def _scripted(self, waveform: rl.Tensor) -> rl.Tensor:
        if hasattr(self, "kernel"):
            return apply_kernel(waveform, self.kernel, self._orig, self._new)
        return self._summed(waveform) if self._is_large else waveform

    @rl.jit.ignore
    def _summed(self, waveform: rl.Tensor) -> rl.Tensor:
        """By a large filter, which scripts leave to Python."""
        return resample_by_sums(waveform, self._filters)

    def _grouped(self) -> list[rl.Tensor]:
        """The weights of products, from the kernel as it is now."""
        key = self.kernel, self.kernel._version
        if self._weights is None or self._weights[0] is not key[0] or self._weights[1] != key[1]:
            self._weights = (*key, grouped_weights(self._filters, self.kernel))
        return self._weights[2]
