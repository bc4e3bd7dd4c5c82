"""DataBlock: how files or rows become batches, said once and used for any source."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from lightning_lite.easy.data.blocks import TransformBlock
from lightning_lite.easy.data.describing import announce
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.data.samples import Datasets, Reader
from lightning_lite.easy.data.splitters import RandomSplitter
from lightning_lite.easy.data.summary import show_batch_steps, show_parts


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


@announce
def _same(item: Any) -> Any:
    return item


class DataBlock:
    """Says what samples are: `blocks` (inputs, then targets; functions that make blocks or blocks),
    `get_items(source)`, `splitter(items)` (a fifth validates by default), `get_x(item)` and
    `get_y(item)` (or lists of functions, or all in `getters`), `n_inp` inputs (all blocks but one),
    `item_tfms` and `batch_tfms`.

    >>> from lightning_lite.easy import CategoryBlock, EndSplitter, RegressionBlock
    >>> block = DataBlock((RegressionBlock, CategoryBlock), splitter=EndSplitter(),
    ...                   get_x=lambda item: item, get_y=lambda item: "odd" if item % 2 else "even")
    >>> dls = block.dataloaders(list(range(10)), bs=4)
    >>> dls.vocab, dls.valid_ds[0]
    (['even', 'odd'], (tensor(8.), tensor(0)))
    """

    def __init__(
        self,
        blocks: object = None,
        getters: Sequence[Callable[[Any], Any]] | None = None,
        n_inp: int | None = None,
        item_tfms: object = None,
        batch_tfms: object = None,
        *,
        get_items: Callable[[Any], Any] | None = None,
        splitter: Callable[[Any], Any] | None = None,
        get_y: Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None = None,
        get_x: Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None = None,
    ) -> None:
        made = _listed((TransformBlock, TransformBlock) if blocks is None else blocks)
        self.blocks = [each if isinstance(each, TransformBlock) else each() for each in made]
        self.n_inp = max(1, len(self.blocks) - 1) if n_inp is None else n_inp
        self.get_items = get_items or _same
        self.splitter = splitter or RandomSplitter()
        self.getters = self._getters(getters, get_x, get_y)
        self.item_tfms, self.batch_tfms = item_tfms, batch_tfms

    def _getters(self, getters: Any, get_x: Any, get_y: Any) -> list[Callable[[Any], Any]]:
        found = [_same] * len(self.blocks) if getters is None else list(getters)
        if get_x is not None:
            found[: self.n_inp] = _listed(get_x)
        if get_y is not None:
            found[self.n_inp :] = _listed(get_y)
        if len(found) != len(self.blocks):
            raise ValueError(
                f"DataBlock: {len(found)} getters for {len(self.blocks)} blocks, of which "
                f"{self.n_inp} are inputs; expected one for each"
            )
        return found

    def new(self, item_tfms: object = None, batch_tfms: object = None) -> DataBlock:
        """The same block with other transforms, where they are given.

        >>> from lightning_lite.easy import CategoryBlock, Resize
        >>> DataBlock((CategoryBlock, CategoryBlock)).new(item_tfms=Resize(8)).item_tfms.size
        (8, 8)
        """
        made = copy.copy(self)
        made.item_tfms = self.item_tfms if item_tfms is None else item_tfms
        made.batch_tfms = self.batch_tfms if batch_tfms is None else batch_tfms
        return made

    def datasets(self, source: Any) -> Datasets:
        """Samples for training and validation, with the classes that training has."""
        items = self.get_items(source)
        if not len(items):
            raise ValueError(f"DataBlock: get_items found nothing in {source!r}")
        readers = [
            Reader(copy.deepcopy(block), getter)
            for block, getter in zip(self.blocks, self.getters, strict=True)
        ]
        return Datasets(items, self.splitter(items), readers, self.n_inp)

    def summary(self, source: Any, bs: int = 4, show_batch: bool = False, **options: Any) -> None:
        """Print what becomes of the first items of `source`, step by step, up to a batch of `bs`;
        the step that fails is named in its error. `show_batch` draws it too, with `options`."""
        show_parts(self.datasets(source))
        dls = self.dataloaders(source, bs=bs)
        show_batch_steps(dls, bs)
        if show_batch:
            dls.show_batch(**options)

    def dataloaders(
        self,
        source: Any,
        bs: int = 64,
        val_bs: int | None = None,
        shuffle: bool = True,
        item_tfms: Any = None,
        batch_tfms: Any = None,
        **options: Any,
    ) -> DataLoaders:
        """Loaders of batches; the transforms instead of the block's, `options` to `DataLoader`."""
        return DataLoaders.from_dsets(
            self.datasets(source),
            bs=bs,
            val_bs=val_bs,
            shuffle=shuffle,
            item_tfms=self.item_tfms if item_tfms is None else item_tfms,
            batch_tfms=self.batch_tfms if batch_tfms is None else batch_tfms,
            **options,
        )
