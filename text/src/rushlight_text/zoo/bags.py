"""Classifiers of texts by the mean of the vectors of their words, or of their letters' n-grams."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.serialization import safetensors
from rushlight_text.models.embedding_bag import EmbeddingBagClassifier
from rushlight_text.tokenizers.basic import basic_english, ngrams_iterator

__all__ = ["BagClassifier", "Features", "facts", "load_bag"]

FOLDER = Path(__file__).with_name("weights")
UNKNOWN = 0


@dataclass
class Features:
    """How a text becomes ids.

    Args:
        vocabulary: words and runs of words, of which each has the id of its place plus one; empty
            for letters.
        ngrams: longest run of words, or of letters.
        buckets: number of ids of runs of letters, which share them by a checksum.
    """

    vocabulary: list[str] = field(default_factory=list)
    ngrams: int = 1
    buckets: int = 0

    def __post_init__(self) -> None:
        self.ids = {token: index for index, token in enumerate(self.vocabulary, start=1)}

    def __len__(self) -> int:
        """The number of ids, that of unknown words included."""
        return self.buckets or len(self.vocabulary) + 1

    def __call__(self, text: str) -> list[int]:
        """The ids of a text; at least one."""
        if self.buckets:
            return self._letters(text) or [UNKNOWN]
        tokens = ngrams_iterator(basic_english(text), self.ngrams)
        return [self.ids[token] for token in tokens if token in self.ids] or [UNKNOWN]

    def _letters(self, text: str) -> list[int]:
        plain = f" {' '.join(text.lower().split())} "
        return [
            1 + zlib.crc32(plain[start : start + size].encode()) % (self.buckets - 1)
            for size in range(1, self.ngrams + 1)
            for start in range(len(plain) - size + 1)
        ]


class BagClassifier(nn.Module):
    """A bag of embeddings with its features and its labels.

    Args:
        features: of a text.
        labels: names of the classes.
        embed_dim: length of the vectors.
        dropout: in training.
    """

    def __init__(
        self, features: Features, labels: Sequence[str], embed_dim: int, dropout: float = 0.0
    ):
        super().__init__()
        self.features, self.labels = features, list(labels)
        self.bag = EmbeddingBagClassifier(len(features), embed_dim, len(labels), dropout=dropout)

    def forward(self, texts: Sequence[str]) -> rl.Tensor:
        """Logits ``[B, labels]`` of texts."""
        rows = [self.features(text) for text in texts]
        starts = [0]
        for row in rows[:-1]:
            starts.append(starts[-1] + len(row))
        flat = [index for row in rows for index in row]
        return self.bag(rl.tensor(flat), rl.tensor(starts))

    @rl.no_grad()
    def predict(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """The most likely label of each text and its probability."""
        shares = self(texts).softmax(-1)
        best = shares.max(-1)
        return [
            {"label": self.labels[index], "score": score}
            for index, score in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]

    def save(self, path: str | os.PathLike) -> None:
        """Write one file: weights in float16, features and labels beside them."""
        state = {name: value.half() for name, value in self.state_dict().items()}
        notes = {
            "labels": json.dumps(self.labels, ensure_ascii=False),
            "vocabulary": json.dumps(self.features.vocabulary, ensure_ascii=False),
            "ngrams": str(self.features.ngrams),
            "buckets": str(self.features.buckets),
        }
        safetensors.save_file(state, path, metadata=notes)

    @classmethod
    def load(cls, path: str | os.PathLike) -> BagClassifier:
        """Read what :meth:`save` wrote, in evaluation mode."""
        notes = notes_of(Path(path), "labels")
        features = Features(
            json.loads(notes["vocabulary"]), int(notes["ngrams"]), int(notes["buckets"])
        )
        state = {name: value.float() for name, value in safetensors.load_file(path).items()}
        size = state["bag.embedding.weight"].shape[1]
        model = cls(features, json.loads(notes["labels"]), size)
        model.load_state_dict(state)
        return model.eval()


def notes_of(path: Path, needed: str) -> dict[str, str]:
    """The strings in the header of a safetensors file; ValueError without the one that is needed,
    by which the writer is known."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    notes = header.get("__metadata__", {})
    if needed not in notes:
        raise ValueError(f"{path}: no packaged model of this kind, it has no {needed}")
    return notes


@functools.cache
def facts() -> dict[str, dict[str, Any]]:
    """What is known of each model: ``data``, ``licence``, ``recipe``, ``date``, ``num_params``,
    ``_metrics`` on data held out, ``file``, ``sha256``."""
    return json.loads((FOLDER / "facts.json").read_text(encoding="utf-8"))


def packaged_file(name: str) -> Path:
    """The file of a packaged model; errors as of :func:`load_bag`."""
    if name not in facts():
        raise ValueError(f"no packaged model is called {name!r}; there are {sorted(facts())}")
    fact = facts()[name]
    path = FOLDER / fact["file"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != fact["sha256"]:
        raise RuntimeError(f"{path} is damaged: install rushlight-text again")
    return path


def load_bag(name: str) -> BagClassifier:
    """The packaged classifier of a name.

    Raises ValueError for an unknown name, RuntimeError where the file is damaged.
    """
    return BagClassifier.load(packaged_file(name))
