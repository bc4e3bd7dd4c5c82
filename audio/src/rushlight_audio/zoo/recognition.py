"""What somebody says: characters of speech by connectionist temporal classification (CTC)."""

from __future__ import annotations

import itertools
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio.functional import TokenSpan, merge_tokens
from rushlight_audio.transforms import MelSpectrogram, SpecAugment
from rushlight_audio.zoo.files import Packaged
from rushlight_audio.zoo.sounds import Sound, heard, log_mels

__all__ = ["Recogniser"]


class Recogniser(Packaged):
    """Convolutions over a mel spectrogram, recurrent layers in both directions, and the
    log-probabilities of characters, trained by CTC (Graves et al., ICML 2006).

    In training parts of the spectrogram are masked (Park et al., SpecAugment, 2019).

    Args:
        labels: characters in the order of the outputs; the first is CTC's blank, a space parts
            words.
        rate: samples a second of what the network hears.
        hop: samples from one frame of the spectrogram to the next; an output lasts two of them.
        mels: bands of the spectrogram.
        width: channels of the convolutions.
        hidden: units of each direction of the recurrent layers.
        layers: number of recurrent layers.
        dropout: before each recurrent layer and before the last layer, in training.

    >>> import rushlight as rl
    >>> from rushlight_audio.zoo import Recogniser
    >>> Recogniser("-ab ", width=16, hidden=8)(rl.randn(2, 8000)).shape  # an output each 25 ms
    rushlight.Size([2, 41, 4])
    """

    def __init__(
        self,
        labels: str,
        rate: int = 8000,
        hop: int = 100,
        mels: int = 40,
        width: int = 160,
        hidden: int = 160,
        layers: int = 2,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.config = {
            "labels": labels, "rate": rate, "hop": hop, "mels": mels, "width": width,
            "hidden": hidden, "layers": layers, "dropout": dropout,
        }  # fmt: skip
        self.labels, self.rate, self.step = labels, rate, 2 * hop
        self.spectrogram = MelSpectrogram(rate, 256, hop_length=hop, n_mels=mels)
        self.mask = SpecAugment(2, 16, 2, 8, p=0.1)
        self.layers = nn.Sequential(
            nn.Conv1d(mels, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 5, stride=2, padding=2), nn.BatchNorm1d(width), nn.ReLU(),
        )  # fmt: skip
        sizes = [width] + [2 * hidden] * (layers - 1)
        self.recurrent = nn.ModuleList(
            nn.GRU(size, hidden, batch_first=True, bidirectional=True) for size in sizes
        )
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(2 * hidden, len(labels))

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        """Log-probabilities ``[B, frames, labels]`` of waveforms ``[B, T]`` at the network's
        rate."""
        levels = log_mels(self.spectrogram, waveform)
        if self.training:
            levels = self.mask(levels)
        found = self.layers(levels).transpose(1, 2)
        for layer in self.recurrent:
            found = layer(self.dropout(found))[0]
        return self.head(self.dropout(found)).log_softmax(-1)

    @rl.no_grad()
    def emissions(self, sound: Sound, sample_rate: int | None = None) -> rl.Tensor:
        """The log-probabilities ``[frames, labels]`` of a sound, such as
        `rushlight_audio.models.decoder.ctc_decoder` searches with a language model.

        Args:
            sound: a path, a file object, or a waveform ``[C, T]`` or ``[T]``.
            sample_rate: of a waveform.
        """
        return self.forward(heard(sound, sample_rate, self.rate)[None])[0]

    def predict(self, sound: Sound, sample_rate: int | None = None) -> dict[str, Any]:
        """The ``text`` that is heard, and its ``words``: dicts of ``word``, ``start`` and ``end``
        in seconds and ``score``, the mean probability of its characters. Digital silence has none.

        Args:
            sound: a path, a file object, or a waveform ``[C, T]`` or ``[T]``.
            sample_rate: of a waveform.
        """
        waveform = heard(sound, sample_rate, self.rate)
        if not float(waveform.abs().amax()):
            return {"text": "", "words": []}
        scores, best = self.emissions(waveform, self.rate).max(-1)
        words: list[list[TokenSpan]] = []
        space = self.labels.index(" ")
        spans = merge_tokens(best, scores.exp())
        for is_space, word in itertools.groupby(spans, lambda span: span.token == space):
            if not is_space:
                words.append(list(word))
        found = [self._timed(word) for word in words]
        return {"text": " ".join(word["word"] for word in found), "words": found}

    def _timed(self, spans: list[TokenSpan]) -> dict[str, Any]:
        """The word of some characters."""
        step = self.step / self.rate
        return {
            "word": "".join(self.labels[span.token] for span in spans),
            "start": spans[0].start * step,
            "end": spans[-1].end * step,
            "score": sum(span.score for span in spans) / len(spans),
        }
