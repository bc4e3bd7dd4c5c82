"""Vectors of sentences: an encoder, the mean of its tokens, unit length."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight import nn
from rushlight_text.data.collate import pad_ids
from rushlight_text.models.pretrained.loading import load_model
from rushlight_text.tokenizers.pretrained import Tokenizer

__all__ = ["SentenceEncoder"]

POOLINGS = ("mean", "cls", "max")


class SentenceEncoder(nn.Module):
    """Texts to vectors that are near where the meaning is (Reimers and Gurevych 2019).

    Args:
        encoder: gives ``last_hidden_state``.
        tokenizer: of the encoder.
        pooling: ``"mean"`` of the tokens, the first (``"cls"``), or ``"max"``.
        normalize: vectors of length 1, so that a product is the cosine.
        max_length: tokens of a text at most.
    """

    def __init__(
        self,
        encoder: nn.Module,
        tokenizer: Tokenizer,
        *,
        pooling: str = "mean",
        normalize: bool = True,
        max_length: int = 256,
    ):
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"SentenceEncoder(): pooling must be one of {POOLINGS}: {pooling!r}")
        self.encoder, self.tokenizer = encoder, tokenizer
        self.pooling, self.normalize, self.max_length = pooling, normalize, max_length

    @classmethod
    def from_folder(cls, folder: str | os.PathLike) -> SentenceEncoder:
        """Read a folder of sentence-transformers, or of an encoder alone (mean, unit length)."""
        path = Path(folder)
        settings = _json(path / "1_Pooling" / "config.json")
        pooling = next((kind for kind in ("cls", "max") if settings.get(_MODES[kind])), "mean")
        modules = _json(path / "modules.json")
        normalize = not modules or any("Normalize" in each["type"] for each in modules)
        limit = _json(path / "sentence_bert_config.json").get("max_seq_length")
        tokenizer = Tokenizer.from_folder(path)
        return cls(
            load_model(path, "base"),
            tokenizer,
            pooling=pooling,
            normalize=normalize,
            max_length=limit or min(tokenizer.max_length, 512),
        ).eval()

    def forward(self, input_ids: rl.Tensor, attention_mask: rl.Tensor) -> rl.Tensor:
        """``[B, E]`` of ids and mask ``[B, T]``."""
        states = self.encoder(input_ids, attention_mask).last_hidden_state
        vectors = self._pooled(states, attention_mask[:, :, None].to(states.dtype))
        return F.normalize(vectors, dim=-1) if self.normalize else vectors

    def _pooled(self, states: rl.Tensor, mask: rl.Tensor) -> rl.Tensor:
        if self.pooling == "cls":
            return states[:, 0]
        if self.pooling == "max":
            return states.masked_fill(mask == 0, -1e9).amax(1)
        return (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)

    @rl.no_grad()
    def encode(self, texts: str | Sequence[str], batch_size: int = 32) -> rl.Tensor:
        """``[E]`` of a text, ``[N, E]`` of several; texts of similar length go together."""
        listed = [texts] if isinstance(texts, str) else list(texts)
        rows = [self._ids(text) for text in listed]
        order = sorted(range(len(rows)), key=lambda place: -len(rows[place]))
        found: list[Any] = [None] * len(rows)
        pad = self.tokenizer.pad_token_id or 0
        for start in range(0, len(order), batch_size):
            places = order[start : start + batch_size]
            vectors = self(*pad_ids([rows[place] for place in places], pad))
            for place, vector in zip(places, vectors, strict=True):
                found[place] = vector
        return found[0] if isinstance(texts, str) else rl.stack(found)

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer(text, truncation=True, max_length=self.max_length)["input_ids"]


_MODES = {"cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens"}


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
