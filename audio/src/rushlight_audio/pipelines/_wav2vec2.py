"""Bundles of wav2vec 2.0, HuBERT and WavLM: how a network is built, where its weights are, and what
its outputs mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio.functional import TokenSpan, forced_align, merge_tokens
from rushlight_audio.models import Wav2Vec2Model, wav2vec2_model, wavlm_model
from rushlight_audio.pipelines._published import state_at, wav2vec2_facts

__all__ = ["Wav2Vec2ASRBundle", "Wav2Vec2Bundle", "Wav2Vec2FABundle", "bundles"]

BUILDERS: dict[str, Callable[..., Wav2Vec2Model]] = {
    "Wav2Vec2": wav2vec2_model,
    "WavLM": wavlm_model,
}


class PreparedModel(nn.Module):
    """A :class:`~rushlight_audio.models.Wav2Vec2Model` with what its weights expect around it.

    Args:
        model: the network.
        normalize_waveform: bring the batch of waveforms to mean 0 and deviation 1.
        apply_log_softmax: give log probabilities.
        append_star: add a token for anything, whose log probability is 0.
    """

    def __init__(
        self,
        model: Wav2Vec2Model,
        normalize_waveform: bool,
        apply_log_softmax: bool,
        append_star: bool,
    ):
        super().__init__()
        self.model = model
        self.normalize_waveform = normalize_waveform
        self.apply_log_softmax = apply_log_softmax
        self.append_star = append_star

    def _normalised(self, waveforms: rl.Tensor) -> rl.Tensor:
        if self.normalize_waveform:
            return nn.functional.layer_norm(waveforms, waveforms.shape)
        return waveforms

    def forward(
        self, waveforms: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """Outputs of waveforms ``[B, T]`` and their lengths; see the network's ``forward``."""
        output, lengths = self.model(self._normalised(waveforms), lengths)
        if self.apply_log_softmax:
            output = nn.functional.log_softmax(output, dim=-1)
        if self.append_star:
            output = nn.functional.pad(output, (0, 1))
        return output, lengths

    def extract_features(
        self,
        waveforms: rl.Tensor,
        lengths: rl.Tensor | None = None,
        num_layers: int | None = None,
    ) -> tuple[list[rl.Tensor], rl.Tensor | None]:
        """What the layers made; see the network's ``extract_features``."""
        return self.model.extract_features(self._normalised(waveforms), lengths, num_layers)


