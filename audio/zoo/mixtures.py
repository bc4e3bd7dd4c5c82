"""Sounds to learn from, drawn anew each time: speech in noise, speech among silence."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn

Pair = tuple[rl.Tensor, rl.Tensor]


class Mixtures:
    """Draws mixtures of clips ``[T]`` of speech at 8 kHz with noise.

    Noise is coloured (a slope of the spectrum from white to brown), swells, may hum, and may be
    other speech at once, as a room full of people.
    """

    def __init__(self, clips: list[rl.Tensor], seed: int) -> None:
        self.clips, self.draw = clips, rl.Generator().manual_seed(seed)

    def uniform(self, low: float, high: float) -> float:
        """A number between two."""
        return low + (high - low) * float(rl.rand((), generator=self.draw))

    def below(self, count: int) -> int:
        """A whole number from 0 to count - 1."""
        return int(rl.randint(0, count, (), generator=self.draw))

    def clip(self, length: int) -> rl.Tensor:
        """A part of a clip, repeated where it is shorter."""
        clip = self.clips[self.below(len(self.clips))]
        clip = clip.repeat(-(-length // len(clip)))
        start = self.below(len(clip) - length + 1)
        return clip[start : start + length]

    def noise(self, length: int) -> rl.Tensor:
        """Noise ``[length]`` of power one."""
        spectrum = rl.fft.rfft(rl.randn(length, generator=self.draw))
        slope = (rl.arange(len(spectrum)) + 1.0) ** -self.uniform(0.0, 1.2)
        found = _even(rl.fft.irfft(spectrum * slope, length))
        times = rl.arange(length) / 8000
        if self.below(2):  # it swells
            found = found * (1 + 0.8 * (6.28 * self.uniform(0.2, 3) * times).sin())
        if not self.below(3):  # a hum with overtones
            base = self.uniform(40, 400)
            for overtone in range(1, 4):
                found = found + (6.28 * base * overtone * times).sin() / overtone
        if not self.below(3):  # voices
            crowd = rl.stack([_even(self.clip(length)) for _ in range(5)]).mean(0)
            found = _even(found) * self.uniform(0, 0.7) + _even(crowd)
        return _even(found)

    def noisy(self, clean: rl.Tensor, low: float, high: float) -> rl.Tensor:
        """A clip with noise that is `low` to `high` dB below it."""
        power = clean.square().mean().sqrt() + 1e-5
        return clean + self.noise(len(clean)) * power * 10 ** (-self.uniform(low, high) / 20)

    def quiet(self, clip: rl.Tensor) -> rl.Tensor:
        """A clip with a little noise, its end faded out somewhere."""
        times = rl.arange(len(clip)) / len(clip)
        return self.noisy(clip * (-self.uniform(0, 4) * times).exp(), 20, 60)

    def pairs(self, count: int, length: int, low: float, high: float) -> Pair:
        """Clips with noise and without, each ``[count, length]``, at drawn levels."""
        clean = rl.stack([_even(self.clip(length)) * self.uniform(0.02, 0.3) for _ in range(count)])
        return rl.stack([self.noisy(row, low, high) for row in clean]), clean

    def scenes(self, count: int, length: int, hop: int) -> Pair:
        """Waveforms ``[count, length]`` in which somebody speaks now and then, and one flag a
        frame ``[count, length // hop + 1]``."""
        scenes = [self.scene(length, hop) for _ in range(count)]
        return rl.stack([s for s, _ in scenes]), rl.stack([f for _, f in scenes])

    def scene(self, length: int, hop: int) -> Pair:
        """One of :meth:`scenes`."""
        sound, speech = rl.zeros(length), rl.zeros(length // hop + 1)
        level = self.uniform(0.02, 0.3)
        at = length if not self.below(5) else 0  # nobody speaks in every fifth
        while at < length:
            at += round(8000 * self.uniform(0.0, 1.5))
            clip = _even(self.clips[self.below(len(self.clips))])[: max(0, length - at)]
            if not len(clip):
                break
            sound[at : at + len(clip)] = clip * level * self.uniform(0.5, 1.5)
            at += len(clip)
        speech[:] = _active(sound, hop)[: len(speech)]
        return sound + self.noise(length) * level * 10 ** (-self.uniform(0, 35) / 20), speech


def _even(clip: rl.Tensor) -> rl.Tensor:
    return clip / (clip.square().mean().sqrt() + 1e-5)


def _active(sound: rl.Tensor, hop: int) -> rl.Tensor:
    """One for each frame of clean sound within 35 dB of its loudest, or within 80 ms of one."""
    padded = nn.functional.pad(sound, (hop, 2 * hop))
    power = padded.unfold(0, 2 * hop, hop).square().mean(-1)
    loud = (power > power.amax() * 10**-3.5).float()
    return nn.functional.max_pool1d(loud[None], 17, 1, 8)[0]
