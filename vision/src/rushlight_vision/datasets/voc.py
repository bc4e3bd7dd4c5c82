"""PASCAL VOC 2007 to 2012: photos with boxes and the class of every pixel (Everingham et al.,
2010)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rushlight_vision.datasets._published import (
    File,
    PublishedDataset,
    Transform,
    Transforms,
    open_image,
    read_lines,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

_BASE = "http://host.robots.ox.ac.uk/pascal/VOC/"
# The archive of each year and the folder in it.
_YEARS = {
    "2012": (
        File(f"{_BASE}voc2012/VOCtrainval_11-May-2012.tar", "6cd6e144f989b92b3379bac3b3de84fd"),
        "VOCdevkit/VOC2012",
    ),
    "2011": (
        File(f"{_BASE}voc2011/VOCtrainval_25-May-2011.tar", "6c3384ef61512963050cb5d687e5bf1e"),
        "TrainVal/VOCdevkit/VOC2011",
    ),
    "2010": (
        File(f"{_BASE}voc2010/VOCtrainval_03-May-2010.tar", "da459979d0c395079b5c75ee67908abb"),
        "VOCdevkit/VOC2010",
    ),
    "2009": (
        File(f"{_BASE}voc2009/VOCtrainval_11-May-2009.tar", "a3e00b113cfcfebf17e343f59da3caa1"),
        "VOCdevkit/VOC2009",
    ),
    "2008": (
        File(f"{_BASE}voc2008/VOCtrainval_14-Jul-2008.tar", "2629fa636546599198acfcfbfcf1904a"),
        "VOCdevkit/VOC2008",
    ),
    "2007": (
        File(f"{_BASE}voc2007/VOCtrainval_06-Nov-2007.tar", "c52e279531787c972589f7e41ab4ae64"),
        "VOCdevkit/VOC2007",
    ),
    "2007-test": (
        File(f"{_BASE}voc2007/VOCtest_06-Nov-2007.tar", "b6e924de25625d8de591ea690078ad9f"),
        "VOCdevkit/VOC2007",
    ),
}


class _VOC(PublishedDataset):
    """What both tasks have in common."""

    _lists: str
    _targets: tuple[str, str]

    def __init__(
        self,
        root: Location,
        year: str = "2012",
        image_set: str = "train",
        download: bool = False,
        transform: Transform = None,
        target_transform: Transform = None,
        transforms: Transforms = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.year = verify_str_arg(year, "year", [str(number) for number in range(2007, 2013)])
        sets = (
            ("train", "trainval", "val", "test") if year == "2007" else ("train", "trainval", "val")
        )
        self.image_set = verify_str_arg(image_set, f"image_set of {year}", sets)
        tested = year == "2007" and image_set == "test"
        self._published, place = _YEARS["2007-test" if tested else year]
        self.url, self.md5 = self._published.url, self._published.md5
        self.filename = self._published.kept
        self._content = Path(str(self.root), place)
        self._prepare(download)
        names = [line.strip() for line in read_lines(self._list())]
        folder, ending = self._targets
        self.images = [str(self._content / "JPEGImages" / f"{name}.jpg") for name in names]
        self.targets = [str(self._content / folder / f"{name}{ending}") for name in names]

    def _list(self) -> Path:
        return self._content / "ImageSets" / self._lists / f"{self.image_set}.txt"

    def _files(self) -> Sequence[File]:
        return (self._published,)

    def _is_complete(self) -> bool:
        return self._list().is_file()

    def _read_target(self, path: str) -> Any:
        raise NotImplementedError

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and its target, changed by the transforms."""
        image, target = (
            open_image(self.images[index], "RGB"),
            self._read_target(self.targets[index]),
        )
        return self._changed_together(image, target)

    def __len__(self) -> int:
        return len(self.images)


class VOCSegmentation(_VOC):
    """Photos with the class of every pixel: 0 background, 1 to 20 things, 255 edges.

    `year` is "2007" to "2012", `image_set` "train", "val" or "trainval", of 2007 also "test". The
    published archive, or its folder, lies in `root`. An item is an RGB picture of Pillow and one of
    mode "P". Raises RuntimeError if files are missing.
    """

    _lists = "Segmentation"
    _targets = ("SegmentationClass", ".png")

    @property
    def masks(self) -> list[str]:
        """The paths of the targets."""
        return self.targets

    def _read_target(self, path: str) -> Any:
        return open_image(path)


class VOCDetection(_VOC):
    """Photos with boxes of 20 kinds of things; arguments and files as of :class:`VOCSegmentation`.

    An item is an RGB picture of Pillow and the published XML file as a dict: `target["annotation"]
    ["object"]` is a list of dicts with "name" and "bndbox" (strings).
    """

    _lists = "Main"
    _targets = ("Annotations", ".xml")

    @property
    def annotations(self) -> list[str]:
        """The paths of the targets."""
        return self.targets

    def _read_target(self, path: str) -> Any:
        try:
            return self.parse_voc_xml(ElementTree.parse(path).getroot())
        except ElementTree.ParseError as error:
            raise ValueError(f"{path} is truncated or altered: {error}") from None

    @staticmethod
    def parse_voc_xml(node: ElementTree.Element) -> dict[str, Any]:
        """An element as a dict: children by name, a list where a name stands more than once;
        "object" is always a list."""
        text = (node.text or "").strip()
        if not len(node):
            return {node.tag: text} if node.text else {}
        found: dict[str, list[Any]] = {}
        for child in node:
            for name, value in VOCDetection.parse_voc_xml(child).items():
                found.setdefault(name, []).append(value)
        one = {name: values[0] if len(values) == 1 else values for name, values in found.items()}
        if node.tag == "annotation":
            one["object"] = found.get("object", [])
        return {node.tag: one}
