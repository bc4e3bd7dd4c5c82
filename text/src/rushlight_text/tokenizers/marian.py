"""Marian's tokenizers: pieces by one SentencePiece model or the other, ids by a table of both."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight_text.tokenizers.sentencepiece import SentencePieceModel

__all__ = ["MarianTokenizer"]

EOS, UNK, PAD = "</s>", "<unk>", "<pad>"


class MarianTokenizer:
    """The tokenizer of a folder with ``source.spm``, ``target.spm`` and ``vocab.json``.

    Sources are cut by the first model, targets by the second; both have the ids of the table and
    end with ``</s>``. Such marks in a text are text. For a folder of this kind
    :meth:`rushlight_text.tokenizers.Tokenizer.from_folder` gives one.

    Args:
        folder: with the three files.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: the table lacks ``</s>``, ``<unk>`` or ``<pad>``.
    """

    padding_side = "right"

    def __init__(self, folder: str | os.PathLike):
        path = Path(folder)
        if not (path / "vocab.json").is_file():
            raise FileNotFoundError(f"no table of ids: {str(path / 'vocab.json')!r}")
        self.ids: dict[str, int] = json.loads((path / "vocab.json").read_text(encoding="utf-8"))
        lacking = [token for token in (EOS, UNK, PAD) if token not in self.ids]
        if lacking:
            raise ValueError(f"{path / 'vocab.json'} lacks {lacking}")
        self.tokens = {index: token for token, index in self.ids.items()}
        self.source = SentencePieceModel(path / "source.spm")
        self.target = SentencePieceModel(path / "target.spm")
        settings_file = path / "tokenizer_config.json"
        settings = json.loads(settings_file.read_text()) if settings_file.is_file() else {}
        self.max_length = settings.get("model_max_length") or 512
        self.eos_token, self.unk_token, self.pad_token = EOS, UNK, PAD
        self.eos_token_id, self.pad_token_id = self.ids[EOS], self.ids[PAD]

    def __len__(self) -> int:
        return len(self.ids)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        return self.ids.get(token)

    def tokenize(self, text: str, *, target: bool = False) -> list[str]:
        """The pieces of a source, or of a target. A mark such as ``>>fra<<`` at the beginning,
        which names the language to translate into, is one piece."""
        mark: list[str] = []
        if text.startswith(">>") and "<<" in text:
            head, _, text = text.partition("<<")
            mark = [f"{head}<<"]
        return [*mark, *(self.target if target else self.source).tokenize(text)]

    def encode(
        self, text: str, *, target: bool = False, add_special_tokens: bool = True
    ) -> list[int]:
        """The ids of a source, or of a target."""
        unknown = self.ids[UNK]
        found = [self.ids.get(piece, unknown) for piece in self.tokenize(text, target=target)]
        return [*found, self.eos_token_id] if add_special_tokens else found

    def __call__(
        self,
        text: str | Sequence[str],
        *,
        target: bool = False,
        truncation: bool = False,
        max_length: int | None = None,
        return_tensors: bool | str | None = None,
    ) -> dict[str, Any]:
        """``input_ids`` and ``attention_mask`` of a text, or of several as padded tensors.

        Args:
            text: a source or several; targets with `target`.
            truncation: cut to `max_length` (default: the model's), the end token included.
            return_tensors: give int64 tensors ``[B, T]``, padded.
        """
        from rushlight_text.data.collate import pad_ids

        rows = [self.encode(each, target=target) for each in _listed(text)]
        if truncation:
            limit = max_length or self.max_length
            rows = [row if len(row) <= limit else [*row[: limit - 1], row[-1]] for row in rows]
        if return_tensors:
            ids, mask = pad_ids(rows, self.pad_token_id)
            return {"input_ids": ids, "attention_mask": mask}
        masks = [[1] * len(row) for row in rows]
        if isinstance(text, str):
            return {"input_ids": rows[0], "attention_mask": masks[0]}
        return {"input_ids": rows, "attention_mask": masks}

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """The text of a target's ids.

        Raises IndexError for an id that is not in the table.
        """
        special = {EOS, UNK, PAD}
        text, pieces = "", []
        for index in map(int, ids):
            if index not in self.tokens:
                raise IndexError(f"no token has id {index}; there are {len(self)}")
            token = self.tokens[index]
            if token not in special:
                pieces.append(token)
            elif not skip_special_tokens:
                text += f"{self.target.decode_pieces(pieces)}{token} "
                pieces = []
        return (text + self.target.decode_pieces(pieces)).replace("\u2581", " ").strip()

    def batch_decode(
        self, rows: Iterable[Iterable[int]] | rl.Tensor, *, skip_special_tokens: bool = False
    ) -> list[str]:
        """The text of each row of ids."""
        listed: Any = rows.tolist() if isinstance(rows, rl.Tensor) else rows
        return [self.decode(row, skip_special_tokens=skip_special_tokens) for row in listed]

    def __repr__(self) -> str:
        return f"MarianTokenizer({len(self)} tokens)"


def _listed(text: str | Sequence[str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text)
