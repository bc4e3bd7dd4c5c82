"""When somebody speaks: a small recurrent network over mel spectrograms."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_audio.transforms import MelSpectrogram
from rushlight_audio.zoo.files import Packaged
from rushlight_audio.zoo.sounds import Sound, heard, log_mels

__all__ = ["VoiceActivity"]


class VoiceActivity(Packaged):
    """Two convolutions over time and a recurrent layer in both directions; one number a frame.

    Args:
        rate: samples a second of what the network hears.
        hop: samples from one frame to the next.
        mels: bands of the spectrogram.
        width: channels.
        threshold: probability from which a frame is speech.

    >>> import rushlight as rl
    >>> from rushlight_audio.zoo import VoiceActivity
    >>> VoiceActivity()(rl.randn(2, 8000)).shape  # a number each 10 ms
    rushlight.Size([2, 101])
    """

    shortest = 0.1  # seconds: shorter pauses and shorter speech do not count

    def __init__(
        self,
        rate: int = 8000,
        hop: int = 80,
        mels: int = 40,
        width: int = 48,
        threshold: float = 0.5,
    ) -> None:
        super().__init__()
        self.config = {
            "rate": rate, "hop": hop, "mels": mels, "width": width, "threshold": threshold,
        }  # fmt: skip
        self.rate, self.hop, self.threshold = rate, hop, threshold
        self.spectrogram = MelSpectrogram(rate, 256, hop_length=hop, n_mels=mels)
        self.layers = nn.Sequential(
            nn.Conv1d(mels, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU(),
        )  # fmt: skip
        self.recurrent = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, 1)

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, frames]`` of waveforms ``[B, T]`` at the network's rate."""
        found = self.layers(log_mels(self.spectrogram, waveform))
        return self.head(self.recurrent(found.transpose(1, 2))[0]).squeeze(-1)

    @rl.no_grad()
    def probabilities(self, sound: Sound, sample_rate: int | None = None) -> rl.Tensor:
        """The probability of speech ``[frames]``, of a frame each ``hop / rate`` seconds. Digital
        silence is no speech.

        Args:
            sound: a path, a file object, or a waveform ``[C, T]`` or ``[T]``.
            sample_rate: of a waveform.
        """
        waveform = heard(sound, sample_rate, self.rate)
        if not float(waveform.abs().amax()):
            return rl.zeros(len(waveform) // self.hop + 1)
        return self.forward(waveform[None])[0].sigmoid()

    def predict(self, sound: Sound, sample_rate: int | None = None) -> list[dict[str, float]]:
        """Where there is speech: dicts of ``start`` and ``end`` in seconds.

        Args:
            sound: a path, a file object, or a waveform ``[C, T]`` or ``[T]``.
            sample_rate: of a waveform.
        """
        flags = (self.probabilities(sound, sample_rate) >= self.threshold).tolist()
        least = round(self.shortest * self.rate / self.hop)
        runs = _runs(_without_short(_without_short(flags, False, least), True, least))
        step = self.hop / self.rate
        return [{"start": start * step, "end": end * step} for start, end, flag in runs if flag]


def _runs(flags: list[bool]) -> list[tuple[int, int, bool]]:
    """Begin, end and value of runs of equal flags."""
    runs: list[tuple[int, int, bool]] = []
    for index, flag in enumerate(flags):
        if runs and runs[-1][2] == flag:
            runs[-1] = (runs[-1][0], index + 1, flag)
        else:
            runs.append((index, index + 1, flag))
    return runs


def _without_short(flags: list[bool], kind: bool, least: int) -> list[bool]:
    """The flags, runs of one kind that are shorter than `least` turned over; those at the ends of
    a recording stay."""
    out = list(flags)
    for start, end, flag in _runs(flags):
        if flag == kind and end - start < least and start and end < len(flags):
            out[start:end] = [not kind] * (end - start)
    return out
