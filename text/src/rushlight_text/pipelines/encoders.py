"""Pipelines of encoders: labels of texts and of tokens, answers, masked tokens, vectors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_text.models.pretrained import SentenceEncoder, load_model
from rushlight_text.tokenizers.pretrained import Tokenizer

__all__ = [
    "Embedding",
    "FillMask",
    "QuestionAnswering",
    "TextClassification",
    "TokenClassification",
]


class _Encoder:
    """A model with a head and its tokenizer."""

    head = "base"

    def __init__(self, model: nn.Module, tokenizer: Tokenizer):
        self.model, self.tokenizer = model.eval(), tokenizer

    @classmethod
    def from_folder(cls, folder: str | os.PathLike) -> Any:
        """Of a folder of Hugging Face."""
        return cls(load_model(folder, cls.head), Tokenizer.from_folder(folder))

    def _label(self, index: int) -> str:
        names = self.model.config.get("id2label") or {}
        return names.get(str(index), names.get(index, f"LABEL_{index}"))

    def _inputs(self, texts: Any, pair: Any = None) -> dict[str, rl.Tensor]:
        found = self.tokenizer(texts, pair, padding=True, truncation=True, return_tensors=True)
        return found


class TextClassification(_Encoder):
    """``label`` and ``score`` of each text; with `top_k` the list of the best."""

    head = "sequence-classification"

    @rl.no_grad()
    def __call__(self, texts: str | Sequence[str], top_k: int | None = None) -> Any:
        """Of a text, or of several."""
        listed = [texts] if isinstance(texts, str) else list(texts)
        logits = self.model(**self._inputs(listed)).logits
        shares = logits.softmax(-1)
        best = shares.topk(min(top_k or 1, shares.shape[-1]))
        found: list[Any] = [
            [{"label": self._label(i), "score": s} for i, s in zip(row, scores, strict=True)]
            for row, scores in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        found = found if top_k else [row[0] for row in found]
        return found[0] if isinstance(texts, str) else found


class TokenClassification(_Encoder):
    """Entities of each text: ``entity``, ``score``, ``text``, ``start``, ``end``; neighbours of one
    type are one entity."""

    head = "token-classification"

    @rl.no_grad()
    def __call__(self, texts: str | Sequence[str]) -> Any:
        """Of a text, or of several."""
        listed = [texts] if isinstance(texts, str) else list(texts)
        found = [self._one(text) for text in listed]
        return found[0] if isinstance(texts, str) else found

    def _one(self, text: str) -> list[dict[str, Any]]:
        encoded = self.tokenizer(text, truncation=True, offsets=True)
        places = encoded.pop("offset_mapping")
        tensors = {name: rl.tensor([values]) for name, values in encoded.items()}
        best = self.model(**tensors).logits[0].softmax(-1).max(-1)
        entities: list[dict[str, Any]] = []
        rows = zip(best.indices.tolist(), best.values.tolist(), places, strict=True)
        before = "O"
        for index, score, (start, end) in rows:
            tag = self._label(index) if end > start else "O"
            mark, _, kind = tag.rpartition("-")
            if tag != "O" and mark != "B" and before == kind:
                entities[-1]["end"] = end
                entities[-1]["scores"].append(score)
            elif tag != "O":
                entities.append({"entity": kind, "start": start, "end": end, "scores": [score]})
            before = "O" if tag == "O" else kind
        for entity in entities:
            scores = entity.pop("scores")
            entity["score"] = sum(scores) / len(scores)
            entity["text"] = text[entity["start"] : entity["end"]]
        return entities


class QuestionAnswering(_Encoder):
    """The part of a text that answers a question: ``answer``, ``score``, ``start``, ``end``."""

    head = "question-answering"
    longest = 30  # tokens of an answer

    @rl.no_grad()
    def __call__(self, question: str, context: str) -> dict[str, Any]:
        """The answer with the highest product of the probabilities of both ends."""
        encoded = self.tokenizer(question, context, truncation=True, offsets=True)
        places = encoded.pop("offset_mapping")
        tensors = {name: rl.tensor([values]) for name, values in encoded.items()}
        found = self.model(**tensors)
        inside = rl.tensor(self._inside(question, encoded["input_ids"], places))
        ends = [
            each[0].masked_fill(~inside, float("-inf")).softmax(-1)
            for each in (found.start_logits, found.end_logits)
        ]
        table = ends[0][:, None] * ends[1][None, :]
        place = rl.arange(len(places))
        length = place[None, :] - place[:, None]
        table = table.masked_fill((length < 0) | (length >= self.longest), 0.0)
        best = int(table.flatten().argmax())
        first, last = divmod(best, len(places))
        start, end = places[first][0], places[last][1]
        return {
            "answer": context[start:end],
            "score": table[first, last].item(),
            "start": start,
            "end": end,
        }

    def _inside(self, question: str, ids: list[int], places: list[Any]) -> list[bool]:
        """Which tokens are of the context: they follow the question and its marks."""
        before = len(self.tokenizer.encode(question, add_special_tokens=False))
        return [place > before and end > begin for place, (begin, end) in enumerate(places)]


class FillMask(_Encoder):
    """The likeliest tokens at a mask: ``token``, ``score``, ``text``."""

    head = "masked-lm"

    @rl.no_grad()
    def __call__(self, text: str, top_k: int = 5) -> list[dict[str, Any]]:
        """Of a text with one mask.

        Raises ValueError where there is none, or more than one.
        """
        inputs = self._inputs([text])
        ids = inputs["input_ids"][0]
        places = (ids == self.tokenizer.mask_token_id).nonzero().flatten().tolist()
        if len(places) != 1:
            raise ValueError(
                f"FillMask: the text needs one {self.tokenizer.mask_token}, it has {len(places)}"
            )
        best = self.model(**inputs).logits[0, places[0]].softmax(-1).topk(top_k)
        found = []
        for index, score in zip(best.indices.tolist(), best.values.tolist(), strict=True):
            filled = ids.tolist()
            filled[places[0]] = index
            found.append(
                {
                    "token": self.tokenizer.decode([index]).strip(),
                    "score": score,
                    "text": self.tokenizer.decode(filled, skip_special_tokens=True),
                }
            )
        return found


class Embedding:
    """Vectors of texts: ``[E]`` of one, ``[N, E]`` of several."""

    def __init__(self, encoder: SentenceEncoder):
        self.encoder = encoder

    @classmethod
    def from_folder(cls, folder: str | os.PathLike) -> Embedding:
        """Of a folder of sentence-transformers, or of an encoder."""
        return cls(SentenceEncoder.from_folder(folder))

    def __call__(self, texts: str | Sequence[str]) -> rl.Tensor:
        """Of a text, or of several."""
        return self.encoder.encode(texts)
