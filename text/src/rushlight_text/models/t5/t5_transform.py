"""Text to padded ids by a SentencePiece model, and back."""

from __future__ import annotations

import os
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_text import transforms as T
from rushlight_text.functional import to_tensor
from rushlight_text.tokenizers.sentencepiece import SentencePieceModel
from rushlight_text.utils import get_asset_local_path

__all__ = ["T5Transform"]


class T5Transform(nn.Module):
    """Cut to pieces, truncate, end with the end token, pad.

    Args:
        sp_model_path: path or address of a SentencePiece model.
        max_seq_len: ids of a text at most, the end token included.
        eos_idx, padding_idx: ids of the end and of padding.
    """

    def __init__(
        self, sp_model_path: str | os.PathLike, max_seq_len: int, eos_idx: int, padding_idx: int
    ):
        super().__init__()
        self.sp_model = SentencePieceModel(get_asset_local_path(os.fspath(sp_model_path)))
        self.max_seq_len, self.eos_idx, self.padding_idx = max_seq_len, eos_idx, padding_idx
        self.pipeline = T.Sequential(T.Truncate(max_seq_len - 1), T.AddToken(eos_idx, begin=False))

    def forward(self, input: str | list[str]) -> rl.Tensor:
        """Ids ``[T]`` of a text, ``[B, T]`` of several."""
        return to_tensor(self.pipeline(self.encode(input)), self.padding_idx)

    def encode(self, input: str | list[str]) -> list[int] | list[list[int]]:
        """The ids, without the end token."""
        if isinstance(input, str):
            return self.sp_model.EncodeAsIds(input)
        return [self.sp_model.EncodeAsIds(text) for text in input]

    def decode(self, input: Any) -> str | list[str]:
        """The text of ids, or each of a list of lists."""
        if input and isinstance(input[0], (list, tuple)):
            return [self.sp_model.DecodeIds(ids) for ids in input]
        return self.sp_model.DecodeIds(input)
