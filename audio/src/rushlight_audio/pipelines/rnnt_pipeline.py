"""The bundle that recognises speech with a transducer, whole or as a stream."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio.models import RNNT, RNNTBeamSearch, emformer_rnnt_base
from rushlight_audio.pipelines._pieces import read_pieces
from rushlight_audio.pipelines._published import asset, with_weights
from rushlight_audio.transforms import MelSpectrogram

__all__ = ["EMFORMER_RNNT_BASE_LIBRISPEECH", "RNNTBundle"]

# Power of a sample's full scale in 16 bits: spectrograms are those of whole numbers.
GAIN = float(2**15 - 1) ** 2
ORDINARY = 1


class _FeatureExtractor(nn.Module):
    """Features of a waveform: logarithms of mel spectrograms, linear near 0, normalised."""

    def __init__(self, spectrogram: nn.Module, stats: Path, right_padding: int):
        super().__init__()
        self.spectrogram = spectrogram
        self.right_padding = right_padding
        values = json.loads(stats.read_text(encoding="utf-8"))
        self.register_buffer("mean", rl.tensor(values["mean"]), persistent=False)
        self.register_buffer("invstddev", rl.tensor(values["invstddev"]), persistent=False)

    def forward(self, input: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """Features ``[T, n_mels]`` of a waveform ``[samples]`` and how many frames there are."""
        power = self.spectrogram(input).transpose(1, 0) * GAIN
        levels = rl.where(power > math.e, power.clamp(min=math.e).log(), power / math.e)
        features = (levels - self.mean) * self.invstddev
        features = nn.functional.pad(features, (0, 0, 0, self.right_padding))
        return features, rl.tensor([features.shape[0]])


class _TokenProcessor:
    """Text of numbers of pieces."""

    def __init__(self, sp_model_path: str | Path):
        self._pieces = read_pieces(sp_model_path)

    def __call__(self, tokens: list[int], lstrip: bool = True) -> str:
        """The text; without `lstrip` a space stands before a first word."""
        known = [self._pieces[token] for token in tokens if token < len(self._pieces)]
        text = "".join(text for text, kind in known if kind == ORDINARY).replace("\u2581", " ")
        return text.lstrip() if lstrip else text


@dataclass
class RNNTBundle:
    """A transducer, the features that it takes and the text of what it gives.

    >>> EMFORMER_RNNT_BASE_LIBRISPEECH.hop_length
    160
    """

    class FeatureExtractor(_FeatureExtractor):
        """See :meth:`get_feature_extractor`."""

    class TokenProcessor(_TokenProcessor):
        """See :meth:`get_token_processor`."""

    _rnnt_path: str
    _rnnt_factory_func: Callable[[], RNNT]
    _global_stats_path: str
    _sp_model_path: str
    _right_padding: int
    _blank: int
    _sample_rate: int
    _n_fft: int
    _n_mels: int
    _hop_length: int
    _segment_length: int
    _right_context_length: int

    @property
    def sample_rate(self) -> int:
        """Samples a second."""
        return self._sample_rate

    @property
    def n_fft(self) -> int:
        """Samples of a frame."""
        return self._n_fft

    @property
    def n_mels(self) -> int:
        """Mel bands."""
        return self._n_mels

    @property
    def hop_length(self) -> int:
        """Samples between frames."""
        return self._hop_length

    @property
    def segment_length(self) -> int:
        """Frames of a segment of a stream."""
        return self._segment_length

    @property
    def right_context_length(self) -> int:
        """Frames to the right that a segment sees."""
        return self._right_context_length

    def _get_model(self) -> RNNT:
        return with_weights(self._rnnt_factory_func(), self._rnnt_path)

    def get_decoder(self) -> RNNTBeamSearch:
        """A beam search with the network and its weights. Without network the file must be in the
        folder that the error names."""
        return RNNTBeamSearch(self._get_model(), self._blank)

    def _features(self, right_padding: int) -> FeatureExtractor:
        stats = asset(self._global_stats_path)
        spectrogram: Any = MelSpectrogram(
            sample_rate=self.sample_rate,
            n_fft=self.n_fft,
            n_mels=self.n_mels,
            hop_length=self.hop_length,
        )
        return RNNTBundle.FeatureExtractor(spectrogram, stats, right_padding)

    def get_feature_extractor(self) -> FeatureExtractor:
        """Features of a whole utterance."""
        return self._features(self._right_padding)

    def get_streaming_feature_extractor(self) -> FeatureExtractor:
        """Features of a part of a stream."""
        return self._features(0)

    def get_token_processor(self) -> TokenProcessor:
        """Text of the symbols of a hypothesis."""
        return RNNTBundle.TokenProcessor(asset(self._sp_model_path))


EMFORMER_RNNT_BASE_LIBRISPEECH = RNNTBundle(
    _rnnt_path="models/emformer_rnnt_base_librispeech.pt",
    _rnnt_factory_func=partial(emformer_rnnt_base, num_symbols=4097),
    _global_stats_path="pipeline-assets/global_stats_rnnt_librispeech.json",
    _sp_model_path="pipeline-assets/spm_bpe_4096_librispeech.model",
    _right_padding=4,
    _blank=4096,
    _sample_rate=16000,
    _n_fft=400,
    _n_mels=80,
    _hop_length=160,
    _segment_length=16,
    _right_context_length=4,
)
