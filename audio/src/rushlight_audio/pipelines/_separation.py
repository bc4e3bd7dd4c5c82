"""Bundles that separate sources and that judge speech."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rushlight import nn
from rushlight_audio.models import (
    SquimObjective,
    SquimSubjective,
    conv_tasnet_base,
    hdemucs_high,
    squim_objective_base,
    squim_subjective_base,
)
from rushlight_audio.pipelines._published import with_weights

__all__ = [
    "CONVTASNET_BASE_LIBRI2MIX",
    "HDEMUCS_HIGH_MUSDB",
    "HDEMUCS_HIGH_MUSDB_PLUS",
    "SQUIM_OBJECTIVE",
    "SQUIM_SUBJECTIVE",
    "SourceSeparationBundle",
    "SquimObjectiveBundle",
    "SquimSubjectiveBundle",
]


@dataclass
class SourceSeparationBundle:
    """A network that separates sources.

    >>> CONVTASNET_BASE_LIBRI2MIX.sample_rate
    8000
    """

    _model_path: str
    _model_factory_func: Callable[[], nn.Module]
    _sample_rate: int

    @property
    def sample_rate(self) -> int:
        """Samples a second that the network was trained with."""
        return self._sample_rate

    def get_model(self) -> nn.Module:
        """The network with its weights, for evaluation. Without network the file must be in the
        folder that the error names."""
        return with_weights(self._model_factory_func(), self._model_path)


@dataclass
class _SquimBundle:
    """Weights of a network that estimates the quality of speech."""

    _path: str
    _sample_rate: float

    @property
    def sample_rate(self) -> float:
        """Samples a second that the network was trained with."""
        return self._sample_rate


class SquimObjectiveBundle(_SquimBundle):
    """A network that estimates STOI, PESQ and SI-SDR of speech."""

    def get_model(self) -> SquimObjective:
        """The network with its weights, for evaluation. Without network the file must be in the
        folder that the error names."""
        return with_weights(squim_objective_base(), f"models/{self._path}")


class SquimSubjectiveBundle(_SquimBundle):
    """A network that estimates the mean opinion score of speech."""

    def get_model(self) -> SquimSubjective:
        """The network with its weights, for evaluation. Without network the file must be in the
        folder that the error names."""
        return with_weights(squim_subjective_base(), f"models/{self._path}")


CONVTASNET_BASE_LIBRI2MIX = SourceSeparationBundle(
    _model_path="models/conv_tasnet_base_libri2mix.pt",
    _model_factory_func=partial(conv_tasnet_base, num_sources=2),
    _sample_rate=8000,
)
MUSIC = partial(hdemucs_high, sources=["drums", "bass", "other", "vocals"])
HDEMUCS_HIGH_MUSDB_PLUS = SourceSeparationBundle(
    _model_path="models/hdemucs_high_trained.pt", _model_factory_func=MUSIC, _sample_rate=44100
)
HDEMUCS_HIGH_MUSDB = SourceSeparationBundle(
    _model_path="models/hdemucs_high_musdbhq_only.pt",
    _model_factory_func=MUSIC,
    _sample_rate=44100,
)
SQUIM_OBJECTIVE = SquimObjectiveBundle("squim_objective_dns2020.pth", _sample_rate=16000)
SQUIM_SUBJECTIVE = SquimSubjectiveBundle("squim_subjective_bvcc_daps.pth", _sample_rate=16000)
