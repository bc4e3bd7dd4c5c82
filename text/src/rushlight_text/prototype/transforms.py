"""Transforms as modules under the names of torchtext's prototypes."""

from __future__ import annotations

import os

import rushlight as rl
from rushlight import nn
from rushlight_text.data.functional import load_sp_model
from rushlight_text.prototype.vectors import Vectors
from rushlight_text.tokenizers.basic import basic_english
from rushlight_text.tokenizers.sentencepiece import SentencePieceModel
from rushlight_text.transforms import VocabTransform
from rushlight_text.utils import BUCKET, get_asset_local_path

__all__ = [
    "PRETRAINED_SP_MODEL",
    "BasicEnglishNormalize",
    "SentencePieceProcessor",
    "SentencePieceTokenizer",
    "VectorTransform",
    "VocabTransform",
    "basic_english_normalize",
    "load_sp_model",
    "sentencepiece_processor",
    "sentencepiece_tokenizer",
]

# Published models of English, for `get_asset_local_path`.
PRETRAINED_SP_MODEL = {
    f"text_{kind}_{size}": f"{BUCKET}text_{kind}_{size}.model"
    for kind in ("unigram", "bpe")
    for size in (15000, 25000, 50000)
}

Source = str | os.PathLike | SentencePieceModel


class BasicEnglishNormalize(nn.Module):
    """Tokens by the rules for basic English."""

    is_jitable = False

    def forward(self, line: str) -> list[str]:
        """The tokens of a line."""
        return basic_english(line)


def basic_english_normalize() -> BasicEnglishNormalize:
    """:class:`BasicEnglishNormalize`.

    >>> basic_english_normalize()("It's here.")
    ['it', "'", 's', 'here', '.']
    """
    return BasicEnglishNormalize()


def _model(source: Source) -> SentencePieceModel:
    if isinstance(source, SentencePieceModel):
        return source
    name = os.fspath(source)
    return SentencePieceModel(get_asset_local_path(PRETRAINED_SP_MODEL.get(name, name)))


class SentencePieceTokenizer(nn.Module):
    """Pieces of a line; `spm_model` is a model, a path, an address or a name of
    `PRETRAINED_SP_MODEL`."""

    def __init__(self, spm_model: Source):
        super().__init__()
        self.sp_model = _model(spm_model)

    def forward(self, line: str) -> list[str]:
        """The pieces."""
        return self.sp_model.EncodeAsPieces(line)

    def decode(self, tokens: list[str]) -> str:
        """The text of pieces."""
        return self.sp_model.DecodePieces(tokens)


class SentencePieceProcessor(nn.Module):
    """Ids of a line; `spm_model` as of :class:`SentencePieceTokenizer`."""

    def __init__(self, spm_model: Source):
        super().__init__()
        self.sp_model = _model(spm_model)

    def forward(self, line: str) -> list[int]:
        """The ids."""
        return self.sp_model.EncodeAsIds(line)

    def decode(self, ids: list[int]) -> str:
        """The text of ids."""
        return self.sp_model.DecodeIds(ids)


def sentencepiece_tokenizer(sp_model: Source) -> SentencePieceTokenizer:
    """:class:`SentencePieceTokenizer`."""
    return SentencePieceTokenizer(sp_model)


def sentencepiece_processor(sp_model: Source) -> SentencePieceProcessor:
    """:class:`SentencePieceProcessor`."""
    return SentencePieceProcessor(sp_model)


class VectorTransform(nn.Module):
    """Tokens to their vectors ``[N, dim]``."""

    def __init__(self, vector: Vectors):
        super().__init__()
        self.vector = vector

    def forward(self, tokens: list[str]) -> rl.Tensor:
        """The vectors."""
        return self.vector.lookup_vectors(tokens)
