"""SentencePiece models (unigram and BPE) without the library; `tokenizers` does the search."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rushlight_text.tokenizers._sentencepiece_file import (
    BPE,
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    ModelFile,
    read_model,
)

if TYPE_CHECKING:
    import tokenizers

__all__ = ["SPACE", "SentencePieceModel", "merges_of"]

SPACE = "\u2581"
# Pieces that never match text begin with a noncharacter in the search.
_NEVER = "\ufdd0"


class SentencePieceModel:
    """A trained SentencePiece model: text to pieces or ids and back.

    Args:
        source: path of a ``.model`` file, or its content.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is no such model.
        NotImplementedError: a model of words or characters, or with white space as suffix.

    Reference: Kudo and Richardson, "SentencePiece" (EMNLP 2018).
    """

    def __init__(self, source: str | os.PathLike | bytes):
        self._file: ModelFile = read_model(source)
        self._pieces = [piece.text for piece in self._file.pieces]
        self._kinds = [piece.kind for piece in self._file.pieces]
        self._ids = {text: index for index, text in reversed(list(enumerate(self._pieces)))}
        self._unk = self._kinds.index(UNKNOWN)
        users = [text for text, kind in self._known() if kind == USER_DEFINED and text]
        longest_first = sorted(users, key=len, reverse=True)
        self._users = set(users)
        self._split = re.compile("|".join(map(re.escape, longest_first))) if users else None
        self._source = source if isinstance(source, bytes) else None
        self._path = None if isinstance(source, bytes) else os.path.abspath(source)
        self._backend: tokenizers.Tokenizer | None = None
        self._normalize: Any = None

    def _known(self) -> Iterable[tuple[str, int]]:
        return zip(self._pieces, self._kinds, strict=True)

    def __len__(self) -> int:
        return len(self._pieces)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_backend": None, "_normalize": None}

    @property
    def special_ids(self) -> dict[str, int]:
        """The ids of ``unk``, ``bos``, ``eos`` and ``pad``; -1 where there is none."""
        return {**self._file.special, "unk": self._unk}

    def piece_to_id(self, piece: str) -> int:
        """The id of a piece; that of the unknown piece if it is not there."""
        return self._ids.get(piece, self._unk)

    def id_to_piece(self, index: int) -> str:
        """The piece of an id; IndexError when there is none."""
        if not 0 <= index < len(self._pieces):
            raise IndexError(f"no piece has id {index}; the model has {len(self._pieces)} pieces")
        return self._pieces[index]

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return [self.piece_to_id(piece) for piece in self.tokenize(text)]

    def tokenize(self, text: str) -> list[str]:
        """The pieces of a text; a run of unknown characters is one piece, as it stands."""
        if not isinstance(text, str):
            raise TypeError(f"SentencePieceModel: a text must be a string, not {_kind(text)}")
        found: list[str] = []
        for segment, is_user in self._segments(self.normalize(text)):
            found += [segment] if is_user else self._searched(segment)
        return found

    def normalize(self, text: str) -> str:
        """The text as pieces match it: normalized, with ``\u2581`` for spaces."""
        self._engine()
        if self._normalize is not None:
            text = self._normalize.normalize_str(text)
        if self._file.remove_extra_whitespaces:
            text = re.sub(" +", " ", text).strip(" ")
        if self._file.add_dummy_prefix and text:
            text = " " + text
        return text.replace(" ", SPACE) if self._file.escape_whitespaces else text

    def _engine(self) -> tokenizers.Tokenizer:
        """The search, made at its first use."""
        if self._backend is None:
            self._backend, self._normalize = _engines(self._file)
        return self._backend

    def _segments(self, text: str) -> Iterable[tuple[str, bool]]:
        if self._split is None:
            yield text, False
            return
        end = 0
        for match in self._split.finditer(text):
            yield text[end : match.start()], False
            yield match[0], True
            end = match.end()
        yield text[end:], False

    def _searched(self, segment: str) -> list[str]:
        if not segment:
            return []
        encoding = self._engine().encode(segment, add_special_tokens=False)
        found: list[str] = []
        for index, token, (start, end) in zip(
            encoding.ids, encoding.tokens, encoding.offsets, strict=True
        ):
            found.append(segment[start:end] if index == self._unk else token)
        return found

    def decode(self, ids: int | Sequence[int]) -> str:
        """The text of ids."""
        listed = [ids] if isinstance(ids, int) else list(ids)
        return self.decode_pieces([self.id_to_piece(int(index)) for index in listed])

    def decode_pieces(self, pieces: Iterable[str]) -> str:
        """The text of pieces."""
        parts: list[str] = []
        raw = bytearray()
        begun = False
        for piece in pieces:
            index = self._ids.get(piece)
            kind = NORMAL if index is None else self._kinds[index]
            if kind == BYTE:
                raw.append(int(piece[3:5], 16))
                begun = True
                continue
            parts.append(raw.decode("utf-8", "replace"))
            raw.clear()
            if kind != CONTROL:
                surface = self._file.unk_surface if index == self._unk else piece
                if not begun:
                    surface = self._first(surface)
                    begun = surface != "" or not self._file.remove_extra_whitespaces
                parts.append(surface.replace(SPACE, " "))
        parts.append(raw.decode("utf-8", "replace"))
        return "".join(parts)

    def _first(self, surface: str) -> str:
        dropped = self._file.add_dummy_prefix or self._file.remove_extra_whitespaces
        return surface.removeprefix(SPACE) if dropped else surface

    # The names that SentencePiece's own module has.
    EncodeAsIds = encode
    EncodeAsPieces = tokenize
    DecodeIds = decode
    DecodePieces = decode_pieces
    GetPieceSize = __len__
    PieceToId = piece_to_id
    IdToPiece = id_to_piece

    def __repr__(self) -> str:
        kind = "bpe" if self._file.model_type == BPE else "unigram"
        return f"SentencePieceModel({kind}, {len(self)} pieces)"


def _engines(file: ModelFile) -> tuple[tokenizers.Tokenizer, Any]:
    """The search over pieces, and what normalizes characters, or None."""
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers

    never = (UNKNOWN, CONTROL, USER_DEFINED)  # the user's pieces are cut out beforehand
    texts = [_NEVER + each.text if each.kind in never else each.text for each in file.pieces]
    unk = next(index for index, each in enumerate(file.pieces) if each.kind == UNKNOWN)
    model: Any
    if file.model_type == BPE:
        model = models.BPE(
            vocab={text: index for index, text in enumerate(texts)},
            merges=merges_of(texts, file),
            unk_token=texts[unk],
            fuse_unk=True,
            byte_fallback=file.byte_fallback,
        )
    else:
        scores = [each.score for each in file.pieces]
        model = models.Unigram(list(zip(texts, scores, strict=True)), unk, file.byte_fallback)
    backend = tokenizers.Tokenizer(model)
    if not any(SPACE in text[1:] for text in texts if text.strip(SPACE)):
        backend.pre_tokenizer = pre_tokenizers.Split(SPACE, "merged_with_next")
    if any(len(text) > 1 and not text.strip(SPACE) for text in texts):
        backend.pre_tokenizer = None  # pieces of several spaces: words are not independent
    return backend, normalizers.Precompiled(file.charsmap) if file.charsmap else None


def merges_of(texts: list[str], file: ModelFile) -> list[tuple[str, str]]:
    """The merges that scores stand for: every cut of a piece into two pieces, best score first."""
    known = {text for text, each in zip(texts, file.pieces, strict=True) if each.kind == NORMAL}
    order = sorted(range(len(texts)), key=lambda index: -file.pieces[index].score)
    return [
        (text[:cut], text[cut:])
        for text in (texts[index] for index in order)
        if text in known
        for cut in range(1, len(text))
        if text[:cut] in known and text[cut:] in known
    ]


def _kind(value: object) -> str:
    return type(value).__name__
