"""Data sets: examples with their fields."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rushlight.utils import data
from rushlight_text.data.utils import RandomShuffler
from rushlight_text.legacy.data.example import Example
from rushlight_text.utils import download_from_url, extract_archive

__all__ = ["Dataset", "TabularDataset"]


class Dataset(data.Dataset):
    """Examples and their fields.

    Args:
        examples: the examples.
        fields: pairs of name and field, or a dict of them; a pair of tuples stands for several.
        filter_pred: keep only examples for which it is true.

    ``dataset.NAME`` goes through the values of a field.
    """

    # What `download` fetches: addresses, alone or with file names, and folders below its root.
    name: str
    dirname: str
    urls: tuple[Any, ...]

    sort_key: Callable[[Any], Any] | None = None

    def __init__(
        self,
        examples: Iterable[Any],
        fields: Mapping[str, Any] | Iterable[tuple[Any, Any]],
        filter_pred: Callable[[Any], bool] | None = None,
    ):
        self.examples = list(examples if filter_pred is None else filter(filter_pred, examples))
        self.fields: dict[str, Any] = {}
        for name, field in fields.items() if isinstance(fields, Mapping) else fields:
            if isinstance(name, tuple):
                self.fields.update(zip(name, field, strict=True))
            else:
                self.fields[name] = field

    @classmethod
    def splits(
        cls,
        path: str | None = None,
        root: str = ".data",
        train: str | None = None,
        validation: str | None = None,
        test: str | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """A data set for each split that has a file name.

        Args:
            path: folder of the files; default: what :meth:`download` gives.
            root: where it puts them.
            train, validation, test: what follows the path.
            kwargs: for the constructor.
        """
        if path is None:
            path = cls.download(root)
        names = [name for name in (train, validation, test) if name is not None]
        return tuple(cls(os.path.join(path, name), **kwargs) for name in names)

    def split(
        self,
        split_ratio: float | Sequence[float] = 0.7,
        stratified: bool = False,
        strata_field: str = "label",
        random_state: Any = None,
    ) -> tuple[Dataset, ...]:
        """Cut at random into training and test data, or into training, validation and test data.

        Args:
            split_ratio: share of training data, or shares of training, test and validation data.
            stratified: keep the shares within each value of `strata_field`.
            random_state: of Python's generator.
        """
        train, test, validation = _shares(split_ratio)
        shuffle = RandomShuffler(random_state)
        groups = self._strata(strata_field) if stratified else [self.examples]
        parts: list[list[Any]] = [[], [], []]
        for group in groups:
            for part, more in zip(
                parts, _cut(group, train, test, validation, shuffle), strict=True
            ):
                part += more
        order = (parts[0], parts[2], parts[1])  # training, validation, test
        made = tuple(Dataset(part, self.fields) for part in order if part)
        if self.sort_key is not None:
            for subset in made:
                subset.sort_key = self.sort_key
        return made

    def _strata(self, name: str) -> list[list[Any]]:
        groups: dict[Any, list[Any]] = {}
        for example in self.examples:
            groups.setdefault(getattr(example, name), []).append(example)
        return list(groups.values())

    def __getitem__(self, i: int) -> Any:
        return self.examples[i]

    def __len__(self) -> int:
        return len(self.examples)

    def __iter__(self) -> Iterator[Any]:
        yield from self.examples

    def __getattr__(self, attr: str) -> Any:
        if attr.startswith("__") or attr not in self.__dict__.get("fields", ()):
            raise AttributeError(f"{type(self).__name__} has no attribute and no field {attr!r}")
        return (getattr(example, attr) for example in self.examples)

    @classmethod
    def download(cls, root: str, check: str | None = None) -> str:
        """Fetch the files of `urls` into ``root/name`` and unpack them; the folder of the data.

        check: a folder; where it is there, nothing is fetched.
        """
        path = os.path.join(root, cls.name)
        check = path if check is None else check
        if not os.path.isdir(check):
            for url in cls.urls:
                url, name = url if isinstance(url, tuple) else (url, os.path.basename(url))
                file = download_from_url(url, path=os.path.join(path, name))
                if file.endswith((".zip", ".gz", ".tgz")):
                    extract_archive(file, path)
        return os.path.join(path, cls.dirname)

    def filter_examples(self, field_names: Iterable[str]) -> None:
        """Drop tokens that the vocabulary of these fields does not know."""
        for name in field_names:
            known = set(self.fields[name].vocab.itos)
            for example in self.examples:
                kept = [token for token in getattr(example, name) if token in known]
                setattr(example, name, kept)


def _shares(split_ratio: float | Sequence[float]) -> tuple[float, float, float]:
    if isinstance(split_ratio, float):
        if not 0 < split_ratio < 1:
            raise AssertionError(f"Split ratio {split_ratio} not between 0 and 1")
        return split_ratio, 1 - split_ratio, 0.0
    if not isinstance(split_ratio, (list, tuple)) or len(split_ratio) not in (2, 3):
        raise ValueError(
            f"Split ratio must be a number or a list of two or three, got {split_ratio!r}"
        )
    total = float(sum(split_ratio))
    train, test, *rest = (share / total for share in split_ratio)
    return train, test, rest[0] if rest else 0.0


def _cut(
    examples: list[Any], train: float, test: float, validation: float, shuffle: RandomShuffler
) -> tuple[list[Any], list[Any], list[Any]]:
    places: list[int] = shuffle(range(len(examples)))
    order = [examples[i] for i in places]
    first = int(round(train * len(order)))
    second = len(order) - first if not validation else int(round(test * len(order)))
    return order[:first], order[first : first + second], order[first + second :]


class TabularDataset(Dataset):
    """Columns of a CSV, TSV or JSON-lines file.

    Args:
        path: the file.
        format: ``"csv"``, ``"tsv"`` or ``"json"``.
        fields: pairs of name and field in the order of the columns (None for a column to skip); or
            a dict from a column's name or a JSON key to such a pair or a list of them.
        skip_header: skip the first line.
        csv_reader_params: for ``csv.reader``.
        kwargs: for :class:`Dataset`.
    """

    def __init__(
        self,
        path: str,
        format: str,
        fields: Any,
        skip_header: bool = False,
        csv_reader_params: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ):
        kind = format.lower()
        if kind not in ("csv", "tsv", "json"):
            raise ValueError(f"TabularDataset(): format must be csv, tsv or json, got {format!r}")
        with open(os.path.expanduser(path), encoding="utf-8", newline="") as file:
            examples = list(_examples(file, kind, fields, skip_header, csv_reader_params or {}))
        if isinstance(fields, Mapping):
            values = [v for v in fields.values() if v is not None]
            fields = [pair for v in values for pair in (v if isinstance(v, list) else [v])]
        super().__init__(examples, fields, **kwargs)


def _examples(
    file: Any, kind: str, fields: Any, skip_header: bool, options: Mapping[str, Any]
) -> Iterator[Example]:
    if kind == "json":
        rows: Iterator[Any] = iter(file)
        make: Callable[..., Any] = Example.fromJSON
    else:
        given: dict[str, Any] = {"delimiter": "\t"} if kind == "tsv" else {}
        rows = csv.reader(file, **given, **options)
        make = Example.fromCSV
        if isinstance(fields, Mapping):
            if skip_header:
                raise ValueError(
                    f"When using a dict to specify fields with a {kind} file, skip_header must be "
                    "False and the file must have a header."
                )
            header = next(rows)
            make = partial(make, field_to_index={name: header.index(name) for name in fields})
    if skip_header:
        next(rows)
    return (make(row, fields) for row in rows)
