"""Blocks: what an input or a target of a sample is, how it is read and how it becomes a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.categories import (
    Categorize,
    CategorizeEach,
    Coder,
    EncodedMultiCategorize,
    MultiCategorize,
    Number,
)
from lightning_lite.easy.data.coordinates import PointScaler, as_boxes, as_points
from lightning_lite.easy.data.describing import announce
from lightning_lite.easy.data.pictures import PILImage, PILMask, as_tensor


class TransformBlock:
    """A part of a sample. `kind`: which methods of transforms change it; `read`: makes it of what
    the getter gave; `coder`: numbers of values, learnt from training; `finish`: a tensor of it.

    `batches`: an object whose `loader` makes the DataLoader, where the first input wants its own;
    `prepare`: changes the items before they are split; `keeps`: whether a part stays in memory once
    it was made; `item_tfms`: transforms of samples that it needs.
    """

    def __init__(
        self,
        kind: str = "value",
        read: Callable[[Any], Any] | None = None,
        coder: Coder | None = None,
        finish: Callable[[Any], Any] | None = None,
        batches: object = None,
        prepare: Callable[[Any], Any] | None = None,
        keeps: bool = False,
        item_tfms: Sequence[Any] = (),
    ) -> None:
        self.kind, self.read, self.coder, self.finish = kind, read, coder, finish
        self.prepare, self.keeps = prepare, keeps
        self.batches: Any = batches
        self.item_tfms = list(item_tfms)

    @property
    def vocab(self) -> Any:
        """The names of the classes; None where there are none."""
        return None if self.coder is None else self.coder.vocab

    def decode(self, value: Any) -> Any:
        """What a person reads of a value of a batch."""
        return value if self.coder is None else self.coder.decode(value)


def ImageBlock(cls: type[PILImage] = PILImage) -> TransformBlock:
    """Pictures by their paths; batches `(N, C, H, W)` (float32) between 0 and 1."""
    return TransformBlock("image", cls.create, None, as_tensor)


def MaskBlock(codes: Sequence[str] | None = None) -> TransformBlock:
    """Masks by their paths; batches `(N, H, W)` (int64). `codes`: the names of their classes."""
    coder = Coder()
    coder.vocab = None if codes is None else list(codes)
    return TransformBlock("mask", PILMask.create, coder, _classes)


@announce
def _classes(image: Any) -> rl.Tensor:
    return as_tensor(image)[0].to(rl.int64)


def PointBlock() -> TransformBlock:
    """Points of a picture in pixels, x before y; batches `(N, P, 2)` (float32) between -1 and 1,
    which every sample must have the same number of."""
    return TransformBlock("points", as_points, item_tfms=[PointScaler()])


def BBoxBlock() -> TransformBlock:
    """Boxes of a picture by their left, top, right and bottom in pixels; batches `(N, B, 4)`
    (float32) between -1 and 1, filled up with zeros; what leaves the picture is cut off."""
    return TransformBlock("boxes", as_boxes, item_tfms=[PointScaler()])


def BBoxLblBlock(vocab: Sequence[str] | None = None, add_na: bool = True) -> TransformBlock:
    """The classes of the boxes of the block before; batches `(N, B)` (int64), filled up with 0.
    `add_na`: 0 is a class of its own, "#na#", for what is no box."""
    return TransformBlock("labels", coder=CategorizeEach(vocab, add_na))


def CategoryBlock(
    vocab: Sequence[str] | None = None, sort: bool = True, add_na: bool = False
) -> TransformBlock:
    """One class of a sample; see `Categorize`. Batches `(N,)` (int64).

    Args:
        sort: whether names are sorted.
        add_na: whether a class for unknown names comes first.

    >>> CategoryBlock(vocab=["blue", "red"]).kind
    'category'
    """
    return TransformBlock("category", coder=Categorize(vocab, sort, add_na))


def MultiCategoryBlock(
    encoded: bool = False, vocab: Sequence[str] | None = None, add_na: bool = False
) -> TransformBlock:
    """Several classes of a sample; batches `(N, C)` (float32) of ones and zeros. `encoded`: the
    values are ones and zeros already, and `vocab` their names (ValueError without).

    Args:
        add_na: whether a class for unknown names comes first.

    >>> MultiCategoryBlock().kind
    'categories'
    """
    if encoded and vocab is None:
        raise ValueError("MultiCategoryBlock: encoded=True needs vocab, the names of the classes")
    made: Coder = MultiCategorize(vocab, add_na=add_na)
    if encoded and vocab is not None:
        made = EncodedMultiCategorize(vocab)
    return TransformBlock("categories", coder=made)


def RegressionBlock(n_out: int | None = None) -> TransformBlock:
    """A number, or `n_out` of them; batches `(N,)` or `(N, n_out)` (float32).

    >>> RegressionBlock(n_out=2).kind
    'number'
    """
    return TransformBlock("number", coder=Number(n_out))
