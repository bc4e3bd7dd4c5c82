"""Tables as batches, and their learner."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import rushlight as rl
from lightning_lite.easy.architectures import Recipe
from lightning_lite.easy.data.categories import Categorize
from lightning_lite.easy.data.pictures import Normalize
from lightning_lite.easy.data.printed import PrintedTable
from lightning_lite.easy.data.splitters import RandomSplitter
from lightning_lite.easy.learner import Learner
from lightning_lite.easy.losses import CrossEntropyLossFlat, MSELossFlat
from lightning_lite.easy.tabular import TabularModel, TabularProcessor, emb_sz_rule, is_missing
from rushlight.utils.data import DataLoader, TensorDataset


class Categorify:
    """In `procs`: categories become numbers; see `TabularProcessor`."""


class FillMissing:
    """In `procs`: empty cells of numbers become the median, and a category says where they were."""


def cont_cat_split(
    df: Mapping[str, Any], max_card: int = 20, dep_var: str | Sequence[str] | None = None
) -> tuple[list[str], list[str]]:
    """The names of the columns of numbers, and of those of categories: integers of at most
    `max_card` different values, and what is not a number. `dep_var`: names that are left out.

    >>> cont_cat_split({"age": [30.5, 41.0], "kind": ["a", "b"], "y": [0, 1]}, dep_var="y")
    (['age'], ['kind'])
    """
    numbers: list[str] = []
    categories: list[str] = []
    for name in df:
        if name in _listed(dep_var):
            continue
        values = [each for each in df[name] if not is_missing(each)]
        whole = all(_is_integer(each) for each in values)
        real = all(isinstance(each, Real) and not isinstance(each, bool) for each in values)
        many = not whole or len(set(values)) > max_card
        (numbers if real and many else categories).append(name)
    return numbers, categories


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


class TabularDataLoaders:
    """`train` and `valid`: loaders of categories `(N, columns)` (int64), numbers `(N, columns)`
    (float32) and targets, made by `from_df` or `from_csv`; `processor` and `vocab` say what became
    of columns and classes."""

    n_inp = 2

    def __init__(self, processor: TabularProcessor, vocab: list[Any] | None, bs: int = 64) -> None:
        self.processor, self.vocab, self.bs = processor, vocab, bs
        self.train: Any = None
        self.valid: Any = None
        self.y_names: list[str] = ["target"]

    @classmethod
    def from_df(
        cls,
        df: Mapping[str, Any],
        path: Any = ".",
        procs: Any = None,
        cat_names: Sequence[str] | None = None,
        cont_names: Sequence[str] | None = None,
        y_names: Any = None,
        y_block: Any = None,
        valid_idx: Sequence[int] | None = None,
        bs: int = 64,
        val_bs: int | None = None,
        shuffle: bool = True,
        seed: int | None = None,
    ) -> TabularDataLoaders:
        """Of a table: a mapping of names to columns, such as a pandas DataFrame.

        `procs`: of `Categorify`, `FillMissing` and `Normalize`, all by default; `cat_names`,
        `cont_names`: the columns of categories and of numbers (by default all others); `y_names`:
        the target, or several of numbers; `y_block`: `CategoryBlock` or `RegressionBlock`, by
        default the first where the target holds no numbers; `valid_idx`: the rows that validate, a
        fifth drawn with `seed` by default. KeyError for columns that are not there.
        """
        targets = _listed(y_names)
        categories = _listed(cat_names)
        taken = {*targets, *categories}
        numbers = [each for each in df if each not in taken]
        numbers = numbers if cont_names is None else list(cont_names)
        check_columns("TabularDataLoaders.from_df", df, (*targets, *categories, *numbers))
        if not targets:
            raise ValueError("TabularDataLoaders.from_df: y_names is missing, the target's column")
        rows = len(list(df[targets[0]]))
        held = RandomSplitter(seed=seed)(range(rows))[1] if valid_idx is None else list(valid_idx)
        found, vocab = _by_block([list(df[name]) for name in targets], targets, y_block)
        processor = TabularProcessor(categories, numbers, **_procs(procs, categories))
        made = cls(processor, vocab, bs)
        made.y_names = targets
        return made._loaded(df, found, held, (bs, val_bs or bs, shuffle))

    @classmethod
    def from_csv(
        cls, csv: Any, skipinitialspace: bool = True, **options: Any
    ) -> TabularDataLoaders:
        """Of the table in the file `csv`; `options` are those of `from_df`. Needs pandas."""
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "TabularDataLoaders.from_csv needs pandas: pip install pandas"
            ) from error
        return cls.from_df(pandas.read_csv(csv, skipinitialspace=skipinitialspace), **options)

    def _loaded(
        self, df: Mapping[str, Any], targets: Any, held: list[int], how: tuple[int, int, bool]
    ) -> TabularDataLoaders:
        """Learn from the rows that are not `held`, and make the loaders."""
        rows, kept = len(targets), set(held)
        used = [*self.processor.cat_names, *self.processor.cont_names]
        parts = [[row for row in range(rows) if row not in kept], held]
        tables = [{name: _picked(df[name], part) for name in used} for part in parts]
        self.processor.fit(tables[0])
        data = [
            TensorDataset(*self.inputs(table), targets[rl.tensor(part)])
            for table, part in zip(tables, parts, strict=True)
        ]
        bs, val_bs, shuffle = how
        drop = shuffle and len(parts[0]) > bs
        self.train = DataLoader(data[0], batch_size=bs, shuffle=shuffle, drop_last=drop)
        self.valid = DataLoader(data[1], batch_size=val_bs)
        return self

    def inputs(self, table: Mapping[str, Any]) -> tuple[rl.Tensor, ...]:
        """The inputs that the rows of a table become."""
        return self.processor.transform(table)

    def one_batch(self) -> Any:
        """The next first batch of training."""
        return next(iter(self.train))

    def show_batch(self, max_n: int = 10) -> PrintedTable:
        """A table of at most `max_n` rows of a training batch, with their targets, as they were
        before they became numbers."""
        return self.shown(self.one_batch(), max_n)

    def shown(self, batch: Any, max_n: int, outputs: Any = None) -> PrintedTable:
        """A batch as a table, and what outputs take its rows for in the columns `NAME_pred`."""
        *inputs, targets = (each[:max_n] for each in batch)
        columns = self._columns_of(*inputs)
        columns.update(zip(self.y_names, self._targets_of(targets), strict=True))
        if outputs is not None:
            found = outputs[:max_n] if self.vocab is None else outputs[:max_n].argmax(1)
            names = [f"{name}_pred" for name in self.y_names]
            columns.update(zip(names, self._targets_of(found), strict=True))
        cells = [[_cell(each) for each in column] for column in columns.values()]
        return PrintedTable(list(columns), list(zip(*cells, strict=True)))

    def _columns_of(self, *inputs: Any) -> dict[str, list[Any]]:
        """The columns that inputs of a batch were made of."""
        return self.processor.inverse(*inputs)

    def _targets_of(self, targets: Any) -> list[list[Any]]:
        """The columns of targets: names of classes, or numbers."""
        if self.vocab is not None:
            return [[self.vocab[number] for number in targets.tolist()]]
        columns: list[list[Any]] = targets.reshape(len(targets), -1).T.tolist()
        return columns

    def test_dl(self, items: Mapping[str, Any], bs: int | None = None) -> DataLoader:
        """A loader of the rows of another table, without targets."""
        return DataLoader(TensorDataset(*self.inputs(items)), batch_size=bs or self.bs)


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _procs(procs: Any, categories: Sequence[str]) -> dict[str, bool]:
    """What a processor does, of a list of procs. TypeError for others."""
    if procs is None:
        return {}
    kinds = [each if isinstance(each, type) else type(each) for each in _listed(procs)]
    unknown = [each.__name__ for each in kinds if each not in (Categorify, FillMissing, Normalize)]
    if unknown:
        raise TypeError(f"procs: {unknown}; expected some of Categorify, FillMissing, Normalize")
    if categories and Categorify not in kinds:
        raise ValueError(f"procs: the categories {list(categories)} need Categorify")
    return {"fill": FillMissing in kinds, "normalize": Normalize in kinds}


def _by_block(columns: list[list[Any]], names: list[str], block: Any) -> tuple[Any, Any]:
    """Targets as numbers, and the names of classes (None for numbers)."""
    for column, name in zip(columns, names, strict=True):
        check_target(column, name)
    numbers = all(isinstance(each, Real) and not isinstance(each, bool) for each in columns[0])
    made = block() if callable(block) else block
    kind = ("number" if numbers else "category") if made is None else made.kind
    if kind == "number":
        return rl.tensor([[float(each) for each in column] for column in columns]).t(), None
    if kind != "category" or len(columns) > 1:
        raise NotImplementedError(
            f"TabularDataLoaders: targets {names} of kind {kind!r}; expected one of classes "
            "(CategoryBlock) or numbers (RegressionBlock)"
        )
    coder = Categorize() if made is None else made.coder
    coder.setup(columns[0])
    return rl.stack([coder(value) for value in columns[0]]), coder.vocab


class TabularLearner(Learner):
    """A Learner of a table; `processor` and `vocab` say what became of columns and classes."""

    def show_results(self, max_n: int = 10) -> PrintedTable:  # type: ignore[override]
        """A table of at most `max_n` rows of validation with their targets, and what they are taken
        for in the columns `NAME_pred`."""
        if not isinstance(self.dls, TabularDataLoaders):
            raise TypeError(
                f"show_results needs TabularDataLoaders; dls is a {type(self.dls).__name__}"
            )
        batch = next(iter(self.dls.valid))
        return self.dls.shown(batch, max_n, self._gather([[batch]])[1])

    def predict(self, row: Mapping[str, Any], with_input: bool = False) -> tuple[Any, ...]:
        """What a row is (a mapping of columns to values, such as one of a DataFrame): the class or
        the numbers, the same as a tensor, and the output: shares of the classes. `with_input`: the
        row's columns come first."""
        processor = self.processor
        names = [*processor.cat_names, *processor.cont_names]
        check_columns("predict", dict(row), names)
        inputs = self._inputs({name: [row[name]] for name in names})
        self.module.n_inp = len(inputs)
        output = self._gather([[inputs]])[1][0]
        seen = ({name: row[name] for name in names},) if with_input else ()
        if self.vocab is None:
            return (*seen, output.tolist(), output, output)
        number = output.argmax()
        return (*seen, self.vocab[int(number)], number, output.softmax(0))

    def _inputs(self, table: Mapping[str, Any]) -> tuple[rl.Tensor, ...]:
        made: tuple[rl.Tensor, ...] = self.processor.transform(table)
        return made


