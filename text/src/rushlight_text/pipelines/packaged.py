"""Models that are in the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight_text.zoo import load_bag

__all__ = ["PackagedClassification"]


class PackagedClassification:
    """A label and its probability for each text, by a model of :mod:`rushlight_text.zoo`."""

    def __init__(self, name: str):
        self.model = load_bag(name)

    def __call__(self, texts: str | Sequence[str]) -> Any:
        """A dict of ``label`` and ``score`` for a text, a list of them for several."""
        if isinstance(texts, str):
            return self.model.predict([texts])[0]
        return self.model.predict(list(texts)) if len(texts) else []
