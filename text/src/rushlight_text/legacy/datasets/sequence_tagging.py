"""Sentences with a tag for every word."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from rushlight_text.legacy.data import Dataset, Example

__all__ = ["CoNLL2000Chunking", "SequenceTaggingDataset", "UDPOS"]


class SequenceTaggingDataset(Dataset):
    """A word and its tags a line, an empty line between sentences.

    Args:
        path: the file.
        fields: pairs of name and field in the order of the columns.
        encoding, separator: of the file.
        kwargs: for :class:`rushlight_text.legacy.data.Dataset`.
    """

    @staticmethod
    def sort_key(example: Any) -> int:
        """The number of words, if they are in the first field."""
        for value in vars(example).values():
            return len(value)
        return 0

    def __init__(
        self,
        path: str,
        fields: Any,
        encoding: str = "utf-8",
        separator: str = "\t",
        **kwargs: Any,
    ):
        examples = []
        columns: list[list[str]] = []
        for line in [*Path(path).read_text(encoding=encoding).split("\n"), ""]:
            line = line.strip()
            if not line:
                if columns:
                    examples.append(Example.fromlist(columns, fields))
                columns = []
                continue
            for place, value in enumerate(line.split(separator)):
                if place == len(columns):
                    columns.append([])
                columns[place].append(value)
        super().__init__(examples, fields, **kwargs)


class UDPOS(SequenceTaggingDataset):
    """Parts of speech of the Universal Dependencies' English Web Treebank."""

    urls = ("https://bitbucket.org/sivareddyg/public/downloads/en-ud-v2.zip",)
    dirname = "en-ud-v2"
    name = "udpos"

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        fields: Any,
        root: str = ".data",
        train: str | None = "en-ud-tag.v2.train.txt",
        validation: str | None = "en-ud-tag.v2.dev.txt",
        test: str | None = "en-ud-tag.v2.test.txt",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Training, validation and test data; None leaves one out."""
        return super().splits(
            fields=fields, root=root, train=train, validation=validation, test=test, **kwargs
        )


class CoNLL2000Chunking(SequenceTaggingDataset):
    """Words, parts of speech and chunks of the shared task of CoNLL 2000."""

    urls = (
        "https://www.clips.uantwerpen.be/conll2000/chunking/train.txt.gz",
        "https://www.clips.uantwerpen.be/conll2000/chunking/test.txt.gz",
    )
    dirname = ""
    name = "conll2000"

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        fields: Any,
        root: str = ".data",
        train: str = "train.txt",
        test: str = "test.txt",
        validation_frac: float = 0.1,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Training, validation and test data; the second is a share of the training file."""
        whole, tested = super().splits(
            fields=fields, root=root, train=train, test=test, separator=" ", **kwargs
        )
        state = random.Random(0).getstate()  # always the same share
        first, second = whole.split(1 - validation_frac, random_state=state)
        first.sort_key = second.sort_key = cls.sort_key
        return first, second, tested
