"""Sentences with their translations, in two files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rushlight_text.legacy.data import Dataset, Example, interleave_keys

__all__ = ["IWSLT", "WMT14", "Multi30k", "TranslationDataset"]


class TranslationDataset(Dataset):
    """Fields ``src`` and ``trg`` from two files of one sentence a line.

    Args:
        path: what their names begin with.
        exts: what the two names end with, such as ``(".de", ".en")``.
        fields: two fields, or pairs of name and field.
        kwargs: for :class:`rushlight_text.legacy.data.Dataset`.
    """

    @staticmethod
    def sort_key(ex: Any) -> int:
        """A key that sorts by both lengths."""
        return interleave_keys(len(ex.src), len(ex.trg))

    def __init__(self, path: str, exts: Sequence[str], fields: Any, **kwargs: Any):
        if not isinstance(fields[0], (tuple, list)):
            fields = [("src", fields[0]), ("trg", fields[1])]
        names = [os.path.expanduser(path + ext) for ext in exts]
        examples = []
        with (
            open(names[0], encoding="utf-8") as sources,
            open(names[1], encoding="utf-8") as others,
        ):
            for source, target in zip(sources, others, strict=False):
                pair = [source.strip(), target.strip()]
                if all(pair):
                    examples.append(Example.fromlist(pair, fields))
        super().__init__(examples, fields, **kwargs)

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        exts: Sequence[str],
        fields: Any,
        path: str | None = None,
        root: str = ".data",
        train: str | None = "train",
        validation: str | None = "val",
        test: str | None = "test",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """A data set for each name; others as of the class."""
        return super().splits(
            path, root, train, validation, test, exts=exts, fields=fields, **kwargs
        )


class Multi30k(TranslationDataset):
    """Captions of photos in English, German, French and Czech (Elliott et al. 2016)."""

    urls = (
        "http://www.quest.dcs.shef.ac.uk/wmt16_files_mmt/training.tar.gz",
        "http://www.quest.dcs.shef.ac.uk/wmt16_files_mmt/validation.tar.gz",
        "http://www.quest.dcs.shef.ac.uk/wmt17_files_mmt/mmt_task1_test2016.tar.gz",
    )
    name = "multi30k"
    dirname = ""

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        exts: Sequence[str],
        fields: Any,
        root: str = ".data",
        train: str | None = "train",
        validation: str | None = "val",
        test: str | None = "test2016",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Training, validation and test data from ``root/multi30k``; what is there is taken."""
        if "path" not in kwargs:
            kwargs["path"] = cls._folder(root)
        path = kwargs.pop("path")
        return super().splits(exts, fields, path, root, train, validation, test, **kwargs)

    @classmethod
    def _folder(cls, root: str) -> str:
        path = os.path.join(root, cls.name)
        return path if os.path.exists(path) else cls.download(root)


class WMT14(TranslationDataset):
    """News in English and German, cut by BPE."""

    urls = (
        (
            "https://drive.google.com/uc?export=download&id=0B_bZck-ksdkpM25jRUN2X2UxMm8",
            "wmt16_en_de.tar.gz",
        ),
    )
    name = "wmt14"
    dirname = ""

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        exts: Sequence[str],
        fields: Any,
        root: str = ".data",
        train: str | None = "train.tok.clean.bpe.32000",
        validation: str | None = "newstest2013.tok.bpe.32000",
        test: str | None = "newstest2014.tok.bpe.32000",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Training, validation and test data; what is in ``root/wmt14`` is taken."""
        path = os.path.join(root, cls.name)
        path = kwargs.pop("path", path if os.path.exists(path) else None)
        return super().splits(exts, fields, path, root, train, validation, test, **kwargs)


class IWSLT(TranslationDataset):
    """Talks (IWSLT 2016)."""

    base_url = "https://wit3.fbk.eu/archive/2016-01//texts/{}/{}/{}.tgz"
    name = "iwslt"
    base_dirname = "{}-{}"

    @classmethod
    def splits(  # type: ignore[override]
        cls,
        exts: Sequence[str],
        fields: Any,
        root: str = ".data",
        train: str | None = "train",
        validation: str | None = "IWSLT16.TED.tst2013",
        test: str | None = "IWSLT16.TED.tst2014",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Training, validation and test data of the languages that `exts` name."""
        source, target = exts[0][1:], exts[1][1:]
        cls.dirname = cls.base_dirname.format(source, target)
        cls.urls = (cls.base_url.format(source, target, cls.dirname),)
        path = cls.download(root, check=os.path.join(root, cls.name, cls.dirname))
        names = [name and f"{name}.{cls.dirname}" for name in (train, validation, test)]
        if names[0] and not os.path.exists(os.path.join(path, names[0]) + exts[0]):
            cls.clean(path)
        return super().splits(exts, fields, path, root, *names, **kwargs)

    @staticmethod
    def clean(path: str) -> None:
        """Write the plain sentences of the published XML and tagged files beside them."""
        for file in sorted(Path(path).glob("*.xml")):
            segments = ElementTree.parse(file).getroot()[0].findall("doc/seg")
            lines = [(segment.text or "").strip() + "\n" for segment in segments]
            file.with_suffix("").write_text("".join(lines), encoding="utf-8")
        for file in sorted(Path(path).glob("train.tags*")):
            kept = [
                line.strip() + "\n"
                for line in file.read_text(encoding="utf-8").splitlines()
                if not any(tag in line for tag in _TAGS)
            ]
            plain = file.with_name(file.name.replace(".tags", ""))
            plain.write_text("".join(kept), encoding="utf-8")


_TAGS = "<url <keywords <talkid <description <reviewer <translator <title <speaker".split()
