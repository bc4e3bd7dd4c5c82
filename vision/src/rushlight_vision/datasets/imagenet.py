"""ImageNet's 1,000 classes (ILSVRC 2012; Russakovsky et al., 2015), from the published archives."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._libraries import needed
from rushlight_vision.datasets._published import read_lines
from rushlight_vision.datasets._unpacking import unpack
from rushlight_vision.datasets.folder import ImageFolder
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

ARCHIVE_META = {
    "train": ("ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"),
    "val": ("ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"),
    "devkit": ("ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"),
}
META_FILE = "meta.bin"
_KIT = "ILSVRC2012_devkit_t12"


class ImageNet(ImageFolder):
    """1.28 million photos to train, 50,000 to validate; `split` is "train" or "val".

    The archives, which may not be passed on and are not downloaded, lie in `root`: the kit
    (`ILSVRC2012_devkit_t12.tar.gz`, reading it needs SciPy, `rushlight-vision[mat]`) and that of
    the split. They are unpacked once, into `root/train` and `root/val`, one folder for each class;
    the names are kept in `root/meta.bin`. `wnids` and `wnid_to_idx` give the folders' names,
    `classes` and `class_to_idx` the words for each. Other arguments and items are those of
    :class:`ImageFolder`.

    Raises RuntimeError with the name of the archive that is missing or altered.
    """

    def __init__(self, root: Location, split: str = "train", **kwargs: Any) -> None:
        self.root = os.path.expanduser(root)
        self.split = verify_str_arg(split, "split", ("train", "val"))
        self.parse_archives()
        words = load_meta_file(self.root)[0]
        place = self.root
        super().__init__(self.split_folder, **kwargs)
        self.root = place
        self.wnids, self.wnid_to_idx = self.classes, self.class_to_idx
        self.classes = [words[wnid] for wnid in self.wnids]
        self.class_to_idx = {
            word: number for number, group in enumerate(self.classes) for word in group
        }

    @property
    def split_folder(self) -> str:
        """The folder of the split."""
        return os.path.join(str(self.root), self.split)

    def parse_archives(self) -> None:
        """Unpack what has not been unpacked yet."""
        root = str(self.root)
        if not integrity.check_integrity(os.path.join(root, META_FILE)):
            parse_devkit_archive(root)
        if not os.path.isdir(self.split_folder):
            (parse_train_archive if self.split == "train" else parse_val_archive)(root)

    def extra_repr(self) -> str:
        """The part."""
        return f"Split: {self.split}"


def load_meta_file(root: Location, file: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """What `meta.bin` holds: the words of each class, and the class of each picture of "val"."""
    path = Path(root, file or META_FILE)
    if not integrity.check_integrity(path):
        raise RuntimeError(f"{path} is missing; ImageNet makes it from the kit's archive")
    content: tuple[dict[str, Any], list[str]] = rl.load(path, weights_only=True)
    return content


def _archive(root: Location, part: str, file: str | None) -> Path:
    """The path of an archive that is there and right."""
    name, md5 = ARCHIVE_META[part]
    path = Path(root, file or name)
    if not integrity.check_integrity(path, md5):
        raise RuntimeError(
            f"ImageNet: {path.name} is not, or not whole, in {root}; it has to be fetched from "
            "https://image-net.org with an account and put there"
        )
    return path


def parse_devkit_archive(root: Location, file: str | None = None) -> None:
    """Make `meta.bin` from the kit's archive."""
    archive = _archive(root, "devkit", file)
    with tempfile.TemporaryDirectory() as scratch:
        data = unpack(archive, scratch) / _KIT / "data"
        numbers, words = _synsets(data / "meta.mat")
        truth = read_lines(data / "ILSVRC2012_validation_ground_truth.txt")
        classes = [numbers[int(number)] for number in truth]
    rl.save((words, classes), Path(root, META_FILE))


def _synsets(path: Path) -> tuple[dict[int, str], dict[str, tuple[str, ...]]]:
    """The class of each number, and its words, of a kit's table; groups of classes are left out."""
    rows = needed("scipy.io", "mat", ImageNet).loadmat(path, squeeze_me=True)["synsets"]
    leaves = [row for row in rows if row[4] == 0]
    numbers = {int(row[0]): str(row[1]) for row in leaves}
    return numbers, {str(row[1]): tuple(str(row[2]).split(", ")) for row in leaves}


def parse_train_archive(root: Location, file: str | None = None, folder: str = "train") -> None:
    """Unpack the archive of the training part, which holds one archive for each class."""
    place = unpack(_archive(root, "train", file), Path(root, folder))
    for archive in sorted(place.glob("*.tar")):
        unpack(archive, archive.with_suffix(""))
        archive.unlink()


def parse_val_archive(
    root: Location, file: str | None = None, wnids: list[str] | None = None, folder: str = "val"
) -> None:
    """Unpack the archive of the validation part and sort its pictures into folders of classes."""
    if wnids is None:
        wnids = load_meta_file(root)[1]
    place = unpack(_archive(root, "val", file), Path(root, folder))
    pictures = sorted(path for path in place.iterdir() if path.is_file())
    for wnid, picture in zip(wnids, pictures, strict=True):
        target = place / wnid
        target.mkdir(exist_ok=True)
        shutil.move(picture, target / picture.name)
