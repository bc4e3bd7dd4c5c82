"""What a SentencePiece ``.model`` file says: pieces with scores and kinds, and a few settings.

Field numbers are those of SentencePiece's published ``sentencepiece_model.proto``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from rushlight_text.tokenizers._protobuf import fields, single, submessage, text

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
UNIGRAM, BPE = 1, 2
_KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}


@dataclass
class Piece:
    """One token: text, score (log probability, or minus the rank of its merge), kind."""

    text: str = ""
    score: float = 0.0
    kind: int = NORMAL


@dataclass
class ModelFile:
    """The parts of a model that encoding and decoding need, with SentencePiece's defaults."""

    pieces: list[Piece] = field(default_factory=list)
    model_type: int = UNIGRAM
    byte_fallback: bool = False
    whitespace_as_suffix: bool = False
    unk_surface: str = " \u2047 "
    special: dict[str, int] = field(
        default_factory=lambda: {"unk": 0, "bos": 1, "eos": 2, "pad": -1}
    )
    charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True


def read_model(source: str | os.PathLike | bytes) -> ModelFile:
    """Read a file, or its content.

    Raises FileNotFoundError without a file, ValueError naming it where it is no such model.
    """
    name = "the model" if isinstance(source, bytes) else os.fspath(source)
    if not isinstance(source, bytes) and not Path(source).is_file():
        raise FileNotFoundError(f"no SentencePiece model: {name!r}")
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    model = ModelFile()
    try:
        for number, value in fields(data):
            if number == 1:
                model.pieces.append(_piece(submessage(value)))
            elif number == 2:
                _trainer(model, submessage(value))
            elif number == 3:
                _normalizer(model, submessage(value))
    except ValueError as error:  # bad UTF-8 is one, too
        raise ValueError(f"{name}: not a SentencePiece model: {error}") from error
    _check(model, name)
    return model


def _check(model: ModelFile, name: str) -> None:
    if not any(piece.kind == UNKNOWN for piece in model.pieces):
        raise ValueError(f"{name}: not a SentencePiece model: no piece stands for the unknown")
    if model.model_type not in (UNIGRAM, BPE):
        kind = _KINDS.get(model.model_type, model.model_type)
        raise NotImplementedError(
            f"{name}: models of type {kind!r} are not read; use one of type 'unigram' or 'bpe', "
            "or the library `sentencepiece`"
        )
    if model.whitespace_as_suffix:
        raise NotImplementedError(
            f"{name}: treat_whitespace_as_suffix is not supported; use the library `sentencepiece`"
        )


def _piece(data: bytes) -> Piece:
    piece = Piece()
    for number, value in fields(data):
        if number == 1:
            piece.text = text(value)
        elif number == 2:
            piece.score = single(value)
        elif number == 3:
            piece.kind = int(value)
    return piece


def _trainer(model: ModelFile, data: bytes) -> None:
    names = {40: "unk", 41: "bos", 42: "eos", 43: "pad"}
    for number, value in fields(data):
        if number == 3:
            model.model_type = int(value)
        elif number == 24:
            model.whitespace_as_suffix = bool(value)
        elif number == 35:
            model.byte_fallback = bool(value)
        elif number == 44:
            model.unk_surface = text(value)
        elif number in names and isinstance(value, int):
            model.special[names[number]] = value - (1 << 64) if value >> 63 else value


def _normalizer(model: ModelFile, data: bytes) -> None:
    for number, value in fields(data):
        if number == 2:
            model.charsmap = submessage(value)
        elif number == 3:
            model.add_dummy_prefix = bool(value)
        elif number == 4:
            model.remove_extra_whitespaces = bool(value)
        elif number == 5:
            model.escape_whitespaces = bool(value)
