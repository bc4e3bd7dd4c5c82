"""Tables: columns become numbers, categories become embeddings, and a network learns from both."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import rushlight as rl
from lightning_lite.easy.architectures import architecture
from lightning_lite.easy.data.describing import describable
from rushlight import nn

MISSING = "#na#"


def emb_sz_rule(n_cat: int) -> int:
    """How many numbers stand for one of `n_cat` categories.

    >>> emb_sz_rule(2), emb_sz_rule(100), emb_sz_rule(100_000)
    (2, 21, 600)
    """
    return min(600, round(1.6 * n_cat**0.56))


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or pandas' NA and NaT, which no comparison finds.

    >>> is_missing(float("nan")), is_missing(0)
    (True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def ordered(values: Iterable[Any], what: str) -> list[Any]:
    """The different values in order. ValueError that names `what` for those without an order."""
    different = set(values)
    try:
        return sorted(different)
    except TypeError as error:
        kinds = sorted({type(each).__name__ for each in different})
        raise ValueError(
            f"{what} mixes values of the types {kinds}, which have no order; expected one type, "
            "such as the words of str(value)"
        ) from error


@describable
class TabularProcessor:
    """Learns from a table how its columns become numbers, and makes others numbers likewise.

    A table is a mapping of names to columns, such as a dictionary of lists or a pandas DataFrame.
    `cat_names`: categories, numbered from 1 in sorted order (0: not seen, or empty);
    `cont_names`: numbers, with mean 0 and deviation 1; empty cells get the median, and a category
    `NAME_na` says where they were. `classes` are the categories' names. Without `fill` empty cells
    are a ValueError, without `normalize` numbers stay as they are.
    """

    def __init__(
        self,
        cat_names: Sequence[str],
        cont_names: Sequence[str],
        fill: bool = True,
        normalize: bool = True,
    ) -> None:
        self.fill, self.normalize = fill, normalize
        self.cat_names, self.cont_names = list(cat_names), list(cont_names)
        self.classes: dict[str, list[Any]] = {}
        self.medians: dict[str, float] = {}
        self.scales: dict[str, tuple[float, float]] = {}
        self.flags: list[str] = []

    def fit(self, table: Mapping[str, Any]) -> TabularProcessor:
        """Learn from a table. KeyError for a column that it lacks."""
        for name in self.cont_names:
            column = list(table[name])
            known = [_as_number(value, name) for value in column if not is_missing(value)]
            if not known:
                raise ValueError(f"TabularProcessor: column {name!r} has no numbers")
            self.medians[name] = statistics.median(known)
            if len(known) < len(column):
                self._check_empty(name)
                self.flags.append(name)
            filled = [self._number(value, name) for value in column]
            mean = statistics.fmean(filled)
            deviation = statistics.pstdev(filled, mean) or 1.0
            self.scales[name] = (mean, deviation) if self.normalize else (0.0, 1.0)
        for name in self.cat_names:
            seen = (value for value in table[name] if not is_missing(value))
            self.classes[name] = [MISSING, *ordered(seen, f"TabularProcessor: column {name!r}")]
        for name in self.flags:
            self.classes[f"{name}_na"] = [MISSING, False, True]
        return self

    def learnt(self) -> dict[str, Any]:
        """What `fit` learnt, as plain values; `relearn` takes it."""
        return {name: getattr(self, name) for name in ("classes", "medians", "scales", "flags")}

    def relearn(self, state: dict[str, Any]) -> None:
        """Know what another has learnt."""
        for name, value in state.items():
            setattr(self, name, value)

    def _check_empty(self, name: str) -> None:
        if not self.fill:
            raise ValueError(
                f"TabularProcessor: column {name!r} has empty cells; FillMissing in procs fills "
                "them"
            )

    def _number(self, value: Any, name: str) -> float:
        if is_missing(value):
            self._check_empty(name)
        return self.medians[name] if is_missing(value) else _as_number(value, name)

    @property
    def embeddings(self) -> list[tuple[int, int]]:
        """For every category column: how many categories, and how many numbers stand for one."""
        return [(len(each), emb_sz_rule(len(each))) for each in self.classes.values()]

    def transform(self, table: Mapping[str, Any]) -> tuple[rl.Tensor, rl.Tensor]:
        """The categories `(N, columns)` (int64) and the numbers `(N, columns)` (float32)."""
        categories = [self._codes(name, list(table[name])) for name in self.cat_names]
        for name in self.flags:
            empty = [is_missing(value) for value in table[name]]
            categories.append(self._codes(f"{name}_na", empty))
        numbers = []
        for name in self.cont_names:
            mean, deviation = self.scales[name]
            column = [self._number(value, name) for value in table[name]]
            numbers.append([(value - mean) / deviation for value in column])
        rows = len(list(table[(self.cat_names + self.cont_names)[0]]))
        return _columns(categories, rows, rl.int64), _columns(numbers, rows, rl.float32)

    def inverse(self, categories: Any, numbers: Any) -> dict[str, list[Any]]:
        """The columns of which `transform` made categories `(N, columns)` and numbers
        `(N, columns)`: filled cells stay filled, and say so in the column `NAME_na`.

        >>> processor = TabularProcessor(["kind"], ["age"]).fit({"kind": ["a"], "age": [30.0]})
        >>> processor.inverse(*processor.transform({"kind": ["a"], "age": [31.0]}))
        {'kind': ['a'], 'age': [31.0]}
        """
        names = [*self.cat_names, *(f"{name}_na" for name in self.flags)]
        found: dict[str, list[Any]] = {}
        for name, column in zip(names, categories.T.tolist(), strict=True):
            found[name] = [self.classes[name][number] for number in column]
        for name, column in zip(self.cont_names, numbers.T.tolist(), strict=True):
            mean, deviation = self.scales[name]
            found[name] = [value * deviation + mean for value in column]
        return found

    def _codes(self, name: str, column: list[Any]) -> list[int]:
        numbers = {value: number for number, value in enumerate(self.classes[name])}
        return [0 if is_missing(value) else numbers.get(value, 0) for value in column]


def _as_number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"TabularProcessor: column {name!r} holds {value!r}; expected numbers, or name the "
            "column in cat_names"
        ) from error


def _columns(columns: list[list[Any]], rows: int, dtype: Any) -> rl.Tensor:
    if not columns:
        return rl.zeros(rows, 0, dtype=dtype)
    return rl.tensor(columns, dtype=dtype).t().contiguous()


@architecture("tabular")
class TabularModel(nn.Module):
    """Embeddings of categories beside normalized numbers, through layers with batch normalization.

    `emb_szs`: pairs of the number of categories and of numbers for one; `n_cont`: numbers of a row;
    `out_sz`: outputs; `layers`: their widths; `ps`: dropout after each; `embed_p`: dropout of the
    embeddings; `y_range`: outputs are brought between two numbers. Categories `(N, columns)` and
    numbers `(N, n_cont)`, which may be left out where there are none, give `(N, out_sz)`.
    """

    def __init__(
        self,
        emb_szs: Sequence[tuple[int, int]],
        n_cont: int,
        out_sz: int,
        layers: Sequence[int] = (200, 100),
        ps: float = 0.0,
        embed_p: float = 0.0,
        y_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__()
        self.embeds = nn.ModuleList([embedding(count, size) for count, size in emb_szs])
        self.emb_drop = nn.Dropout(embed_p)
        self.bn_cont = nn.BatchNorm1d(n_cont) if n_cont else None
        self.n_emb = sum(size for _, size in emb_szs)
        self.y_range = y_range
        widths, parts = [self.n_emb + n_cont, *layers], []
        for before, after in zip(widths, widths[1:], strict=False):
            parts += [nn.Linear(before, after, bias=False), nn.ReLU(), nn.BatchNorm1d(after)]
            parts += [nn.Dropout(ps)] if ps else []
        self.layers = nn.Sequential(*parts, nn.Linear(widths[-1], out_sz))

    def forward(self, categories: Any, numbers: Any = None) -> Any:
        """See the class."""
        found = [each(categories[:, number]) for number, each in enumerate(self.embeds)]
        parts = [self.emb_drop(rl.cat(found, 1))] if found else []
        if self.bn_cont is not None:
            parts.append(self.bn_cont(numbers))
        return in_range(self.layers(rl.cat(parts, 1)), self.y_range)


def embedding(count: int, size: int) -> nn.Embedding:
    """An embedding whose numbers are small, and cut off at twice their deviation."""
    made = nn.Embedding(count, size)
    nn.init.trunc_normal_(made.weight, std=0.01, a=-0.02, b=0.02)
    return made


def in_range(x: Any, y_range: tuple[float, float] | None) -> Any:
    """A tensor brought between two numbers by a sigmoid; unchanged for None."""
    if y_range is None:
        return x
    low, high = y_range
    return x.sigmoid() * (high - low) + low
