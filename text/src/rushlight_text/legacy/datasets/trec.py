"""Questions by the kind of their answers (Li and Roth 2002)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rushlight_text.legacy.data import Example, Pipeline
from rushlight_text.legacy.datasets._labelled import LabelledTexts

__all__ = ["TREC"]


class TREC(LabelledTexts):
    """Lines of ``LABEL:fine question``; six labels, or fifty with `fine_grained`."""

    urls = (
        "http://cogcomp.org/Data/QA/QC/train_5500.label",
        "http://cogcomp.org/Data/QA/QC/TREC_10.label",
    )
    name = "trec"
    dirname = ""

    def __init__(
        self,
        path: str,
        text_field: Any,
        label_field: Any,
        fine_grained: bool = False,
        **kwargs: Any,
    ):
        fields = [("text", text_field), ("label", label_field)]
        label_field.preprocessing = Pipeline(
            None if fine_grained else lambda label: label.split(":")[0]
        )
        # One byte of the published file is no ASCII; it stands for a space.
        lines = Path(path).expanduser().read_bytes().replace(b"\xf0", b" ").decode().splitlines()
        pairs = (line.partition(" ") for line in lines)
        examples = [Example.fromlist([text, label], fields) for label, _, text in pairs]
        super().__init__(examples, fields, **kwargs)

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        text_field: Any,
        label_field: Any,
        root: str = ".data",
        train: str | None = "train_5500.label",
        test: str | None = "TREC_10.label",
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
