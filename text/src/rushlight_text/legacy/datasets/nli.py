"""Pairs of sentences, of which the first implies the second, denies it, or neither."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rushlight_text.legacy.data import BucketIterator, Field, TabularDataset, interleave_keys

__all__ = ["SNLI", "XNLI", "MultiNLI", "NLIDataset", "ParsedTextField", "ShiftReduceField"]


class ShiftReduceField(Field):
    """What a parser does along a tree in brackets: ``shift`` a word, ``reduce`` at its end."""

    def __init__(self) -> None:
        super().__init__(preprocessing=_transitions)
        self.build_vocab([["reduce"], ["shift"]])


def _transitions(parse: list[str]) -> list[str]:
    return ["reduce" if token == ")" else "shift" for token in parse if token != "("]


class ParsedTextField(Field):
    """The words of a tree in brackets, which are tokens already; `reverse` reads from the end."""

    def __init__(self, eos_token: str = "<pad>", lower: bool = False, reverse: bool = False):
        super().__init__(
            eos_token=eos_token,
            lower=lower,
            preprocessing=lambda parse: [token for token in parse if token not in ("(", ")")],
            postprocessing=(lambda rows, _: [row[::-1] for row in rows]) if reverse else None,
            include_lengths=True,
        )


class NLIDataset(TabularDataset):
    """Fields ``premise``, ``hypothesis``, ``label``; pairs without a label are left out."""

    urls: tuple[str, ...] = ()
    dirname = ""
    name = "nli"

    @staticmethod
    def sort_key(ex: Any) -> int:
        """A key that sorts by both lengths."""
        return interleave_keys(len(ex.premise), len(ex.hypothesis))

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        text_field: Any,
        label_field: Any,
        parse_field: Any = None,
        extra_fields: Mapping[str, Any] | None = None,
        root: str = ".data",
        train: str | None = "train.jsonl",
        validation: str | None = "val.jsonl",
        test: str | None = "test.jsonl",
    ) -> tuple[Any, ...]:
        """A data set for each file.

        Args:
            text_field, label_field: of the sentences and of the label.
            parse_field: of the trees, from which words are read then.
            extra_fields: further columns, from a JSON key to a name and a field.
            root: folder of the files. train, validation, test: their names; None for none.
        """
        fields: dict[str, Any] = {"gold_label": ("label", label_field)}
        for number, name in (("1", "premise"), ("2", "hypothesis")):
            if parse_field is None:
                fields[f"sentence{number}"] = (name, text_field)
            else:
                fields[f"sentence{number}_binary_parse"] = [
                    (name, text_field),
                    (f"{name}_transitions", parse_field),
                ]
        return super().splits(
            cls.download(root),
            root,
            train,
            validation,
            test,
            format="json",
            fields={**(extra_fields or {}), **fields},
            filter_pred=lambda example: example.label != "-",
        )

    @classmethod
    def iters(
        cls,
        batch_size: int = 32,
        device: Any = None,
        root: str = ".data",
        vectors: Any = None,
        trees: bool = False,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Iterators over the splits; text is cut by spaCy, or read from the `trees`."""
        text = ParsedTextField() if trees else Field(tokenize="spacy")
        moves = ShiftReduceField() if trees else None
        label = Field(sequential=False)
        parts = cls.splits(text, label, moves, root=root, **kwargs)
        text.build_vocab(parts[0], vectors=vectors)
        label.build_vocab(parts[0])
        return BucketIterator.splits(parts, batch_size=batch_size, device=device)


def _extra(**fields: Any) -> dict[str, Any]:
    return {name: (name, field) for name, field in fields.items() if field is not None}


class SNLI(NLIDataset):
    """Captions of photos (Bowman et al. 2015)."""

    urls = ("http://nlp.stanford.edu/projects/snli/snli_1.0.zip",)
    dirname = "snli_1.0"
    name = "snli"

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        text_field: Any,
        label_field: Any,
        parse_field: Any = None,
        root: str = ".data",
        train: str | None = "snli_1.0_train.jsonl",
        validation: str | None = "snli_1.0_dev.jsonl",
        test: str | None = "snli_1.0_test.jsonl",
    ) -> tuple[Any, ...]:
        """Training, validation and test data; arguments as of :class:`NLIDataset`."""
        return super().splits(
            text_field, label_field, parse_field, None, root, train, validation, test
        )


class MultiNLI(NLIDataset):
    """Ten genres (Williams et al. 2018)."""

    urls = ("http://www.nyu.edu/projects/bowman/multinli/multinli_1.0.zip",)
    dirname = "multinli_1.0"
    name = "multinli"

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        text_field: Any,
        label_field: Any,
        parse_field: Any = None,
        genre_field: Any = None,
        root: str = ".data",
        train: str | None = "multinli_1.0_train.jsonl",
        validation: str | None = "multinli_1.0_dev_matched.jsonl",
        test: str | None = "multinli_1.0_dev_mismatched.jsonl",
    ) -> tuple[Any, ...]:
        """Training data, matched and mismatched development data."""
        extra = _extra(genre=genre_field)
        return super().splits(
            text_field, label_field, parse_field, extra, root, train, validation, test
        )


class XNLI(NLIDataset):
    """Fifteen languages (Conneau et al. 2018); no training data."""

    urls = ("http://www.nyu.edu/projects/bowman/xnli/XNLI-1.0.zip",)
    dirname = "XNLI-1.0"
    name = "xnli"

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        text_field: Any,
        label_field: Any,
        genre_field: Any = None,
        language_field: Any = None,
        root: str = ".data",
        validation: str | None = "xnli.dev.jsonl",
        test: str | None = "xnli.test.jsonl",
    ) -> tuple[Any, ...]:
        """Validation and test data."""
        extra = _extra(genre=genre_field, language=language_field)
        return super().splits(text_field, label_field, None, extra, root, None, validation, test)

    @classmethod
    def iters(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Not there: without training data there is no vocabulary; use `splits`."""
        raise NotImplementedError("XNLI dataset does not support iters; use XNLI.splits()")
