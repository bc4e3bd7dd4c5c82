"""DataLoaders: batches for training and validation, with transforms of items and of batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.coordinates import bb_pad
from lightning_lite.easy.data.pictures import Normalize
from lightning_lite.easy.data.printed import texts_shown
from lightning_lite.easy.data.samples import Datasets, Samples
from lightning_lite.easy.data.showing import draw, grid, title_of
from lightning_lite.easy.data.sounds import sounds_shown
from lightning_lite.easy.data.transform import Transform, as_transforms, in_order
from rushlight.utils.data import DataLoader, Dataset, default_collate


class Finished(Dataset):
    """Samples as tensors, after the transforms of items."""

    def __init__(self, samples: Samples, item_tfms: Any, n_inp: int) -> None:
        self.samples = samples
        self.blocks = [reader.block for reader in samples.readers]
        # What two blocks need is done once.
        needed = {type(each): each for block in self.blocks for each in block.item_tfms}
        given = as_transforms("item_tfms", item_tfms, n_inp)
        self.transforms = in_order("item_tfms", [*needed.values(), *given])
        self.kinds = tuple(block.kind for block in self.blocks)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.samples)

    def __getitem__(self, position: int) -> tuple[Any, ...]:
        """A sample of tensors."""
        sample = self.samples[position]
        for each in self.transforms:
            sample = each(sample, self.kinds, self.samples.split)
        pairs = zip(sample, self.blocks, strict=True)
        return tuple(part if each.finish is None else each.finish(part) for part, each in pairs)


class Collate:
    """Makes a batch of samples; pictures become numbers between 0 and 1, then `batch_tfms`: a
    `Transform` changes the batch's parts by their kinds, other functions the pictures. `split`: 0
    trains, 1 validates."""

    def __init__(self, kinds: tuple[str, ...], batch_tfms: Any, split: int) -> None:
        self.kinds, self.split = kinds, split
        self.functions = in_order("batch_tfms", batch_tfms)

    def __call__(self, samples: list[Any]) -> tuple[Any, ...]:
        """The batch."""
        samples = bb_pad(samples, self.kinds) if "boxes" in self.kinds else samples
        try:
            parts = default_collate(samples)
        except RuntimeError as error:
            shapes = sorted({str([tuple(part.shape) for part in each]) for each in samples})
            raise RuntimeError(
                f"samples of different shapes do not make a batch: {', '.join(shapes[:3])}; "
                "item_tfms=Resize(224) makes pictures of one size"
            ) from error
        batch = self._pictures(parts, lambda part: part.to(rl.float32) / 255)
        for each in self.functions:
            if isinstance(each, Transform):
                batch = each(batch, self.kinds[: len(batch)], self.split)
            else:
                batch = self._pictures(batch, each)
        return batch

    def _pictures(self, parts: Any, function: Callable[[Any], Any]) -> tuple[Any, ...]:
        pairs = zip(parts, self.kinds, strict=False)
        return tuple(function(part) if kind == "image" else part for part, kind in pairs)

    def decode(self, part: Any) -> Any:
        """Pictures of a batch as they were before transforms that can be undone."""
        for function in reversed(self.functions):
            part = getattr(function, "decode", lambda same: same)(part)
        return part


class DataLoaders:
    """`train` and `valid`: loaders of batches, made by `DataBlock.dataloaders` or `from_dsets`."""

    def __init__(self, train: DataLoader, valid: DataLoader) -> None:
        self.train, self.valid = train, valid
        self.bs = train.batch_size
        self.dsets: Any = None
        self._settings: dict[str, Any] = {}

    @classmethod
    def from_dsets(
        cls,
        dsets: Datasets,
        bs: int = 64,
        val_bs: int | None = None,
        shuffle: bool = True,
        item_tfms: Any = None,
        batch_tfms: Any = None,
        drop_last: bool | None = None,
        **options: Any,
    ) -> DataLoaders:
        """Of samples. Training is shuffled and leaves an incomplete batch out (unless it is the
        only one); `options` go to `DataLoader`."""
        settings = {"item_tfms": item_tfms, "batch_tfms": batch_tfms, "options": options}
        drop = shuffle and len(dsets.train) >= bs if drop_last is None else drop_last
        train = _loader(dsets.train, dsets.n_inp, settings, bs, shuffle=shuffle, drop_last=drop)
        made = cls(train, _loader(dsets.valid, dsets.n_inp, settings, val_bs or bs))
        made.dsets, made._settings, made.bs = dsets, settings, bs
        return made

    @property
    def train_ds(self) -> Samples:
        """The samples of training, before transforms."""
        return self.dsets.train

    @property
    def valid_ds(self) -> Samples:
        """The samples of validation, before transforms."""
        return self.dsets.valid

    @property
    def n_inp(self) -> int | None:
        """How many parts of a sample are inputs; None for loaders of other data."""
        return None if self.dsets is None else self.dsets.n_inp

    @property
    def vocab(self) -> Any:
        """The names of the classes."""
        return self.dsets.vocab

    @property
    def c(self) -> int:
        """How many classes there are, or outputs that a number needs."""
        vocab = self.dsets.vocab
        if vocab:
            return len(vocab[-1] if isinstance(vocab[-1], list) else vocab)
        return int(self.dsets.train[0][-1].numel())

    def one_batch(self) -> tuple[Any, ...]:
        """The next first batch of training. ValueError where training has none."""
        for batch in self.train:
            return batch
        raise ValueError(f"one_batch: {len(self.train_ds)} samples make no batch of {self.bs}")

    def add_tfms(self, tfms: Any, event: str = "after_batch") -> None:
        """Add transforms to those of both loaders and of `test_dl`.

        Args:
            tfms: a `Transform` or a function, or several.
            event: "after_batch" for transforms of batches, "after_item" for those of samples.

        Each takes its place by its `order`. ValueError for another event.
        """
        names = {"after_batch": "batch_tfms", "after_item": "item_tfms"}
        if event not in names:
            raise ValueError(f"add_tfms: event={event!r}; expected one of {sorted(names)}")
        name = names[event]
        added = in_order(name, tfms)
        self._settings[name] = [*in_order(name, self._settings.get(name)), *added]
        for loader in (self.train, self.valid):
            if event == "after_batch":
                collate: Any = loader.collate_fn
                collate.functions = in_order(name, [*collate.functions, *added])
            else:
                made = as_transforms(name, added, self.n_inp or 1)
                samples: Any = loader.dataset
                samples.transforms = in_order(name, [*samples.transforms, *made])

    @property
    def normalizes(self) -> bool:
        """Whether the transforms of batches hold a `Normalize`."""
        functions = getattr(self.train.collate_fn, "functions", [])
        return any(isinstance(each, Normalize) for each in functions)

    @property
    def pictures_of(self) -> Callable[[Any], Any]:
        """A function that undoes the transforms of a batch of pictures."""
        collate: Any = self.train.collate_fn
        return collate.decode

    def target(self, what: str) -> Any:
        """The block of the target, where samples are one picture or sound and one target.
        NotImplementedError for others, which `what` cannot show."""
        blocks = [reader.block for reader in self.dsets.readers]
        kinds = [each.kind for each in blocks]
        labelled = kinds[1:] == ["boxes", "labels"]
        first = "image" if labelled else kinds[0]
        if first not in ("image", "audio") or (len(kinds) != 2 and not labelled):
            raise NotImplementedError(
                f"{what} shows texts, or one picture or sound with one target, samples are "
                f"{kinds}; look at one_batch()"
            )
        return blocks[1]

    @property
    def shown_kind(self) -> str:
        """What the first part of samples is: "image", "text", "audio", ..."""
        return str(self.dsets.readers[0].block.kind)

    @property
    def sample_rate(self) -> int | None:
        """Samples a second of sounds; None where it is not known."""
        return getattr(self.dsets.readers[0].block.read, "sample_rate", None)

    def show_batch(
        self,
        max_n: int = 9,
        columns: int = 3,
        trunc_at: int | None = 150,
        spectrogram: bool = False,
    ) -> Any:
        """Show a training batch with its targets, at most `max_n` samples.

        Pictures, and sounds as waveforms (or with `spectrogram` as spectrograms), are drawn,
        `columns` side by side: matplotlib's figure. Texts are a table that can be printed, with at
        most `trunc_at` tokens each. NotImplementedError for other samples.
        """
        if self.shown_kind == "text":
            return texts_shown(self.dsets.readers, self.one_batch(), max_n, trunc_at)
        block = self.target("show_batch")
        if self.shown_kind == "audio":
            sounds, targets = self.one_batch()
            titles = [title_of(block.decode(each)) for each in targets[:max_n]]
            how = (columns, spectrogram)
            return sounds_shown("show_batch", sounds, titles, self.sample_rate, how)
        pictures, targets, *labels = self.one_batch()
        count = min(max_n, len(pictures))
        figure, axes = grid("show_batch", count, columns)
        for ax, picture, target in zip(axes, self.pictures_of(pictures), targets, strict=False):
            draw(ax, picture, block.kind, block.decode(target))
        for ax, names in zip(axes, labels[0] if labels else [], strict=False):
            there = [each for each in self.dsets.readers[2].block.decode(names) if each != "#na#"]
            ax.set_title(title_of(there), fontsize=9)
        return figure

    def test_dl(self, items: Any, with_labels: bool = False, bs: int | None = None) -> DataLoader:
        """A loader of other items in their order: inputs alone, or with targets."""
        readers = self.dsets.readers if with_labels else self.dsets.readers[: self.dsets.n_inp]
        for reader in readers:
            items = items if reader.block.prepare is None else reader.block.prepare(items)
        rows = items.iloc if hasattr(items, "iloc") else items
        picked = [rows[position] for position in range(len(items))]
        samples = Samples(picked, readers, 1, outside=True)
        return _loader(samples, self.dsets.n_inp, self._settings, bs or self.bs)

    def loader_of(
        self, samples: Samples, split: int, item_tfms: Any = None, batch_tfms: Any = None
    ) -> DataLoader:
        """A loader of samples in their order, changed as in training (`split` 0) or validation (1);
        transforms that are given stand for those of these loaders."""
        given = {"item_tfms": item_tfms, "batch_tfms": batch_tfms}
        changed = {name: each for name, each in given.items() if each is not None}
        settings = {**self._settings, **changed}
        return _loader(samples.of_split(split), self.dsets.n_inp, settings, self.bs)


def _loader(
    samples: Samples, n_inp: int, settings: dict[str, Any], bs: int | None, **more: Any
) -> DataLoader:
    finished = Finished(samples, settings["item_tfms"], n_inp)
    collate: Callable[[list[Any]], Any] = Collate(
        finished.kinds, settings["batch_tfms"], samples.split
    )
    batches = finished.blocks[0].batches
    if batches is not None:
        own: DataLoader = batches.loader(finished, collate, bs, {**settings["options"], **more})
        return own
    return DataLoader(finished, bs, collate_fn=collate, **settings["options"], **more)
