"""Data sets whose files others publish: where the files lie, how they are fetched and unpacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._unpacking import kind_of, unpack
from rushlight_vision.datasets.download import DownloadError, fetch, google_drive_url
from rushlight_vision.datasets.folder import default_loader, open_image
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset

__all__ = [
    "File",
    "ListedDataset",
    "Loader",
    "PublishedDataset",
    "SplitDataset",
    "Transform",
    "Transforms",
    "default_loader",
    "numbered",
    "open_image",
    "read_lines",
]

Transform = Callable[[Any], Any] | None
Transforms = Callable[[Any, Any], tuple[Any, Any]] | None
Loader = Callable[[Any], Any]


class File(NamedTuple):
    """A published file: its address (``drive:ID`` for one on Google Drive), its MD5 sum, the name
    it is kept under (by default the address's own), and the folder an archive is unpacked into,
    below the data set's own ("" is that itself); None leaves the file as it is."""

    url: str
    md5: str | None = None
    name: str = ""
    into: str | None = ""

    @property
    def kept(self) -> str:
        """The name of the file."""
        return self.name or self.url.rsplit("/", 1)[-1]

    @property
    def address(self) -> str:
        """Where it is fetched from."""
        return google_drive_url(self.url[6:]) if self.url.startswith("drive:") else self.url


class PublishedDataset(VisionDataset):
    """What data sets with published files have in common.

    A subclass says what they are (:meth:`_files`), where they lie (:meth:`_folder`), whether what
    it reads is all there (:meth:`_is_complete`), and calls :meth:`_prepare`. Archives that lie in
    the folder already are unpacked without network.
    """

    def _files(self) -> Sequence[File]:
        """The published files; none where there is no address to fetch them from."""
        return ()

    def _folder(self) -> Path:
        """Where the published files lie."""
        return Path(str(self.root))

    def _is_complete(self) -> bool:
        """Whether all that is read is there."""
        raise NotImplementedError(f"{type(self).__name__} defines no _is_complete")

    def _arrange(self) -> None:
        """What is left to do after unpacking."""

    def _prepare(self, download: bool) -> None:
        """Unpack or fetch what is not there; RuntimeError if the data set is not whole then."""
        if self._is_complete():
            return
        if download:
            self.download()
        else:
            self._unpack_what_is_there()
        if not self._is_complete():
            hint = "" if download or not self._files() else " Use download=True to fetch it."
            raise RuntimeError(
                f"{type(self).__name__}: not found, or not whole, in {self._folder()}.{hint} "
                f"{self._offline_way()}".rstrip()
            )

    def download(self) -> None:
        """Fetch, check and unpack the published files, unless all is there.

        RuntimeError that names the offline way if a file cannot be fetched.
        """
        if self._is_complete():
            return
        for file in self._files():
            self._fetch(file)
        for file in self._files():
            self._unpack(file)
        self._arrange()

    def _fetch(self, file: File) -> None:
        try:
            fetch([file.address], self._folder() / file.kept, md5=file.md5)
        except DownloadError as error:
            raise RuntimeError(f"{type(self).__name__}: {error}. {self._offline_way()}") from None

    def _unpack(self, file: File) -> None:
        if file.into is not None and kind_of(file.kept):
            unpack(self._folder() / file.kept, self._folder() / file.into)

    def _unpack_what_is_there(self) -> None:
        """Unpack published files that somebody put into the folder, if none is missing."""
        files = self._files()
        if files and all(self._has(file) for file in files):
            for file in files:
                self._unpack(file)
            self._arrange()

    def _has(self, file: File) -> bool:
        return integrity.check_integrity(self._folder() / file.kept, file.md5)

    def _offline_way(self) -> str:
        """What helps where there is no network."""
        if not self._files():
            return ""
        names = ", ".join(f"{file.kept} ({file.address})" for file in self._files())
        return f"Without network, put these files into {self._folder()}: {names}"

    def _changed(self, image: Any, target: Any) -> tuple[Any, Any]:
        """Image and target, each changed by its transform."""
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def _changed_together(self, image: Any, target: Any) -> tuple[Any, Any]:
        """Image and target, changed by the transforms of both."""
        return (image, target) if self.transforms is None else self.transforms(image, target)


class ListedDataset(PublishedDataset):
    """A data set that is a list of image files with their targets: `_samples`."""

    loader: Loader = staticmethod(default_loader)
    _samples: list[tuple[Any, Any]]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The image and the target of a number, changed by the transforms."""
        path, target = self._samples[index]
        return self._changed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self._samples)


class SplitDataset(ListedDataset):
    """A list of image files of which a split is taken; a subclass lists them in :meth:`_listed`."""

    splits: tuple[str, ...] = ("train", "test")

    def __init__(
        self,
        root: Location,
        split: str = "train",
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", self.splits)
        self.loader = loader
        self._prepare(download)
        self._samples = self._listed()

    def _listed(self) -> list[tuple[Any, Any]]:
        """The image files of the split with their targets."""
        raise NotImplementedError(f"{type(self).__name__} defines no _listed")

    def extra_repr(self) -> str:
        """The split."""
        return f"split={self._split}"


def numbered(names: Sequence[Any]) -> dict[Any, int]:
    """Every name's place in the list."""
    return {name: number for number, name in enumerate(names)}


def read_lines(path: Any) -> list[str]:
    """The lines of a text file, without what ends them."""
    return Path(path).read_text(encoding="utf-8").splitlines()
