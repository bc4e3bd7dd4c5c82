"""TextDataLoaders: texts of folders and tables as batches in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lightning_lite.easy.data.blocks import CategoryBlock, MultiCategoryBlock
from lightning_lite.easy.data.data_block import DataBlock
from lightning_lite.easy.data.files import get_text_files, read_csv
from lightning_lite.easy.data.labellers import ColReader, parent_label
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.data.splitters import ColSplitter, GrandparentSplitter, RandomSplitter
from lightning_lite.easy.text.blocks import TextBlock


class TextDataLoaders(DataLoaders):
    """Loaders of texts `(N, T)` (int64) and classes, or for a language model of texts and the token
    after each.

    In all: `is_lm`: for a language model; `text_vocab`: the tokens, `vocab`: the classes, by
    default those of training; `seq_len`, `backwards`: see `TextBlock`; `tok_tfm`, `rules`: see
    `Tokenizer`'s `tok`; `valid_pct` of the texts validates, drawn with `seed`. `options` go to
    `DataBlock.dataloaders` (`bs`, ...).
    """

    @classmethod
    def from_folder(
        cls,
        path: Any,
        train: str = "train",
        valid: str = "valid",
        valid_pct: float | None = None,
        seed: int | None = None,
        vocab: Any = None,
        text_vocab: Sequence[str] | None = None,
        is_lm: bool = False,
        tok_tfm: Any = None,
        seq_len: int = 72,
        splitter: Any = None,
        backwards: bool = False,
        **options: Any,
    ) -> DataLoaders:
        """Texts in `path/train/CLASS/*.txt` and `path/valid/CLASS/*.txt`, or in `path/CLASS` with
        `valid_pct`."""
        if splitter is None:
            splitter = GrandparentSplitter(train, valid)
            splitter = splitter if valid_pct is None else RandomSplitter(valid_pct, seed)
        block = TextBlock.from_folder(path, text_vocab, is_lm, seq_len, backwards, tok=tok_tfm)
        blocks = [block] if is_lm else [block, CategoryBlock(vocab)]
        label = None if is_lm else parent_label
        files = get_text_files(path, folders=[train, valid] if valid_pct is None else None)
        return DataBlock(blocks, splitter=splitter, get_y=label).dataloaders(files, **options)

    @classmethod
    def from_df(
        cls,
        df: Any,
        path: Any = ".",
        valid_pct: float = 0.2,
        seed: int | None = None,
        text_col: Any = 0,
        label_col: Any = 1,
        label_delim: str | None = None,
        y_block: Any = None,
        text_vocab: Sequence[str] | None = None,
        is_lm: bool = False,
        valid_col: Any = None,
        tok_tfm: Any = None,
        tok_text_col: str = "text",
        seq_len: int = 72,
        backwards: bool = False,
        **options: Any,
    ) -> DataLoaders:
        """Texts of the columns `text_col` of a pandas DataFrame and classes of `label_col` (names
        or positions; several columns of classes, or one parted by `label_delim`: several classes).

        `y_block`: another target; `valid_col`: the column that says which rows validate;
        `tok_text_col`: the column that joined texts get.
        """
        block = TextBlock.from_df(
            text_col, text_vocab, is_lm, seq_len, backwards, tok=tok_tfm, tok_text_col=tok_text_col
        )
        blocks, label = [block], None
        if not is_lm:
            names = [
                df.columns[each] if isinstance(each, int) else each for each in _listed(label_col)
            ]
            several = len(names) > 1 or label_delim is not None
            usual = MultiCategoryBlock if several else CategoryBlock
            blocks += _listed(usual if y_block is None else y_block)
            label = ColReader(names, label_delim=label_delim)
        splitter = RandomSplitter(valid_pct, seed) if valid_col is None else ColSplitter(valid_col)
        made = DataBlock(blocks, splitter=splitter, get_x=ColReader(tok_text_col), get_y=label)
        return made.dataloaders(df, **options)

    @classmethod
    def from_csv(
        cls,
        path: Any,
        csv_fname: str = "labels.csv",
        header: Any = "infer",
        delimiter: str | None = None,
        quoting: int = 0,
        **options: Any,
    ) -> DataLoaders:
        """Of the table `path/csv_fname`, as `from_df`. `header`, `delimiter`, `quoting`: those of
        `pandas.read_csv`. Needs pandas."""
        how = {"header": header, "delimiter": delimiter, "quoting": quoting}
        table = read_csv("TextDataLoaders.from_csv", path, csv_fname, how)
        return cls.from_df(table, path, **options)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]
