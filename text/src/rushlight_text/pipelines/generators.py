"""Pipelines that write text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from rushlight import nn
from rushlight_text.generation import generate_text, stream_text
from rushlight_text.models.pretrained import load_model
from rushlight_text.tokenizers.pretrained import Tokenizer

__all__ = ["TextGeneration"]


class TextGeneration:
    """What a language model goes on with, or an encoder-decoder answers, without the prompt.

    Options are those of :func:`rushlight_text.generation.generate_text`.
    """

    def __init__(self, model: nn.Module, tokenizer: Tokenizer, **options: Any):
        self.model, self.tokenizer, self.options = model.eval(), tokenizer, options

    @classmethod
    def from_folder(cls, folder: str | os.PathLike, **options: Any) -> TextGeneration:
        """Of a folder of Hugging Face."""
        return cls(load_model(folder), Tokenizer.from_folder(folder), **options)

    def __call__(self, texts: str | Sequence[str], **options: Any) -> Any:
        """A text for a text, a list for several."""
        return generate_text(self.model, self.tokenizer, texts, **{**self.options, **options})

    def stream(self, text: str, **options: Any) -> Iterator[str]:
        """Pieces of the answer as they come."""
        return stream_text(self.model, self.tokenizer, text, **{**self.options, **options})
