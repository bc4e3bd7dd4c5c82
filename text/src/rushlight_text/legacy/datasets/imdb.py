"""Movie reviews, positive and negative (Maas et al. 2011)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_text.legacy.data import Example
from rushlight_text.legacy.datasets._labelled import LabelledTexts

__all__ = ["IMDB"]


class IMDB(LabelledTexts):
    """Reviews in the folders ``pos`` and ``neg`` of `path`, one a file."""

    urls = ("http://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",)
    name = "imdb"
    dirname = "aclImdb"

    def __init__(self, path: str, text_field: Any, label_field: Any, **kwargs: Any):
        fields = [("text", text_field), ("label", label_field)]
        examples = []
        for label in ("pos", "neg"):
            for file in sorted(Path(path, label).glob("*.txt")):
                text = file.read_text(encoding="utf-8").split("\n", 1)[0]
                examples.append(Example.fromlist([text, label], fields))
        super().__init__(examples, fields, **kwargs)

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        text_field: Any,
        label_field: Any,
        root: str = ".data",
        train: str | None = "train",
        test: str | None = "test",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Training and test data; None leaves one out."""
        return super().splits(
            root=root,
            train=train,
            test=test,
            text_field=text_field,
            label_field=label_field,
            **kwargs,
        )
