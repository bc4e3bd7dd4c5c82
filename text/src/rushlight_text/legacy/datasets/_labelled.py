"""Texts with a label: what their data sets have in common."""

from __future__ import annotations

from typing import Any

from rushlight_text.legacy.data import BucketIterator, Dataset, Field

__all__ = ["LabelledTexts"]


class LabelledTexts(Dataset):
    """A data set of the fields ``text`` and ``label``."""

    @staticmethod
    def sort_key(ex: Any) -> int:
        """The length of the text."""
        return len(ex.text)

    @classmethod
    def iters(
        cls,
        batch_size: int = 32,
        device: Any = None,
        root: str = ".data",
        vectors: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Iterators over the splits, with fields of the usual options.

        Args:
            batch_size, device: as of :class:`rushlight_text.legacy.data.Iterator`.
            root: folder of the files.
            vectors: for the vocabulary.
            kwargs: for `splits`.
        """
        text, label = Field(), Field(sequential=False)
        made: Any = cls
        parts = made.splits(text, label, root=root, **kwargs)
        text.build_vocab(parts[0], vectors=vectors)
        label.build_vocab(parts[0])
        return BucketIterator.splits(parts, batch_size=batch_size, device=device)
