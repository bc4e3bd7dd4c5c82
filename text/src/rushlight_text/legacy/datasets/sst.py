"""Movie reviews as trees with a label at every phrase (Socher et al. 2013)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_text.legacy.data import Example, Pipeline
from rushlight_text.legacy.datasets._labelled import LabelledTexts

__all__ = ["SST"]


class SST(LabelledTexts):
    """Trees in brackets, one a line.

    subtrees: an example for every phrase. fine_grained: five labels instead of three.
    """

    urls = ("http://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",)
    dirname = "trees"
    name = "sst"

    def __init__(
        self,
        path: str,
        text_field: Any,
        label_field: Any,
        subtrees: bool = False,
        fine_grained: bool = False,
        **kwargs: Any,
    ):
        fields = [("text", text_field), ("label", label_field)]
        very = "very " if fine_grained else ""
        names = [f"{very}negative", "negative", "neutral", "positive", f"{very}positive"]
        label_field.preprocessing = Pipeline(lambda label: names[int(label)])
        examples = []
        for line in Path(path).expanduser().read_text(encoding="utf-8").splitlines():
            found = Example.fromtree(line, fields, subtrees)
            examples += found if isinstance(found, list) else [found]
        super().__init__(examples, fields, **kwargs)

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        text_field: Any,
        label_field: Any,
        root: str = ".data",
        train: str | None = "train.txt",
        validation: str | None = "dev.txt",
        test: str | None = "test.txt",
        train_subtrees: bool = False,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Training, validation and test data; with `train_subtrees` phrases in the first."""
        path = cls.download(root)
        names = [name for name in (train, validation, test) if name is not None]
        return tuple(
            cls(
                str(Path(path, name)),
                text_field,
                label_field,
                subtrees=train_subtrees and name == train,
                **kwargs,
            )
            for name in names
        )
