"""Speech of a text: FastSpeech 2 over characters, phases by Griffin and Lim's method."""

from __future__ import annotations

import rushlight as rl
from rushlight_audio.models import FastSpeech2
from rushlight_audio.models.fastspeech2 import Speech
from rushlight_audio.transforms import GriffinLim, InverseMelScale, MelSpectrogram
from rushlight_audio.zoo.files import Packaged

__all__ = ["Synthesiser"]

_PAUSES = str.maketrans(",.;:!?-\n\t", " " * 9)


class Synthesiser(Packaged):
    """A small FastSpeech 2 from characters to a logarithmic mel spectrogram, and that as sound.

    Args:
        labels: characters in the order of their indices; the first fills batches up, a space
            parts words.
        rate: samples a second of the sound.
        n_fft, hop, mels: of the spectrogram.
        width: of the network's vectors.
        layers: of its encoder, and of its decoder.
        iterations: of Griffin and Lim's method.

    >>> import rushlight as rl
    >>> from rushlight_audio.zoo import Synthesiser
    >>> network = Synthesiser("-ab ", width=8, layers=1).eval()
    >>> network(rl.tensor([[1, 3, 2]]), durations=rl.tensor([[4, 1, 3]])).mel.shape
    rushlight.Size([1, 8, 64])
    """

    floor = 1e-3  # magnitudes below it are silence
    mean, spread = -1.6, 2.4  # of the logarithms of the prompts' spectrograms

    def __init__(
        self,
        labels: str,
        rate: int = 8000,
        n_fft: int = 512,
        hop: int = 100,
        mels: int = 64,
        width: int = 112,
        layers: int = 2,
        iterations: int = 60,
    ) -> None:
        super().__init__()
        self.config = {
            "labels": labels, "rate": rate, "n_fft": n_fft, "hop": hop, "mels": mels,
            "width": width, "layers": layers, "iterations": iterations,
        }  # fmt: skip
        self.labels, self.rate, self.hop = labels, rate, hop
        self.spectrogram = MelSpectrogram(rate, n_fft, hop_length=hop, n_mels=mels, power=1.0)
        self.inverse = InverseMelScale(n_fft // 2 + 1, mels, rate)
        self.phases = GriffinLim(n_fft, iterations, hop_length=hop, power=1.0, rand_init=False)
        self.network = FastSpeech2(_sizes(len(labels), mels, width, layers))

    def forward(
        self,
        symbols: rl.Tensor,
        mask: rl.Tensor | None = None,
        durations: rl.Tensor | None = None,
        pitch: rl.Tensor | None = None,
        energy: rl.Tensor | None = None,
        speed: float = 1.0,
    ) -> Speech:
        """What :class:`rushlight_audio.models.FastSpeech2` makes of symbols ``[B, T]``."""
        return self.network(symbols, mask, durations, pitch, energy, speed)

    def levels(self, waveform: rl.Tensor) -> rl.Tensor:
        """The spectrogram ``[..., frames, mels]`` that the network learns, of waveforms
        ``[..., T]``: logarithms, about of mean 0 and deviation 1 in speech."""
        logs = (self.spectrogram(waveform) + self.floor).log().transpose(-1, -2)
        return (logs - self.mean) / self.spread

    @rl.no_grad()
    def sound(self, levels: rl.Tensor) -> rl.Tensor:
        """Waveforms ``[..., T]`` of spectrograms ``[..., frames, mels]``."""
        magnitudes = (levels.transpose(-1, -2) * self.spread + self.mean).exp() - self.floor
        return self.phases(self.inverse(magnitudes.clamp(min=0)))

    def symbols(self, text: str) -> rl.Tensor:
        """The indices ``[T]`` of a text's characters, between two spaces: small letters, and
        spaces for punctuation.

        Raises:
            ValueError: a text without letters, or with characters the network does not know.
        """
        words = " ".join(text.lower().translate(_PAUSES).split())
        unknown = sorted(set(words) - set(self.labels[1:]))
        if unknown:
            raise ValueError(
                f"text has characters that the network cannot say: {unknown}; spell out numbers "
                "and signs"
            )
        if not words:
            raise ValueError(f"text has nothing to say: {text!r}")
        return rl.tensor([self.labels.index(each) for each in f" {words} "])

    @rl.no_grad()
    def predict(self, text: str, speed: float = 1.0) -> rl.Tensor:
        """A text as speech ``[1, T]`` at the network's `rate`.

        Args:
            text: English words; numbers and signs spelled out.
            speed: 2 speaks twice as fast.

        Raises:
            ValueError: a text that cannot be said, or a speed that is not positive.
        """
        if not speed > 0:
            raise ValueError(f"speed must be positive, got {speed}")
        levels = self.forward(self.symbols(text)[None], speed=speed).mel
        return self.sound(levels)


def _sizes(symbols: int, mels: int, width: int, layers: int) -> dict[str, int | float]:
    """FastSpeech 2's sizes for little data."""
    sizes: dict[str, int | float] = {
        "hidden_size": width, "vocab_size": symbols, "num_mel_bins": mels,
        "positionwise_conv_kernel_size": 1, "decoder_kernel_size": 15,
        "pitch_predictor_layers": 2, "pitch_predictor_kernel_size": 3,
        "speech_decoder_postnet_layers": 3, "speech_decoder_postnet_units": width,
    }  # fmt: skip
    for part in ("encoder", "decoder"):
        sizes |= {f"{part}_layers": layers, f"{part}_linear_units": 2 * width}
        for kind in ("dropout", "positional_dropout", "attention_dropout"):
            sizes[f"{part}_{kind}_rate"] = 0.1
    return sizes | {f"{each}_predictor_channels": width for each in ("duration", "pitch", "energy")}
