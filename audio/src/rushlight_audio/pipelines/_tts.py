"""Bundles that speak: a processor of texts, Tacotron 2, and a vocoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import rushlight as rl
from rushlight import nn
from rushlight.nn.utils.rnn import pad_sequence
from rushlight_audio.functional import mu_law_decoding
from rushlight_audio.models import Tacotron2, WaveRNN
from rushlight_audio.pipelines._published import state_at
from rushlight_audio.transforms import GriffinLim, InverseMelScale

__all__ = ["Tacotron2TTSBundle", "bundles"]

SAMPLE_RATE = 22050
LETTERS = (
    "_",
    "-",
    "!",
    "'",
    "(",
    ")",
    ",",
    ".",
    ":",
    ";",
    "?",
    " ",
    *"abcdefghijklmnopqrstuvwxyz",
)
QUIETEST = 1e-5
QUIETEST_DB = -100.0
TACOTRON2 = {
    "mask_padding": False,
    "n_mels": 80,
    "n_frames_per_step": 1,
    "symbol_embedding_dim": 512,
    "encoder_embedding_dim": 512,
    "encoder_n_convolution": 3,
    "encoder_kernel_size": 5,
    "decoder_rnn_dim": 1024,
    "decoder_max_step": 2000,
    "decoder_dropout": 0.1,
    "decoder_early_stopping": True,
    "attention_rnn_dim": 1024,
    "attention_hidden_dim": 128,
    "attention_location_n_filter": 32,
    "attention_location_kernel_size": 31,
    "attention_dropout": 0.1,
    "prenet_dim": 256,
    "postnet_n_convolution": 5,
    "postnet_kernel_size": 5,
    "postnet_embedding_dim": 512,
    "gate_threshold": 0.5,
}
WAVERNN = {
    "upsample_scales": [5, 5, 11],
    "n_classes": 256,
    "hop_length": 275,
    "n_res_block": 10,
    "n_rnn": 512,
    "n_fc": 512,
    "kernel_size": 5,
    "n_freq": 80,
    "n_hidden": 128,
    "n_output": 128,
}


class _TextProcessor:
    """Texts as numbers of their letters, in lower case; what is none of `tokens` is left out."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """Letters and marks in the order of their numbers; the first is padding."""
        return LETTERS

    def __call__(self, texts: str | list[str]) -> tuple[rl.Tensor, rl.Tensor]:
        """Numbers ``[B, T]`` of one or several texts, padded, and their lengths ``[B]``."""
        texts = [texts] if isinstance(texts, str) else texts
        numbers = {letter: number for number, letter in enumerate(LETTERS)}
        rows = [[numbers[each] for each in text.lower() if each in numbers] for text in texts]
        lengths = rl.tensor([len(row) for row in rows], dtype=rl.int32)
        padded = pad_sequence([rl.tensor(row, dtype=rl.int64) for row in rows], batch_first=True)
        return padded, lengths


class _Vocoder(nn.Module):
    """From mel spectrograms to waveforms of `sample_rate` samples a second."""

    @property
    def sample_rate(self) -> int:
        """Samples a second."""
        return SAMPLE_RATE

    def forward(
        self, mel_spec: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """Waveforms ``[B, T]`` of logarithms of mel spectrograms ``[B, n_mels, frames]``, and
        lengths."""
        raise NotImplementedError("Vocoder: get_vocoder of a bundle makes one")


class WaveRNNVocoder(_Vocoder):
    """A vocoder with a :class:`~rushlight_audio.models.WaveRNN`; lengths are of samples."""

    def __init__(self, model: WaveRNN, min_level_db: float | None = QUIETEST_DB):
        super().__init__()
        self._model = model
        self._min_level_db = min_level_db

    def forward(
        self, mel_spec: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """See :class:`_Vocoder`."""
        levels = 20 * rl.log10(mel_spec.exp().clamp(min=QUIETEST))
        if self._min_level_db is not None:
            levels = (self._min_level_db - levels) / self._min_level_db
            levels = levels.clamp(min=0, max=1)
        waveform, lengths = self._model.infer(levels, lengths)
        most = 2**self._model.n_bits - 1
        steps = ((waveform + 1.0) / 2.0 * most).clamp(0, most).to(rl.int32)
        return mu_law_decoding(steps, self._model.n_classes).squeeze(1), lengths


class GriffinLimVocoder(_Vocoder):
    """A vocoder that finds phases by Griffin and Lim's method; `lengths` come back as given."""

    def __init__(self) -> None:
        super().__init__()
        self._inv_mel = InverseMelScale(
            n_stft=1024 // 2 + 1,
            n_mels=80,
            sample_rate=SAMPLE_RATE,
            f_min=0.0,
            f_max=8000.0,
            mel_scale="slaney",
            norm="slaney",
        )
        self._griffin_lim = GriffinLim(n_fft=1024, power=1, hop_length=256, win_length=1024)

    @rl.no_grad()
    def forward(
        self, mel_spec: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """See :class:`_Vocoder`."""
        return self._griffin_lim(self._inv_mel(mel_spec.exp())), lengths


@dataclass
class Tacotron2TTSBundle:
    """A processor of texts, a Tacotron 2 and a vocoder that fit together.

    >>> from rushlight_audio.pipelines import TACOTRON2_GRIFFINLIM_CHAR_LJSPEECH
    >>> tokens, lengths = TACOTRON2_GRIFFINLIM_CHAR_LJSPEECH.get_text_processor()("Hi")
    >>> tokens
    tensor([[19, 20]])
    """

    class TextProcessor(_TextProcessor):
        """See :meth:`get_text_processor`."""

    Vocoder: ClassVar[type[nn.Module]] = _Vocoder

    _tacotron2_path: str
    _tacotron2_params: dict[str, Any]
    _wavernn_path: str | None = None
    _wavernn_params: dict[str, Any] | None = None
    _phones: bool = False

    def get_text_processor(self, *, dl_kwargs: Mapping[str, Any] | None = None) -> TextProcessor:
        """From texts to numbers.

        Raises NotImplementedError for bundles of phonemes, which need the networks of
        DeepPhonemizer.
        """
        return _no_phones() if self._phones else self.TextProcessor()

    def get_vocoder(self, *, dl_kwargs: Mapping[str, Any] | None = None) -> _Vocoder:
        """From spectrograms to waveforms; `dl_kwargs` as of :meth:`get_tacotron2`."""
        if self._wavernn_path is None:
            return GriffinLimVocoder()
        model = WaveRNN(**(self._wavernn_params or {}))
        model.load_state_dict(state_at(self._wavernn_path, dl_kwargs))
        return WaveRNNVocoder(model.eval())

    def get_tacotron2(self, *, dl_kwargs: Mapping[str, Any] | None = None) -> Tacotron2:
        """From numbers to spectrograms.

        `dl_kwargs` are arguments of :func:`rushlight.hub.load_state_dict_from_url`. Without network
        the file must be in the folder that its error names.
        """
        model = Tacotron2(**self._tacotron2_params)
        model.load_state_dict(state_at(self._tacotron2_path, dl_kwargs))
        return model.eval()


def _no_phones() -> NoReturn:
    raise NotImplementedError(
        "this bundle reads phonemes, which DeepPhonemizer's networks make of texts: use one of the "
        "bundles with CHAR in their name, or give get_tacotron2() numbers of phonemes of your own"
    )


def bundles() -> dict[str, Tacotron2TTSBundle]:
    """The published bundles by name."""
    found = {}
    for kind, symbols, name in (("CHAR", 38, "characters"), ("PHONE", 96, "phonemes")):
        params = {**TACOTRON2, "n_symbol": symbols}
        start, phones = f"tacotron2_english_{name}_1500_epochs", kind == "PHONE"
        found[f"TACOTRON2_GRIFFINLIM_{kind}_LJSPEECH"] = Tacotron2TTSBundle(
            f"{start}_ljspeech.pth", params, _phones=phones
        )
        found[f"TACOTRON2_WAVERNN_{kind}_LJSPEECH"] = Tacotron2TTSBundle(
            f"{start}_wavernn_ljspeech.pth",
            params,
            "wavernn_10k_epochs_8bits_ljspeech.pth",
            WAVERNN,
            phones,
        )
    return found