def tabular_learner(
    table: TabularDataLoaders | Mapping[str, Any],
    target: str | None = None,
    cat_names: Sequence[str] = (),
    cont_names: Sequence[str] = (),
    valid_pct: float = 0.2,
    seed: int | None = 0,
    bs: int = 64,
    layers: Sequence[int] = (200, 100),
    y_range: tuple[float, float] | None = None,
    emb_szs: Mapping[str, int] | None = None,
    config: Mapping[str, Any] | None = None,
    n_out: int | None = None,
    **options: Any,
) -> TabularLearner:
    """A Learner for `TabularDataLoaders`, or for the column `target` of a table: classes if it
    holds words, booleans or integers, else a number. `learn.processor` and `learn.vocab` say what
    became of columns and classes.

    `valid_pct` of a table's rows, drawn with `seed`, are for validation. `layers`, `y_range`: of
    the `TabularModel`, and `config`: its other arguments (`ps`, `embed_p`); `emb_szs`: how many
    numbers stand for a category, by column; `n_out`: outputs, by default what the target needs.
    `options` go to the Learner.
    """
    dls: Any = table
    if not isinstance(table, TabularDataLoaders):
        if target is None:
            raise TypeError("tabular_learner: target is missing, the name of a column of the table")
        dls = _of_table(table, target, (cat_names, cont_names), (valid_pct, seed, bs))
    processor = dls.processor
    sizes = {name: emb_sz_rule(len(each)) for name, each in processor.classes.items()}
    sizes.update(emb_szs or {})
    widths = [(len(processor.classes[name]), size) for name, size in sizes.items()]
    usual = dls.train.dataset[0][-1].numel() if dls.vocab is None else len(dls.vocab)
    made: dict[str, Any] = {
        "emb_szs": widths, "n_cont": len(processor.cont_names), "out_sz": n_out or usual,
        "layers": list(layers), "y_range": y_range, **(config or {}),
    }  # fmt: skip
    loss = MSELossFlat() if dls.vocab is None else CrossEntropyLossFlat()
    loss = options.pop("loss_func", None) or loss
    learn = TabularLearner(dls, TabularModel(**made), loss, **options)
    learn.processor, learn.vocab = processor, dls.vocab
    learn.recipe = Recipe("tabular", made)
    return learn


