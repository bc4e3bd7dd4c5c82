"""Which items train and which validate: functions of the items that give two lists of positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushlight as rl

if TYPE_CHECKING:
    from os import PathLike

Split = tuple[list[int], list[int]]
Splitter = Callable[[Any], Split]


def _permuted(count: int, seed: int | None) -> list[int]:
    if seed is not None:
        rl.manual_seed(seed)
    return rl.randperm(count).tolist()


def _by(test: Callable[[int], bool], count: int) -> Split:
    picked = [bool(test(position)) for position in range(count)]
    return (
        [position for position in range(count) if not picked[position]],
        [position for position in range(count) if picked[position]],
    )


def RandomSplitter(valid_pct: float = 0.2, seed: int | None = None) -> Splitter:
    """A share `valid_pct` of the items validates, drawn at random; `seed` seeds Rushlight's
    generator first. The positions are fastai's for the same seed.

    >>> train, valid = RandomSplitter(0.25, seed=1)(list("abcdefgh"))
    >>> len(train), len(valid)
    (6, 2)
    """
    if not 0 <= valid_pct <= 1:
        raise ValueError(f"RandomSplitter: valid_pct={valid_pct}; expected a share of 0 to 1")

    def split(items: Any) -> Split:
        order = _permuted(len(items), seed)
        held = int(valid_pct * len(items))
        return order[held:], order[:held]

    return split


def RandomSubsetSplitter(train_sz: float, valid_sz: float, seed: int | None = None) -> Splitter:
    """Two shares of the items, drawn at random; the rest is left out. ValueError for shares that
    are not above 0, or above 1 together.

    Args:
        train_sz: the share that trains.
        valid_sz: the share that validates.
        seed: seeds Rushlight's generator first.

    >>> train, valid = RandomSubsetSplitter(0.5, 0.25, seed=1)(list("abcdefgh"))
    >>> len(train), len(valid)
    (4, 2)
    """
    if not (train_sz > 0 and valid_sz > 0 and train_sz + valid_sz <= 1):
        raise ValueError(
            f"RandomSubsetSplitter: train_sz={train_sz}, valid_sz={valid_sz}; expected shares above"
            " 0 that are at most 1 together"
        )

    def split(items: Any) -> Split:
        order = _permuted(len(items), seed)
        train, valid = int(len(items) * train_sz), int(len(items) * valid_sz)
        return order[:train], order[train : train + valid]

    return split


def TrainTestSplitter(
    test_size: float = 0.2,
    random_state: int | None = None,
    stratify: Sequence[object] | None = None,
    train_size: float | None = None,
    shuffle: bool = True,
) -> Splitter:
    """scikit-learn's `train_test_split`; `stratify`: labels whose shares both parts keep. Needs
    scikit-learn when it splits."""

    def split(items: Any) -> Split:
        try:
            from sklearn.model_selection import train_test_split
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "TrainTestSplitter needs scikit-learn: "
                "pip install rushlight-lightning-lite[split]; RandomSplitter needs nothing"
            ) from error
        train, valid = train_test_split(
            list(range(len(items))),
            test_size=test_size,
            train_size=train_size,
            random_state=random_state,
            stratify=stratify,
            shuffle=shuffle,
        )
        return train, valid

    return split


def IndexSplitter(valid_idx: Sequence[int]) -> Splitter:
    """The items at `valid_idx` validate, in that order.

    >>> IndexSplitter([2, 0])(list("abcd"))
    ([1, 3], [2, 0])
    """

    def split(items: Any) -> Split:
        held = set(valid_idx)
        return [each for each in range(len(items)) if each not in held], list(valid_idx)

    return split


def EndSplitter(valid_pct: float = 0.2, valid_last: bool = True) -> Splitter:
    """The last share `valid_pct` of the items validates, or with `valid_last=False` the first.

    Args:
        valid_last: whether the last ones validate, otherwise the first.

    >>> EndSplitter(0.25)(list("abcd"))
    ([0, 1, 2], [3])
    """

    def split(items: Any) -> Split:
        positions = list(range(len(items)))
        cut = int(len(positions) * (1 - valid_pct if valid_last else valid_pct))
        first, last = positions[:cut], positions[cut:]
        return (first, last) if valid_last else (last, first)

    return split


def GrandparentSplitter(train_name: Any = "train", valid_name: Any = "valid") -> Splitter:
    """By the name of the folder two above the file: `train/cat/1.png`. A name may be several.

    Args:
        train_name: the folder of what trains.
        valid_name: the folder of what validates.

    >>> GrandparentSplitter()([Path("train/cat/1.png"), Path("valid/cat/2.png")])
    ([0], [1])
    """

    def positions(items: Any, name: Any) -> list[int]:
        names = [name] if isinstance(name, str) else list(name)
        folders = [Path(each).parent.parent.name for each in items]
        return [place for each in names for place, there in enumerate(folders) if there == each]

    return lambda items: (positions(items, train_name), positions(items, valid_name))


def FuncSplitter(func: Callable[[Any], Any]) -> Splitter:
    """The items for which `func(item)` is true validate.

    Args:
        func: a function of an item.

    >>> FuncSplitter(str.isupper)(list("aBc"))
    ([0, 2], [1])
    """

    def split(items: Any) -> Split:
        there = list(items)
        return _by(lambda position: func(there[position]), len(there))

    return split


def MaskSplitter(mask: Sequence[Any]) -> Splitter:
    """The items at which `mask` is true validate.

    >>> MaskSplitter([False, True, False])(list("abc"))
    ([0, 2], [1])
    """
    return lambda items: _by(lambda position: bool(mask[position]), len(items))


def FileSplitter(fname: str | PathLike[str]) -> Splitter:
    """The files whose names stand in the file `fname`, one a line, validate.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "valid.txt").write_text("b.png")
    ...     print(FileSplitter(Path(folder, "valid.txt"))([Path("a.png"), Path("b.png")]))
    ([0], [1])
    """

    def split(items: Any) -> Split:
        names = set(Path(fname).read_text().split("\n"))
        return FuncSplitter(lambda item: Path(item).name in names)(items)

    return split


def ColSplitter(col: str | int = "is_valid", on: object = None) -> Splitter:
    """The rows of a pandas DataFrame whose column `col` (name or position) is true, or is `on` or
    among them, validate. TypeError for what has no columns."""

    def split(items: Any) -> Split:
        if not hasattr(items, "iloc"):
            raise TypeError(
                f"ColSplitter: the items are a {type(items).__name__}; expected a DataFrame"
            )
        values = list(items.iloc[:, col] if isinstance(col, int) else items[col])
        if on is None:
            return MaskSplitter([bool(each) for each in values])(values)
        wanted = list(on) if isinstance(on, list | tuple | set) else [on]
        return FuncSplitter(lambda value: value in wanted)(values)

    return split
