"""ImageDataLoaders: labelled pictures as batches in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lightning_lite.easy.data.blocks import (
    CategoryBlock,
    ImageBlock,
    MultiCategoryBlock,
    RegressionBlock,
)
from lightning_lite.easy.data.data_block import DataBlock
from lightning_lite.easy.data.files import get_image_files, read_csv
from lightning_lite.easy.data.labellers import ColReader, ItemGetter, RegexLabeller, parent_label
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.data.pictures import PILImage
from lightning_lite.easy.data.splitters import (
    ColSplitter,
    GrandparentSplitter,
    RandomSplitter,
    Splitter,
)


class ImageDataLoaders(DataLoaders):
    """Loaders of pictures and classes. `options` go to `DataBlock.dataloaders` (`bs`, `item_tfms`,
    `batch_tfms`, ...); `valid_pct` of the files validates, drawn with `seed`."""

    @classmethod
    def from_folder(
        cls,
        path: Any,
        train: str = "train",
        valid: str = "valid",
        valid_pct: float | None = None,
        seed: int | None = None,
        vocab: Any = None,
        img_cls: type[PILImage] = PILImage,
        **options: Any,
    ) -> DataLoaders:
        """Pictures in `path/train/CLASS` and `path/valid/CLASS`, or in `path/CLASS` with
        `valid_pct`."""
        folders = [train, valid] if valid_pct is None else None
        files = get_image_files(path, folders=folders)
        splitter = GrandparentSplitter(train, valid)
        if valid_pct is not None:
            splitter = RandomSplitter(valid_pct, seed)
        return _labelled(files, parent_label, splitter, img_cls, vocab, options)

    @classmethod
    def from_path_func(
        cls,
        path: Any,
        fnames: Sequence[Any],
        label_func: Callable[[Path], Any],
        valid_pct: float = 0.2,
        seed: int | None = None,
        img_cls: type[PILImage] = PILImage,
        **options: Any,
    ) -> DataLoaders:
        """The files `fnames`, whose classes are `label_func(file)`."""
        splitter = RandomSplitter(valid_pct, seed)
        return _labelled(list(fnames), label_func, splitter, img_cls, None, options)

    @classmethod
    def from_name_func(
        cls, path: Any, fnames: Sequence[Any], label_func: Callable[[str], Any], **options: Any
    ) -> DataLoaders:
        """As `from_path_func`, but `label_func` is given the name of the file."""
        return cls.from_path_func(path, fnames, _ByName(label_func), **options)

    @classmethod
    def from_path_re(
        cls, path: Any, fnames: Sequence[Any], pat: str, **options: Any
    ) -> DataLoaders:
        """As `from_path_func`; the class is the first group of `pat` in the path."""
        return cls.from_path_func(path, fnames, RegexLabeller(pat), **options)

    @classmethod
    def from_name_re(
        cls, path: Any, fnames: Sequence[Any], pat: str, **options: Any
    ) -> DataLoaders:
        """As `from_path_func`; the class is the first group of `pat` in the name."""
        return cls.from_name_func(path, fnames, RegexLabeller(pat), **options)

    @classmethod
    def from_lists(
        cls,
        path: Any,
        fnames: Sequence[Any],
        labels: Sequence[Any],
        valid_pct: float = 0.2,
        seed: int | None = None,
        img_cls: type[PILImage] = PILImage,
        y_block: Any = None,
        **options: Any,
    ) -> DataLoaders:
        """The files `fnames`, below `path`, and their `labels`: lists of classes, numbers (float),
        or classes, unless `y_block` says what. ValueError for another number of them."""
        if len(fnames) != len(labels):
            raise ValueError(f"from_lists: {len(fnames)} fnames and {len(labels)} labels")
        pairs = [(Path(path, name), label) for name, label in zip(fnames, labels, strict=True)]
        splitter = RandomSplitter(valid_pct, seed)
        if y_block is None:
            first = labels[0] if len(labels) else None
            several = isinstance(first, list | tuple) and len(first) > 1
            usual = RegressionBlock if isinstance(first, float) else CategoryBlock
            y_block = MultiCategoryBlock if several else usual
        whole = DataBlock(
            (ImageBlock(img_cls), y_block),
            splitter=splitter,
            get_x=ItemGetter(0),
            get_y=ItemGetter(1),
        )
        return whole.dataloaders(pairs, **options)

    @classmethod
    def from_df(
        cls,
        df: Any,
        path: Any = ".",
        valid_pct: float = 0.2,
        seed: int | None = None,
        fn_col: Any = 0,
        folder: Any = None,
        suff: str = "",
        label_col: Any = 1,
        label_delim: str | None = None,
        y_block: Any = None,
        valid_col: Any = None,
        img_cls: type[PILImage] = PILImage,
        **options: Any,
    ) -> DataLoaders:
        """Rows of a pandas DataFrame: the file `path/folder/NAME` + `suff` of the column `fn_col`,
        and the class of `label_col` (names or positions; several columns, or one parted by
        `label_delim`: several classes). `y_block`: another target; `valid_col`: the column that
        says which rows validate."""
        several = isinstance(label_col, list | tuple) and len(label_col) > 1
        usual = MultiCategoryBlock if several or label_delim is not None else CategoryBlock
        below = Path(path) if folder is None else Path(path, folder)
        splitter = RandomSplitter(valid_pct, seed) if valid_col is None else ColSplitter(valid_col)
        whole = DataBlock(
            (ImageBlock(img_cls), usual if y_block is None else y_block),
            splitter=splitter,
            get_x=ColReader(fn_col, pref=below, suff=suff),
            get_y=ColReader(label_col, label_delim=label_delim),
        )
        return whole.dataloaders(df, **options)

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
        table = read_csv("ImageDataLoaders.from_csv", path, csv_fname, how)
        return cls.from_df(table, path, **options)


class _ByName:
    def __init__(self, function: Callable[[str], Any]) -> None:
        self.function = function

    def __call__(self, file: Any) -> Any:
        return self.function(Path(file).name)


def _labelled(
    items: list[Any],
    get_y: Callable[[Any], Any],
    splitter: Splitter,
    img_cls: type[PILImage],
    vocab: Any,
    options: dict[str, Any],
    get_x: Any = None,
) -> DataLoaders:
    blocks = (ImageBlock(img_cls), CategoryBlock(vocab))
    block = DataBlock(blocks, splitter=splitter, get_x=get_x, get_y=get_y)
    return block.dataloaders(items, **options)