def _of_table(
    table: Mapping[str, Any],
    target: str,
    columns: tuple[Sequence[str], Sequence[str]],
    how: tuple[float, int | None, int],
) -> TabularDataLoaders:
    """Loaders of a table whose target may be integers for classes."""
    check_columns("tabular_learner", table, (target, *columns[0], *columns[1]))
    valid_pct, seed, bs = how
    values = list(table[target])
    generator = None if seed is None else rl.Generator().manual_seed(seed)
    order = rl.randperm(len(values), generator=generator).tolist()
    held = order[: max(1, round(len(values) * valid_pct))]
    targets, vocab = _targets(values, target)
    dls = TabularDataLoaders(TabularProcessor(*columns), vocab, bs)
    dls.y_names = [target]
    return dls._loaded(table, targets, held, (bs, bs, True))


def check_columns(what: str, table: Mapping[str, Any], names: Sequence[str]) -> None:
    """Complain of columns that are not there."""
    there = list(table)
    missing = [name for name in names if name not in there]
    if missing:
        raise KeyError(f"{what}: no columns {missing}; there are: {there}")


def _picked(column: Any, rows: list[int]) -> list[Any]:
    values = list(column)
    return [values[row] for row in rows]


def check_target(column: list[Any], name: str) -> None:
    """Complain of empty cells of a target."""
    empty = sum(map(is_missing, column))
    if empty:
        raise ValueError(
            f"tabular_learner: {empty} cells of the target {name!r} are empty; leave their rows out"
        )


def _targets(column: list[Any], name: str) -> tuple[rl.Tensor, list[Any] | None]:
    """Targets as numbers, and the names of classes (None for numbers)."""
    check_target(column, name)
    numbers = all(isinstance(each, Real) and not isinstance(each, bool) for each in column)
    if numbers and not all(isinstance(each, Integral) for each in column):
        return rl.tensor([float(each) for each in column]).reshape(-1, 1), None
    vocab = sorted(set(column))
    return rl.tensor([vocab.index(value) for value in column]), vocab
