"""Sounds: AudioBlock, AudioDataLoaders, and a learner that says which sound it is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.easy.architectures import Recipe, architecture
from lightning_lite.easy.data.blocks import CategoryBlock, TransformBlock
from lightning_lite.easy.data.data_block import DataBlock
from lightning_lite.easy.data.describing import describable
from lightning_lite.easy.data.files import get_files
from lightning_lite.easy.data.labellers import parent_label
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.data.randomness import between, whole
from lightning_lite.easy.data.splitters import GrandparentSplitter, RandomSplitter
from lightning_lite.easy.data.transform import Transform
from lightning_lite.easy.learner import Learner
from lightning_lite.easy.losses import BCEWithLogitsLossFlat, CrossEntropyLossFlat
from lightning_lite.easy.vision import target_of
from rushlight import nn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

ENDINGS = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".m4a", ".aac", ".aiff", ".au")


def _audio(what: str) -> Any:
    """rushlight_audio. ModuleNotFoundError that says what to install."""
    try:
        return importlib.import_module("rushlight_audio")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{what} needs rushlight-audio: pip install rushlight-audio"
        ) from error


def get_audio_files(
    path: str | PathLike[str], recurse: bool = True, folders: Iterable[str] | None = None
) -> list[Path]:
    """The sounds below `path`, by their endings; see `get_files`."""
    return get_files(path, ENDINGS, recurse, folders)


@describable
class ReadSound:
    """Waveforms `(T,)` (float32) of files, channels averaged, resampled to `sample_rate`; tensors
    `(T,)` or `(C, T)` are taken as they are."""

    def __init__(self, sample_rate: int) -> None:
        self.sample_rate = sample_rate

    def __call__(self, source: Any) -> rl.Tensor:
        """The waveform."""
        if isinstance(source, rl.Tensor):
            return source.float() if source.ndim == 1 else source.float().mean(0)
        audio = _audio("AudioBlock")
        waveform, rate = audio.load(str(source))
        found: rl.Tensor = waveform.mean(0)
        if rate != self.sample_rate:
            found = audio.functional.resample(found, rate, self.sample_rate)
        return found


@describable
class FixedLength(Transform):
    """Waveforms of `length` samples: cut out anywhere for training, in the middle for validation;
    shorter ones between zeros."""

    order = -1

    def __init__(self, length: int) -> None:
        self.length, self.training = length, False

    def begin(self, sample: tuple[Any, ...], kinds: tuple[str, ...], split: int) -> None:
        """See whether it is training."""
        self.training = split == 0

    def audio(self, waveform: Any) -> Any:
        """The waveform `(length,)`."""
        spare = len(waveform) - self.length
        at = whole(0, abs(spare)) if self.training else abs(spare) // 2
        if spare >= 0:
            return waveform[at : at + self.length]
        return nn.functional.pad(waveform, (at, -spare - at))


@describable
class RandomGain(Transform):
    """Training waveforms, of samples or batches, louder or softer by up to `decibels`."""

    split_idx = 0

    def __init__(self, decibels: float = 6.0) -> None:
        self.decibels = decibels

    def audio(self, waveform: Any) -> Any:
        """The waveform."""
        return waveform * 10 ** (between(-self.decibels, self.decibels) / 20)


@describable
class AddNoise(Transform):
    """Noise in training waveforms, of samples or batches, up to `share` of their own deviation."""

    split_idx = 0

    def __init__(self, share: float = 0.1) -> None:
        self.share = share

    def audio(self, waveform: Any) -> Any:
        """The waveform."""
        scale = between(0, self.share) * waveform.std(-1, keepdim=True)
        return waveform + scale * rl.randn(waveform.shape)


def AudioBlock(sample_rate: int = 16000, seconds: float = 1.0) -> TransformBlock:
    """Sounds by their paths, or waveforms; batches `(N, T)` (float32) of `seconds` at `sample_rate`
    Hz. Files are read by rushlight-audio, once. ValueError for numbers that are not above 0."""
    if not (sample_rate > 0 and seconds > 0):
        raise ValueError(
            f"AudioBlock: sample_rate={sample_rate}, seconds={seconds}; expected numbers above 0"
        )
    length = FixedLength(round(sample_rate * seconds))
    return TransformBlock("audio", ReadSound(sample_rate), keeps=True, item_tfms=[length])


class AudioDataLoaders(DataLoaders):
    """Loaders of waveforms `(N, T)` (float32) and classes. In all: `sample_rate`, `seconds`: see
    `AudioBlock`; `valid_pct` of the files validates, drawn with `seed`; `options` go to
    `DataBlock.dataloaders` (`bs`, `item_tfms`, `batch_tfms`, ...)."""

    @classmethod
    def from_folder(
        cls,
        path: Any,
        train: str = "train",
        valid: str = "valid",
        valid_pct: float | None = None,
        seed: int | None = None,
        vocab: Any = None,
        sample_rate: int = 16000,
        seconds: float = 1.0,
        **options: Any,
    ) -> DataLoaders:
        """Sounds in `path/train/CLASS` and `path/valid/CLASS`, or in `path/CLASS` with
        `valid_pct`."""
        splitter = GrandparentSplitter(train, valid)
        if valid_pct is not None:
            splitter = RandomSplitter(valid_pct, seed)
        files = get_audio_files(path, folders=[train, valid] if valid_pct is None else None)
        blocks = (AudioBlock(sample_rate, seconds), CategoryBlock(vocab))
        return DataBlock(blocks, splitter=splitter, get_y=parent_label).dataloaders(
            files, **options
        )

    @classmethod
    def from_path_func(
        cls,
        path: Any,
        fnames: Sequence[Any],
        label_func: Callable[[Path], Any],
        valid_pct: float = 0.2,
        seed: int | None = None,
        sample_rate: int = 16000,
        seconds: float = 1.0,
        **options: Any,
    ) -> DataLoaders:
        """The files `fnames`, whose classes are `label_func(file)`."""
        blocks = (AudioBlock(sample_rate, seconds), CategoryBlock)
        splitter = RandomSplitter(valid_pct, seed)
        block = DataBlock(blocks, splitter=splitter, get_y=label_func)
        return block.dataloaders(list(fnames), **options)


@architecture("audio")
def audio_model(num_classes: int, sample_rate: int, **config: Any) -> nn.Module:
    """The network of `audio_learner`: rushlight_audio's `SpectrogramClassifier`."""
    _audio("audio_learner")
    models = importlib.import_module("rushlight_audio.models")
    made: nn.Module = models.SpectrogramClassifier(num_classes, sample_rate, **config)
    return made


