"""What a recogniser is measured against: the words of the most similar prompt."""

from __future__ import annotations

from speech import RATE, Clip

import rushlight as rl
from rushlight.nn.utils.rnn import pad_sequence
from rushlight_audio.transforms import MelSpectrogram
from rushlight_audio.zoo.sounds import log_mels

LONGEST = 8 * RATE  # samples of a template


class Templates:
    """Prompts whose words are known, found again by dynamic time warping.

    Each frame of a query (25 ms) goes with the template's frame of the one before, the next or the
    one after it (Sakoe and Chiba 1978, slopes 0 to 2); cost is the distance of spectra.
    """

    def __init__(self, clips: list[Clip]) -> None:
        self.spectrogram = MelSpectrogram(RATE, 256, hop_length=200, n_mels=40)
        kept = [clip for clip in clips if len(clip.waveform) <= LONGEST]
        self.texts = [clip.text for clip in kept]
        frames = [self._frames(clip) for clip in kept]
        self.last = rl.tensor([len(each) - 1 for each in frames])
        self.frames = pad_sequence(frames, batch_first=True)

    def nearest(self, clip: Clip) -> str:
        """The words of the template most like a clip."""
        query = self._frames(clip)
        costs = rl.cdist(query, self.frames.flatten(0, 1)).unflatten(1, self.frames.shape[:2])
        total = rl.full(self.frames.shape[:2], float("inf"))
        total[:, 0] = costs[0, :, 0]
        for cost in costs[1:]:
            one = rl.nn.functional.pad(total[:, :-1], (1, 0), value=float("inf"))
            two = rl.nn.functional.pad(total[:, :-2], (2, 0), value=float("inf"))
            total = cost + rl.minimum(total, rl.minimum(one, two))
        ends = total.gather(1, self.last[:, None])[:, 0]
        return self.texts[int(ends.argmin())]

    def _frames(self, clip: Clip) -> rl.Tensor:
        return log_mels(self.spectrogram, clip.waveform).T
