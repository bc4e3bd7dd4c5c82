"""Speech without noise: a mask over the spectrum by a small recurrent network."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio.zoo.files import Packaged
from rushlight_audio.zoo.sounds import Sound, heard

__all__ = ["Denoiser"]


class Denoiser(Packaged):
    """Two recurrent layers from the logarithms of a spectrum's magnitudes to a mask of them.

    Args:
        rate: samples a second of what goes in and comes out.
        n_fft, hop: of the spectrum, with Hann windows.
        width: of the recurrent layers.
        least: of the mask, so that quiet parts stay natural.

    >>> import rushlight as rl
    >>> from rushlight_audio.zoo import Denoiser
    >>> Denoiser()(rl.randn(2, 8000)).shape
    rushlight.Size([2, 8000])
    """

    def __init__(
        self,
        rate: int = 8000,
        n_fft: int = 256,
        hop: int = 64,
        width: int = 96,
        least: float = 0.03,
    ) -> None:
        super().__init__()
        self.config = {
            "rate": rate, "n_fft": n_fft, "hop": hop, "width": width, "least": least,
        }  # fmt: skip
        self.rate, self.least = rate, least
        self.sizes: dict[str, Any] = {"n_fft": n_fft, "hop_length": hop}
        self.register_buffer("window", rl.hann_window(n_fft), persistent=False)
        bins = n_fft // 2 + 1
        self.recurrent = nn.GRU(bins, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, bins)

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """Waveforms ``[B, T]`` without noise, of waveforms ``[B, T]`` at the network's rate."""
        level = waveform.square().mean(-1, keepdim=True).sqrt() + 1e-8
        spectrum = rl.stft(waveform / level, window=self.window, return_complex=True, **self.sizes)
        logs = (spectrum.abs() + 1e-4).log10().transpose(1, 2)
        mask = self.head(self.recurrent(logs)[0]).sigmoid().transpose(1, 2)
        mask = self.least + (1 - self.least) * mask
        length = waveform.shape[-1]
        clean = rl.istft(spectrum * mask, window=self.window, length=length, **self.sizes)
        return clean * level

    @rl.no_grad()
    def predict(self, sound: Sound, sample_rate: int | None = None) -> rl.Tensor:
        """A sound without noise, ``[1, T]`` at the network's `rate`.

        Args:
            sound: a path, a file object, or a waveform ``[C, T]`` or ``[T]``.
            sample_rate: of a waveform.

        Raises:
            ValueError: a sound shorter than a window.
        """
        waveform = heard(sound, sample_rate, self.rate)
        if len(waveform) < self.sizes["n_fft"]:
            raise ValueError(
                f"a sound needs {self.sizes['n_fft']} samples at {self.rate} Hz, this has "
                f"{len(waveform)}"
            )
        return self.forward(waveform[None])
