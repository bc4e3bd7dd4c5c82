"""Data sets that are folders: one folder for each class."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError

from rushlight_vision._image_errors import DAMAGE, said_of
from rushlight_vision.datasets.vision import VisionDataset

IMG_EXTENSIONS = (
    ".jpg",
    ".jpeg",
    ".png",
    ".ppm",
    ".bmp",
    ".pgm",
    ".tif",
    ".tiff",
    ".webp",
)
Location = str | os.PathLike[str]


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether a name ends in one of the extensions, in capitals or not."""
    if isinstance(extensions, str):
        extensions = (extensions,)
    return filename.lower().endswith(tuple(extension.lower() for extension in extensions))


def is_image_file(filename: str) -> bool:
    """Whether a name ends as images' names do."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: Location) -> tuple[list[str], dict[str, int]]:
    """The folders in a folder, sorted, and the number of each."""
    if not Path(directory).is_dir():
        raise FileNotFoundError(f"{directory} is not a folder; expected one folder for each class")
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: number for number, name in enumerate(classes)}


def make_dataset(
    directory: Location,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """Paths of all samples under a folder with the number of their class, sorted.

    Give either `extensions` or `is_valid_file`, a function of a path.
    """
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError("make_dataset: class_to_idx must have at least one entry")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("make_dataset: give either extensions or is_valid_file, not both")
    accept = is_valid_file or (lambda path: has_file_allowed_extension(path, extensions or ()))
    samples = []
    filled = set()
    for name in sorted(class_to_idx):
        folder = os.path.join(directory, name)
        for place, _, files in sorted(os.walk(folder, followlinks=True)):
            for file in sorted(files):
                path = os.path.join(place, file)
                if accept(path):
                    samples.append((path, class_to_idx[name]))
                    filled.add(name)
    empty = sorted(set(class_to_idx) - filled)
    if empty and not allow_empty:
        message = f"Found no valid file for the classes {', '.join(empty)} in {directory}."
        if extensions is not None:
            words = extensions if isinstance(extensions, str) else ", ".join(extensions)
            message += f" Supported extensions are: {words}"
        raise FileNotFoundError(message)
    return samples


def open_image(path: Location, mode: str | None = None) -> Image.Image:
    """The image in a file, in `mode` or that in which it is stored.

    Errors name the path and what is wrong with the file.
    """
    try:
        with open(path, "rb") as file:
            image = Image.open(file)
            image.load()
            return image if mode is None else image.convert(mode)
    except UnidentifiedImageError:
        size = Path(path).stat().st_size
        raise ValueError(f"{path} is not an image that Pillow can read ({size} bytes)") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist") from None
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's own trouble names the path
        raise ValueError(said_of(os.fspath(path), error)) from None


def pil_loader(path: Location) -> Image.Image:
    """The image in a file, as RGB. Errors name the path and what is wrong with the file."""
    return open_image(path, "RGB")


default_loader = pil_loader


class DatasetFolder(VisionDataset):
    """Samples in folders: `root/<class>/.../<file>`, loaded by `loader`.

    The classes are the folders in `root`, sorted, numbered from 0: `classes`, `class_to_idx`;
    `samples` is the list of (path, number), `targets` that of the numbers. Give `extensions` or
    `is_valid_file` to say which files are samples. A class without any raises `FileNotFoundError`
    unless `allow_empty`.
    """

    def __init__(
        self,
        root: Location,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        root = os.path.expanduser(root)
        classes, class_to_idx = self.find_classes(root)
        self.loader = loader
        self.extensions = extensions
        self.classes = classes
        self.class_to_idx = class_to_idx
        self.samples = self.make_dataset(root, class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(
        directory: Location,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """The samples; a subclass may find them otherwise."""
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: Location) -> tuple[list[str], dict[str, int]]:
        """The classes; a subclass may find them otherwise."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The sample of a number and its class, changed by the transforms."""
        path, target = self.samples[index]
        sample = self.loader(path)
        if self.transform is not None:
            sample = self.transform(sample)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return sample, target

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images in folders: `root/<class>/.../<image>`; items are RGB images and class numbers.

    See `DatasetFolder`; which files count goes by their names' endings, `IMG_EXTENSIONS`. The list
    of samples is also called `imgs`.
    """

    def __init__(
        self,
        root: Location,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(
            root,
            loader,
            IMG_EXTENSIONS if is_valid_file is None else None,
            transform,
            target_transform,
            is_valid_file,
            allow_empty,
        )
        self.imgs = self.samples