@dataclass
class Wav2Vec2Bundle:
    """A network that makes representations of speech.

    >>> from rushlight_audio.pipelines import WAV2VEC2_BASE
    >>> WAV2VEC2_BASE.sample_rate
    16000
    """

    _path: str
    _params: dict[str, Any]
    _sample_rate: float
    _normalize_waveform: bool
    _model_type: str

    @property
    def sample_rate(self) -> float:
        """Samples a second that the network was trained with."""
        return self._sample_rate

    def _get_state_dict(self, dl_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
        return state_at(self._path, dl_kwargs)

    def _loaded(self, dl_kwargs: Mapping[str, Any] | None) -> Wav2Vec2Model:
        """The network with its weights, for evaluation."""
        if self._model_type not in BUILDERS:
            raise ValueError(f"model type {self._model_type!r} is none of {', '.join(BUILDERS)}")
        model = BUILDERS[self._model_type](**self._params)
        model.load_state_dict(self._get_state_dict(dl_kwargs))
        return model.eval()

    def get_model(self, *, dl_kwargs: Mapping[str, Any] | None = None) -> nn.Module:
        """The network with its weights, for evaluation.

        `dl_kwargs` are arguments of :func:`rushlight.hub.load_state_dict_from_url`. Without network
        the file must be in the folder that its error names.
        """
        model = self._loaded(dl_kwargs)
        if not self._normalize_waveform:
            return model
        return PreparedModel(model, True, False, False).eval()


@dataclass
class Wav2Vec2ASRBundle(Wav2Vec2Bundle):
    """A network that recognises speech: tokens by CTC.

    >>> from rushlight_audio.pipelines import WAV2VEC2_ASR_BASE_960H
    >>> WAV2VEC2_ASR_BASE_960H.get_labels()[:4]
    ('-', '|', 'E', 'T')
    """

    _labels: tuple[str, ...]
    _remove_aux_axis: tuple[int, ...] = (1, 2, 3)

    def get_labels(self, *, blank: str = "-") -> tuple[str, ...]:
        """Tokens in the order of the outputs, the blank first."""
        return (blank, *self._labels)

    def _get_state_dict(self, dl_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
        """The weights without those of tokens that are never said."""
        state = dict(super()._get_state_dict(dl_kwargs))
        for key in ("aux.weight", "aux.bias"):
            rows = [n for n in range(len(state[key])) if n not in self._remove_aux_axis]
            state[key] = state[key][rows]
        return state


class _Tokenizer:
    """Words as numbers of their letters."""

    def __init__(self, dictionary: dict[str, int]):
        self.dictionary = dictionary

    def __call__(self, transcript: list[str]) -> list[list[int]]:
        """Numbers of the letters of each word; KeyError for a letter without one."""
        return [[self.dictionary[letter] for letter in word] for word in transcript]


class _Aligner:
    """When each token of each word was said."""

    def __init__(self, blank: int):
        self.blank = blank

    def __call__(self, emission: rl.Tensor, tokens: list[list[int]]) -> list[list[TokenSpan]]:
        """Spans of frames, with probabilities, of the tokens of each word.

        Args:
            emission: log probabilities ``[T, tokens]``.
            tokens: numbers of the tokens of each word.
        """
        if emission.ndim != 2:
            raise ValueError(f"The input emission must be 2D. Found: {emission.shape}")
        flat = [token for word in tokens for token in word]
        targets = rl.tensor([flat], dtype=rl.int32, device=emission.device)
        aligned, scores = forced_align(emission.unsqueeze(0), targets, blank=self.blank)
        spans = iter(merge_tokens(aligned[0], scores[0].exp(), blank=self.blank))
        return [[next(spans) for _ in word] for word in tokens]


@dataclass
class Wav2Vec2FABundle(Wav2Vec2ASRBundle):
    """A network that finds when known words were said.

    >>> from rushlight_audio.pipelines import MMS_FA
    >>> MMS_FA.get_tokenizer()(["in", "a"])
    [[2, 4], [1]]
    """

    class Tokenizer(_Tokenizer):
        """See :meth:`get_tokenizer`."""

    class Aligner(_Aligner):
        """See :meth:`get_aligner`."""

    def get_labels(self, star: str | None = "*", blank: str = "-") -> tuple[str, ...]:
        """Tokens in the order of the outputs, the blank first; `star`, which stands for anything,
        last."""
        labels = (blank, *self._labels)
        return labels if star is None else (*labels, star)

    def get_model(
        self, with_star: bool = True, *, dl_kwargs: Mapping[str, Any] | None = None
    ) -> nn.Module:
        """The network with its weights, which gives log probabilities; with one of the star if
        `with_star`."""
        model = self._loaded(dl_kwargs)
        return PreparedModel(model, self._normalize_waveform, True, with_star).eval()

    def get_dict(self, star: str | None = "*", blank: str = "-") -> dict[str, int]:
        """Numbers of tokens."""
        return {label: number for number, label in enumerate(self.get_labels(star, blank))}

    def get_tokenizer(self) -> Tokenizer:
        """From words to numbers of tokens."""
        return Wav2Vec2FABundle.Tokenizer(self.get_dict())

    def get_aligner(self) -> Aligner:
        """From outputs and numbers of tokens to spans of frames."""
        return Wav2Vec2FABundle.Aligner(blank=0)


KINDS = {each.__name__: each for each in (Wav2Vec2Bundle, Wav2Vec2ASRBundle, Wav2Vec2FABundle)}


def bundles() -> dict[str, Wav2Vec2Bundle]:
    """The published bundles by name."""
    found = {}
    for name, facts in wav2vec2_facts().items():
        params = dict(facts["params"])
        key = "extractor_conv_layer_config"
        params[key] = [tuple(layer) for layer in params[key]]
        more = {}
        if "labels" in facts:
            more["_labels"] = tuple(facts["labels"])
            more["_remove_aux_axis"] = tuple(facts["remove_aux_axis"])
        found[name] = KINDS[facts["kind"]](
            _path=facts["path"],
            _params=params,
            _sample_rate=facts["sample_rate"],
            _normalize_waveform=facts["normalize_waveform"],
            _model_type=facts["model_type"],
            **more,
        )
    return found