def audio_learner(
    dls: DataLoaders,
    n_out: int | None = None,
    loss_func: Callable | None = None,
    config: dict[str, Any] | None = None,
    **options: Any,
) -> Learner:
    """A Learner that says which sound it is: convolutions over mel spectrograms in decibels.

    `dls`: of an `AudioBlock` and classes; `n_out`: by default how many; `loss_func`: cross entropy
    by default, the binary one for several classes at once; `config`: arguments of rushlight_audio's
    `SpectrogramClassifier` (`n_fft`, `hop_length`, `n_mels`, `channels`, `dropout`). `options` go
    to the Learner. Needs rushlight-audio. TypeError for data that is no sound.
    """
    reader = dls.dsets.readers[0] if isinstance(dls, DataLoaders) else None
    if reader is None or not isinstance(reader.block.read, ReadSound):
        raise TypeError(
            "audio_learner needs DataLoaders of AudioDataLoaders or a DataBlock with an AudioBlock;"
            f" dls is a {type(dls).__name__}"
        )
    kind, count = target_of(dls, n_out, "audio_learner")
    rate = reader.block.read.sample_rate
    made = {"num_classes": count, "sample_rate": rate, **(config or {})}
    usual = BCEWithLogitsLossFlat if kind == "categories" else CrossEntropyLossFlat
    learn = Learner(dls, audio_model(**made), loss_func or usual(), **options)
    learn.recipe = Recipe("audio", made)
    return learn
