"""Functions that read the input or the target out of an item: a path, a row, a tuple."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightning_lite.easy.data.describing import announce, describable

if TYPE_CHECKING:
    from os import PathLike


@announce
def parent_label(o: str | PathLike[str]) -> str:
    """The name of the folder that a file is in.

    >>> parent_label("train/cat/1.png")
    'cat'
    """
    return Path(o).parent.name


def RegexLabeller(pat: str, match: bool = False) -> Callable[[Any], str]:
    """The first group of the pattern `pat` in the path, from its beginning if `match`. ValueError
    for a path in which it is not.

    >>> RegexLabeller(r"([a-z]+)_[0-9]+")("pets/cat_12.png")
    'cat'
    """
    pattern = re.compile(pat)

    def label(o: Any) -> str:
        text = Path(o).as_posix() if isinstance(o, Path) else str(o)
        found = pattern.match(text) if match else pattern.search(text)
        if found is None:
            raise ValueError(f"RegexLabeller: {pattern.pattern!r} is not in {text!r}")
        return found.group(1)

    return label


@describable
class ColReader:
    """Reads columns of a row: `cols` is a name or position, or several (then a list comes back).

    `pref` and `suff` are put around it (a path: the folder it is in); `label_delim` parts it into
    a list of labels.

    >>> ColReader("labels", label_delim=" ")({"labels": "cat dog"})
    ['cat', 'dog']
    """

    def __init__(
        self,
        cols: str | int | list[str | int] | tuple[str | int, ...],
        pref: str | Path = "",
        suff: str = "",
        label_delim: str | None = None,
    ) -> None:
        self.cols = list(cols) if isinstance(cols, list | tuple) else [cols]
        self.pref, self.suff, self.label_delim = pref, suff, label_delim

    def __call__(self, row: Any) -> Any:
        """What the columns of a row hold."""
        found = [self._read(row, col) for col in self.cols]
        return found[0] if len(found) == 1 else found

    def fits(self, item: Any) -> bool:
        """Whether an item has columns."""
        return hasattr(item, "iloc") or isinstance(item, Mapping | list | tuple)

    def _read(self, row: Any, col: Any) -> Any:
        value = row.iloc[col] if isinstance(col, int) and hasattr(row, "iloc") else row[col]
        if self.label_delim is not None:
            return str(value).split(self.label_delim) if str(value) else []
        if isinstance(self.pref, Path):
            return self.pref / f"{value}{self.suff}"
        return f"{self.pref}{value}{self.suff}" if self.pref or self.suff else value


@describable
class ItemGetter:
    """The element `i` of an item.

    >>> ItemGetter(1)(("a", "b"))
    'b'
    """

    def __init__(self, i: object) -> None:
        self.i = i

    def fits(self, item: Any) -> bool:
        """Whether an item has elements; a path or a text is taken as a whole."""
        return hasattr(item, "__getitem__") and not isinstance(item, str)

    def __call__(self, item: Any) -> Any:
        """See the class."""
        return item[self.i]


@describable
class AttrGetter:
    """The attribute `nm` of an item, or `default` where it has none.

    >>> AttrGetter("real")(3 + 4j), AttrGetter("absent", 0)(1)
    (3.0, 0)
    """

    def __init__(self, nm: str, default: object = None) -> None:
        self.nm, self.default = nm, default

    def __call__(self, item: Any) -> Any:
        """See the class."""
        return getattr(item, self.nm, self.default)
