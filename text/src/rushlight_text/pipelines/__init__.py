"""A text in, an answer out: `pipeline(task)` puts tokenizer, model and what follows together.

`packaged.py`: models of this package, without network; `encoders.py` and `generators.py`: folders
of Hugging Face.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rushlight_text.pipelines.encoders import (
    Embedding,
    FillMask,
    QuestionAnswering,
    TextClassification,
    TokenClassification,
)
from rushlight_text.pipelines.generators import TextGeneration
from rushlight_text.pipelines.packaged import PackagedClassification
from rushlight_text.zoo import NETWORKS, load_network

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "TASKS",
    "Embedding",
    "FillMask",
    "PackagedClassification",
    "QuestionAnswering",
    "TextClassification",
    "TextGeneration",
    "TokenClassification",
    "pipeline",
]

PACKAGED = ("sentiment", "languages", "spam", *NETWORKS)
_OF_FOLDERS: dict[str, Any] = {
    "text-classification": TextClassification,
    "token-classification": TokenClassification,
    "question-answering": QuestionAnswering,
    "fill-mask": FillMask,
    "embedding": Embedding,
    "text-generation": TextGeneration,
    "translation": TextGeneration,
    "summarization": TextGeneration,
}
TASKS = (*PACKAGED, *_OF_FOLDERS)


def pipeline(task: str, folder: str | os.PathLike | None = None) -> Callable[..., Any]:
    """A function of a text, or of a list of texts.

    Args:
        task: ``"sentiment"``, ``"languages"`` or ``"spam"`` (a label and its probability),
            ``"pronunciation"`` (the phones of each word), ``"character_gpt"`` (how a play goes on),
            ``"plain_english"`` (English of 1611 in plain words), whose models are in the package;
            or one of the others of `TASKS`, of a model in a folder of Hugging Face.
        folder: with ``config.json``, weights and tokenizer.

    Raises:
        ValueError: an unknown task, or one that needs a folder.

    >>> pipeline("sentiment")("A warm, wonderful film.")["label"]
    'positive'
    """
    if task in NETWORKS:
        return load_network(task)
    if task in PACKAGED:
        return PackagedClassification(task)
    if task not in _OF_FOLDERS:
        raise ValueError(f"pipeline(): no task is called {task!r}; there are {TASKS}")
    if folder is None:
        raise ValueError(f"pipeline(): {task!r} needs the folder of a model")
    return _OF_FOLDERS[task].from_folder(folder)
