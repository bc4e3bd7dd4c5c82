"""What all layouts share: samples, problems, and the names of splits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image, UnidentifiedImageError

from rushlight_vision._image_errors import DAMAGE
from rushlight_vision.datasets.folder import is_image_file, open_image

# How the folders and lists of splits are called, in small letters.
SPLITS = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
}
SLACK = 1.0  # pixels by which a box may reach over the edge: tools round


class Problem(NamedTuple):
    """Something that is wrong: the file, the record in it ("" for the file as a whole), and why."""

    file: Path
    record: str
    what: str

    def __str__(self) -> str:
        return ": ".join(str(part) for part in self if part != "")


class Sample(NamedTuple):
    """A picture, its split ("" where there are none), and what is known of it."""

    image: Path
    split: str
    target: Any


class Boxes(NamedTuple):
    """The things in a picture: xmin, ymin, xmax, ymax in pixels, and their labels, from 1."""

    boxes: list[list[float]]
    labels: list[int]
    segmentations: list[Any]


@dataclass
class Layout:
    """What a folder holds: the layout's name, the task, the names of the classes, samples."""

    name: str
    task: str
    classes: list[str]
    samples: list[Sample]
    notes: list[str] = field(default_factory=list)


class Checker:
    """Raises at the first problem, or keeps them all."""

    def __init__(self, on_error: str, decode: bool = False) -> None:
        self.on_error, self.decode = on_error, decode
        self.problems: list[Problem] = []

    def wrong(self, file: Path, record: str, what: str) -> None:
        """Raise ValueError that names file and record, or keep the problem."""
        problem = Problem(file, record, what)
        if self.on_error == "raise":
            raise ValueError(f'{problem} (on_error="skip" leaves such records out)')
        self.problems.append(problem)

    def size(self, image: Path, file: Path | None = None, record: str = "") -> Any:
        """Width and height of a picture; None, and a problem of `file`, if it cannot be read."""
        try:
            if self.decode:
                return open_image(image).size
            with Image.open(image) as opened:
                return opened.size
        except FileNotFoundError:
            self.wrong(file or image, record, f"picture {image} is missing")
        except UnidentifiedImageError:
            self.wrong(image, "", f"no image that Pillow can read ({image.stat().st_size} bytes)")
        except DAMAGE as error:
            self.wrong(image, "", f"damaged image: {error}")
        return None

    def box(self, box: list[float], size: tuple[int, int], file: Path, record: str) -> Any:
        """A box cut at the edges of its picture; None, and a problem, if it is no box in it."""
        x0, y0, x1, y1 = box
        width, height = size
        if not (x1 > x0 and y1 > y0):  # NaN, too
            return self.wrong(file, record, f"degenerate box {_rounded(box)}")
        if min(x0, y0) < -SLACK or x1 > width + SLACK or y1 > height + SLACK:
            what = f"box {_rounded(box)} reaches out of the picture of {width} x {height} pixels"
            return self.wrong(file, record, what)
        cut = [max(x0, 0.0), max(y0, 0.0), min(x1, float(width)), min(y1, float(height))]
        if not (cut[2] > cut[0] and cut[3] > cut[1]):
            return self.wrong(file, record, f"degenerate box {_rounded(box)}")
        return cut


def _rounded(box: list[float]) -> list[float]:
    return [round(float(side), 2) for side in box]


def split_of(name: str) -> str:
    """The split that a folder or file is called after, or ""."""
    return SPLITS.get(name.lower(), "")


def split_in(name: str) -> str:
    """The split that a longer name, such as instances_train2017, speaks of, or ""."""
    words = "".join(each if each.isalpha() else " " for each in name.lower()).split()
    return next((SPLITS[word] for word in words if word in SPLITS), "")


def folders(path: Path) -> list[Path]:
    """The folders in a folder, hidden ones left out, sorted."""
    if not path.is_dir():
        return []
    return sorted(each for each in path.iterdir() if each.is_dir() and each.name[0] not in "._")


def images_in(path: Path, deep: bool = False) -> list[Path]:
    """The pictures in a folder, or also in those below it, sorted."""
    if not path.is_dir():
        return []
    found = path.rglob("*") if deep else path.iterdir()
    shown = (each for each in found if each.name[0] != ".")
    return sorted(each for each in shown if is_image_file(each.name) and each.is_file())


def parts(root: Path) -> Iterator[tuple[str, Path]]:
    """The splits of a folder by name; the folder itself, as "", where there are none."""
    named = [(split_of(each.name), each) for each in folders(root) if split_of(each.name)]
    yield from named or [("", root)]


def paired(root: Path, pictures: tuple[str, ...], others: tuple[str, ...]) -> list[Any]:
    """Pairs of folders, of pictures and of what belongs to them, as (split, first, second): side by
    side in `root` or in its splits, with splits inside or without."""
    found: list[Any] = []
    for split, part in parts(root):
        named = {each.name.lower(): each for each in folders(part)}
        first = next((named[name] for name in pictures if name in named), None)
        second = next((named[name] for name in others if name in named), None)
        if first is None or second is None:
            continue
        inner = [(name, each) for name, each in parts(first) if name]
        if split or not inner:
            found.append((split, first, second))
        else:
            found += [(name, each, second / each.name) for name, each in inner]
    return found


def names_in(path: Path) -> list[str]:
    """The lines of a file of names; none if there is no such file."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip()]
