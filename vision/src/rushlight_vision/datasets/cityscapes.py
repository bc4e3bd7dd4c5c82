"""Cityscapes: streets with the class of every pixel (Cordts et al., 2016)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rushlight_vision.datasets._published import (
    File,
    PublishedDataset,
    Transform,
    Transforms,
    open_image,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import list_dir, list_files, verify_str_arg

_SUFFIXES = {
    "instance": "instanceIds.png",
    "semantic": "labelIds.png",
    "color": "color.png",
    "polygon": "polygons.json",
}
# Name, id, id in training (255 and -1: none), category, its id, whether things are counted, whether
# scores leave it out, colour: the labels that the authors publish.
_LABELS = """
unlabeled,0,255,void,0,0,1,0 0 0
ego vehicle,1,255,void,0,0,1,0 0 0
rectification border,2,255,void,0,0,1,0 0 0
out of roi,3,255,void,0,0,1,0 0 0
static,4,255,void,0,0,1,0 0 0
dynamic,5,255,void,0,0,1,111 74 0
ground,6,255,void,0,0,1,81 0 81
road,7,0,flat,1,0,0,128 64 128
sidewalk,8,1,flat,1,0,0,244 35 232
parking,9,255,flat,1,0,1,250 170 160
rail track,10,255,flat,1,0,1,230 150 140
building,11,2,construction,2,0,0,70 70 70
wall,12,3,construction,2,0,0,102 102 156
fence,13,4,construction,2,0,0,190 153 153
guard rail,14,255,construction,2,0,1,180 165 180
bridge,15,255,construction,2,0,1,150 100 100
tunnel,16,255,construction,2,0,1,150 120 90
pole,17,5,object,3,0,0,153 153 153
polegroup,18,255,object,3,0,1,153 153 153
traffic light,19,6,object,3,0,0,250 170 30
traffic sign,20,7,object,3,0,0,220 220 0
vegetation,21,8,nature,4,0,0,107 142 35
terrain,22,9,nature,4,0,0,152 251 152
sky,23,10,sky,5,0,0,70 130 180
person,24,11,human,6,1,0,220 20 60
rider,25,12,human,6,1,0,255 0 0
car,26,13,vehicle,7,1,0,0 0 142
truck,27,14,vehicle,7,1,0,0 0 70
bus,28,15,vehicle,7,1,0,0 60 100
caravan,29,255,vehicle,7,1,1,0 0 90
trailer,30,255,vehicle,7,1,1,0 0 110
train,31,16,vehicle,7,1,0,0 80 100
motorcycle,32,17,vehicle,7,1,0,0 0 230
bicycle,33,18,vehicle,7,1,0,119 11 32
license plate,-1,-1,vehicle,7,0,1,0 0 142
"""


class CityscapesClass(NamedTuple):
    """One label of the data set."""

    name: str
    id: int
    train_id: int
    category: str
    category_id: int
    has_instances: bool
    ignore_in_eval: bool
    color: tuple[int, ...]


def _label(line: str) -> CityscapesClass:
    name, number, train, category, of, things, ignored, color = line.split(",")
    return CityscapesClass(
        name,
        int(number),
        int(train),
        category,
        int(of),
        things == "1",
        ignored == "1",
        tuple(map(int, color.split())),
    )


class Cityscapes(PublishedDataset):
    """5,000 finely and 20,000 coarsely labelled photos of streets, 1024x2048 pixels.

    `mode` is "fine" (`split` "train", "val" or "test") or "coarse" ("train", "train_extra", "val").
    `target_type`, one or a list: "instance", "semantic" and "color" are pictures, "polygon" a dict.
    The folders `leftImg8bit` and `gtFine` or `gtCoarse`, or the published zip files, lie in `root`;
    they are given out with an account only, so nothing is downloaded. An item is an RGB picture of
    Pillow and the target, a tuple where more than one is asked.

    Raises RuntimeError if files are missing.
    """

    CityscapesClass = CityscapesClass
    classes = list(map(_label, _LABELS.strip().splitlines()))

    def __init__(
        self,
        root: Location,
        split: str = "train",
        mode: str = "fine",
        target_type: list[str] | str = "instance",
        transform: Transform = None,
        target_transform: Transform = None,
        transforms: Transforms = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        verify_str_arg(mode, "mode", ("fine", "coarse"))
        splits = ("train", "test" if mode == "fine" else "train_extra", "val")
        self.split = verify_str_arg(split, f"split, with mode {mode!r},", splits)
        self.mode = "gtFine" if mode == "fine" else "gtCoarse"
        wanted = [target_type] if isinstance(target_type, str) else target_type
        self.target_type = [verify_str_arg(t, "target_type", tuple(_SUFFIXES)) for t in wanted]
        self.images_dir = str(self._folder() / "leftImg8bit" / split)
        self.targets_dir = str(self._folder() / self.mode / split)
        self._prepare(download=False)
        self.images: list[str] = []
        self.targets: list[list[str]] = []
        for city in list_dir(self.images_dir):
            self._add(city)

    def _add(self, city: str) -> None:
        """The photos of one city with their targets."""
        for path in list_files(Path(self.images_dir, city), ".png", prefix=True):
            start = Path(path).name.partition("_leftImg8bit")[0]
            names = [f"{start}_{self.mode}_{_SUFFIXES[kind]}" for kind in self.target_type]
            self.images.append(path)
            self.targets.append([str(Path(self.targets_dir, city, name)) for name in names])

    def _files(self) -> Sequence[File]:
        part = "trainextra" if self.split == "train_extra" else "trainvaltest"
        labels = "gtCoarse" if self.mode == "gtCoarse" else "gtFine_trainvaltest"
        base = "https://www.cityscapes-dataset.com/downloads/"
        return (File(f"{base}leftImg8bit_{part}.zip"), File(f"{base}{labels}.zip"))

    def _is_complete(self) -> bool:
        return Path(self.images_dir).is_dir() and Path(self.targets_dir).is_dir()

    def download(self) -> None:
        """Refuses: the files are given out with an account only."""
        raise RuntimeError(f"Cityscapes cannot be downloaded by a program. {self._offline_way()}")

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The photo of a number and what is asked of it, changed by the transforms."""
        targets = tuple(
            json.loads(Path(path).read_text()) if kind == "polygon" else open_image(path)
            for kind, path in zip(self.target_type, self.targets[index], strict=True)
        )
        image = open_image(self.images[index], "RGB")
        return self._changed_together(image, targets if len(targets) > 1 else targets[0])

    def __len__(self) -> int:
        return len(self.images)

    def extra_repr(self) -> str:
        """What is taken."""
        return f"Split: {self.split}\nMode: {self.mode}\nType: {self.target_type}"
