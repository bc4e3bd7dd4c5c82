"""SegmentationDataLoaders: pictures and masks as batches in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lightning_lite.easy.data.blocks import ImageBlock, MaskBlock
from lightning_lite.easy.data.data_block import DataBlock
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.data.pictures import PILImage
from lightning_lite.easy.data.splitters import RandomSplitter


class SegmentationDataLoaders(DataLoaders):
    """Loaders of pictures `(N, C, H, W)` (float32) and masks `(N, H, W)` (int64)."""

    @classmethod
    def from_label_func(
        cls,
        path: Any,
        fnames: Sequence[Any],
        label_func: Callable[[Path], Any],
        valid_pct: float = 0.2,
        seed: int | None = None,
        codes: Sequence[str] | None = None,
        img_cls: type[PILImage] = PILImage,
        **options: Any,
    ) -> DataLoaders:
        """The files `fnames`, whose masks are the files (or Pillow's pictures) `label_func(file)`.

        `codes`: the names of the classes; `valid_pct` of the files validates, drawn with `seed`;
        `options` go to `DataBlock.dataloaders` (`bs`, `item_tfms`, `batch_tfms`, ...).
        """
        blocks = (ImageBlock(img_cls), MaskBlock(codes))
        splitter = RandomSplitter(valid_pct, seed)
        block = DataBlock(blocks, splitter=splitter, get_y=label_func)
        return block.dataloaders(list(fnames), **options)
