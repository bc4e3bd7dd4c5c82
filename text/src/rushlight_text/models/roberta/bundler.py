"""Published encoders: their sizes, where their weights are, and their transforms."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.hub import load_state_dict_from_url
from rushlight_text import transforms as T
from rushlight_text.models._published import published, state_dict_of
from rushlight_text.models.roberta.model import RobertaEncoderConf, RobertaModel

__all__ = ["RobertaBundle", "roberta_transform", "xlmr_transform"]


@dataclass
class RobertaBundle:
    """A published encoder.

    Example
    -------
    >>> bundle = RobertaBundle(RobertaEncoderConf(12, 8, 16, 1, 20, 2, 1))
    >>> bundle.get_model(load_weights=False)(rl.tensor([[0, 5, 2]])).shape
    rushlight.Size([1, 3, 8])
    """

    _encoder_conf: RobertaEncoderConf
    _path: str | None = None
    _head: nn.Module | None = None
    transform: Callable[[], nn.Module] | None = None

    def get_model(
        self,
        *,
        head: nn.Module | None = None,
        load_weights: bool = True,
        freeze_encoder: bool = False,
        dl_kwargs: Mapping[str, Any] | None = None,
    ) -> RobertaModel:
        """The model, with its weights.

        Args:
            head: put on the encoder, in place of the bundle's own.
            load_weights: fetch the weights; AssertionError where none are published.
            freeze_encoder: the encoder's parameters need no gradient.
            dl_kwargs: for :func:`rushlight.hub.load_state_dict_from_url`.
        """
        if load_weights and self._path is None:
            raise AssertionError(
                "load_weights cannot be True. The pre-trained model weights are not available for "
                "the current object"
            )
        if freeze_encoder and not load_weights:
            warnings.warn(
                "get_model(): an encoder without trained weights is frozen and learns nothing",
                stacklevel=2,
            )
        return RobertaBundle.build_model(
            self._encoder_conf,
            head=self._head if head is None else head,
            freeze_encoder=freeze_encoder,
            checkpoint=self._path if load_weights else None,
            override_checkpoint_head=True,
            dl_kwargs=dl_kwargs,
        )

    @classmethod
    def build_model(
        cls,
        encoder_conf: RobertaEncoderConf,
        *,
        head: nn.Module | None = None,
        freeze_encoder: bool = False,
        checkpoint: str | Mapping[str, rl.Tensor] | None = None,
        override_checkpoint_head: bool = False,
        strict: bool = False,
        dl_kwargs: Mapping[str, Any] | None = None,
    ) -> RobertaModel:
        """A model of one's own sizes.

        Args:
            encoder_conf: the sizes.
            head: put on the encoder.
            freeze_encoder: the encoder's parameters need no gradient.
            checkpoint: an address or a state dict, with or without the head's part.
            override_checkpoint_head: keep the head as it is, whatever the checkpoint says.
            strict: as of ``load_state_dict``.
            dl_kwargs: for :func:`rushlight.hub.load_state_dict_from_url`.
        """
        model = RobertaModel(encoder_conf, head, freeze_encoder)
        if checkpoint is not None:
            state = state_dict_of(checkpoint, dl_kwargs)
            own = {k: v for k, v in model.state_dict().items() if k.startswith("head.")}
            if override_checkpoint_head or not own.keys() <= state.keys():
                state.update(own)
            model.load_state_dict(state, strict=strict)
        return model

    @property
    def encoderConf(self) -> RobertaEncoderConf:  # noqa: N802 - torchtext's name
        """The sizes."""
        return self._encoder_conf


def _finished(*steps: nn.Module, truncate_length: int) -> T.Sequential:
    return T.Sequential(
        *steps, T.Truncate(truncate_length), T.AddToken(0, begin=True), T.AddToken(2, begin=False)
    )


def _vocabulary(name: str) -> Any:
    """A published vocabulary; its file holds the object, not a dict of weights."""
    return load_state_dict_from_url(published(name))


def xlmr_transform(truncate_length: int) -> T.Sequential:
    """Text to XLM-R's ids; the model of pieces and the vocabulary are fetched."""
    return _finished(
        T.SentencePieceTokenizer(published("xlmr.sentencepiece.bpe.model")),
        T.VocabTransform(_vocabulary("xlmr.vocab.pt")),
        truncate_length=truncate_length,
    )


def roberta_transform(truncate_length: int) -> T.Sequential:
    """Text to RoBERTa's ids; GPT-2's files and the vocabulary are fetched."""
    return _finished(
        T.GPT2BPETokenizer(
            published("gpt2_bpe_encoder.json"),
            published("gpt2_bpe_vocab.bpe"),
        ),
        T.VocabTransform(_vocabulary("roberta.vocab.pt")),
        truncate_length=truncate_length,
    )


_LARGE: dict[str, Any] = {
    "embedding_dim": 1024,
    "ffn_dimension": 4096,
    "num_attention_heads": 16,
    "num_encoder_layers": 24,
}

XLMR_BASE_ENCODER = RobertaBundle(
    RobertaEncoderConf(vocab_size=250002),
    published("xlmr.base.encoder.pt"),
    transform=lambda: xlmr_transform(254),
)
XLMR_LARGE_ENCODER = RobertaBundle(
    RobertaEncoderConf(vocab_size=250002, **_LARGE),
    published("xlmr.large.encoder.pt"),
    transform=lambda: xlmr_transform(510),
)
ROBERTA_BASE_ENCODER = RobertaBundle(
    RobertaEncoderConf(),
    published("roberta.base.encoder.pt"),
    transform=lambda: roberta_transform(254),
)
ROBERTA_LARGE_ENCODER = RobertaBundle(
    RobertaEncoderConf(**_LARGE),
    published("roberta.large.encoder.pt"),
    transform=lambda: roberta_transform(510),
)
ROBERTA_DISTILLED_ENCODER = RobertaBundle(
    RobertaEncoderConf(num_encoder_layers=6),
    published("roberta.distilled.encoder.pt"),
    transform=lambda: roberta_transform(510),
)
