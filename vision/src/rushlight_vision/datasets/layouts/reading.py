"""from_folder: find out what a folder of pictures is, check it, and make a data set of it."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.datasets._coco_masks import mask_of
from rushlight_vision.datasets._published import Transform, Transforms
from rushlight_vision.datasets.folder import open_image
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.layouts import classes, coco, masks, voc, yolo
from rushlight_vision.datasets.layouts.records import Boxes, Checker, Layout, Problem, Sample
from rushlight_vision.datasets.vision import VisionDataset

# In the order of how surely a layout is recognised.
LAYOUTS: tuple[tuple[str, Any], ...] = (
    ("detection", coco),
    ("detection", voc),
    ("detection", yolo),
    ("segmentation", masks),
    ("classification", classes),
)
EXPECTED = """expected one of
  classification: CLASS/PICTURE, or train/CLASS/PICTURE and val/CLASS/PICTURE
  detection: a JSON file in COCO's format, PASCAL VOC's Annotations/*.xml, or YOLO's images/ and
    labels/*.txt
  segmentation: images/PICTURE and masks/PICTURE"""
SHOWN = 10  # problems in a report


class FolderDataset(VisionDataset):
    """The pictures of a folder, as :func:`from_folder` makes it.

    Attributes: `task`, `layout` (its name), `classes` (names by label, ``"__background__"`` first
    for detection), `samples`, `splits` (how many pictures each has), `problems` (what was left out
    and why), `report` (all that as text).
    """

    def __init__(
        self,
        root: Location,
        layout: Layout,
        problems: list[Problem],
        transforms: Transforms = None,
        transform: Transform = None,
        target_transform: Transform = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.task, self.layout, self.classes = layout.task, layout.name, layout.classes
        self.samples, self.notes, self.problems = layout.samples, layout.notes, problems
        self.outlined = layout.task == "detection" and _outlined(layout.samples)

    @property
    def splits(self) -> dict[str, int]:
        """How many pictures each split has; empty where there are no splits."""
        return dict(Counter(each.split for each in self.samples if each.split))

    def only(self, split: str) -> FolderDataset:
        """The pictures of one split, with the same classes and transforms.

        Raises ValueError for a split that is not there.
        """
        if split not in self.splits:
            raise ValueError(f"split {split!r}; {self.root} has {list(self.splits) or 'none'}")
        part = copy.copy(self)
        part.samples = [each for each in self.samples if each.split == split]
        return part

    def with_transforms(self, transforms: Transforms) -> FolderDataset:
        """The same pictures, changed by a function of image and target."""
        part = copy.copy(self)
        part.transform, part.target_transform, part.transforms = None, None, transforms
        return part

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The picture of a number and its target, changed by the transforms."""
        sample = self.samples[index]
        image = tv_tensors.Image(open_image(sample.image, "RGB"))
        target = self._target(sample, index % len(self), image)
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def _target(self, sample: Sample, index: int, image: Any) -> Any:
        if self.task == "classification":
            return sample.target
        if self.task == "segmentation":
            path, binary = sample.target
            pixels = masks.values_of(path)
            return tv_tensors.Mask(rl.from_numpy(np.minimum(pixels, 1) if binary else pixels))
        return _things(sample.target, index, tuple(image.shape[-2:]), self.outlined)

    @property
    def counts(self) -> dict[str, int]:
        """How often each class occurs: pictures, or things of detection; pixels are not counted."""
        labels: Counter[int] = Counter()
        for each in self.samples:
            if self.task == "detection":
                labels.update(each.target.labels)
            elif self.task == "classification":
                labels[each.target] += 1
        first = 1 if self.task == "detection" else 0
        return {name: labels[place] for place, name in enumerate(self.classes) if place >= first}

    @property
    def report(self) -> str:
        """What was found: layout, splits, classes and how often they occur, problems."""
        lines = [f"{self.root}: {self.task}, {self.layout}, {len(self)} pictures"]
        lines += [f"  split {name}: {count}" for name, count in self.splits.items()]
        lines += self._class_lines()
        lines += [f"  note: {note}" for note in self.notes]
        lines.append(f"  problems: {len(self.problems)}")
        lines += [f"    {each}" for each in self.problems[:SHOWN]]
        if len(self.problems) > SHOWN:
            lines.append(f"    and {len(self.problems) - SHOWN} more in .problems")
        return "\n".join(lines)

    def _class_lines(self) -> list[str]:
        if self.task == "segmentation":
            return [f"  classes: {', '.join(self.classes)}"]
        return [f"  class {name}: {count}" for name, count in self.counts.items()]

    def extra_repr(self) -> str:
        """Task and layout."""
        return f"Task: {self.task}\nLayout: {self.layout}"


def _outlined(samples: list[Sample]) -> bool:
    """Whether there are things, and all have outlines: then every item has masks, even an empty
    one, as models of masks need."""
    outlines = [each for sample in samples for each in sample.target.segmentations]
    return bool(outlines) and None not in outlines


def _things(things: Boxes, index: int, size: tuple[Any, ...], outlined: bool) -> dict[str, Any]:
    """Boxes and labels as detection models and `transforms.v2` take them."""
    boxes = rl.tensor(things.boxes, dtype=rl.float32).reshape(-1, 4)
    found = {
        "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=size),
        "labels": rl.tensor(things.labels, dtype=rl.int64),
        "image_id": index,
    }
    if outlined:
        pixels = rl.zeros(len(boxes), *size, dtype=rl.uint8)
        for mask, each in zip(pixels, things.segmentations, strict=True):
            mask.copy_(rl.from_numpy(mask_of(each, *size)))
        found["masks"] = tv_tensors.Mask(pixels)
    return found


def from_folder(
    path: Location,
    task: str | None = None,
    on_error: str = "raise",
    *,
    decode: bool = False,
    transforms: Transforms = None,
    transform: Transform = None,
    target_transform: Transform = None,
) -> FolderDataset:
    """A data set of a folder of pictures, whose layout is guessed and checked.

    Parameters
    ----------
    path : str or path
        Holds folders of classes (classification), annotations as of COCO (JSON), PASCAL VOC (XML)
        or YOLO (text) for detection, or pictures and masks (segmentation); each in splits called
        train, val and test or in none.
    task : str or None
        "classification", "detection" or "segmentation"; None takes the first that is found.
    on_error : str, default "raise"
        "raise": the first picture that is missing or damaged, box that is degenerate or outside of
        its picture, size that is wrong, or line that cannot be read raises ValueError naming file
        and record. "skip": they are left out, counted and listed (`problems`).
    decode : bool, default False
        Whether to decode every picture now; otherwise only its header is read, and one that is cut
        off raises when it is used.
    transforms, transform, target_transform : callable, optional
        As of :class:`VisionDataset`.

    Returns
    -------
    FolderDataset
        Items are an image (``tv_tensors.Image``, uint8, (3, H, W)) and a target. Classification:
        the number of the class. Detection: a dict of ``boxes`` (BoundingBoxes, XYXY, float32),
        ``labels`` (from 1; 0 is the background), ``image_id``, and ``masks`` (Mask, uint8,
        (N, H, W)) if all things of COCO's annotations have outlines. Segmentation: a Mask (uint8,
        (H, W)).

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If no layout is recognised, no sample is left, or as `on_error` says.

    Example
    -------
    >>> data = from_folder("photos", on_error="skip")  # doctest: +SKIP
    >>> print(data.report)  # doctest: +SKIP
    """
    root = Path(path).expanduser()
    if not root.is_dir():
        raise FileNotFoundError(f"from_folder: {root} is not a folder")
    tasks = list(dict.fromkeys(each for each, _ in LAYOUTS))
    if task is not None and task not in tasks:
        raise ValueError(f"from_folder: task {task!r}; expected None or one of {tasks}")
    if on_error not in ("raise", "skip"):
        raise ValueError(f'from_folder: on_error {on_error!r}; expected "raise" or "skip"')
    check = Checker(on_error, decode)
    layout = _layout(root, task, check)
    if not layout.samples:
        listed = "".join(f"\n  {each}" for each in check.problems[:SHOWN])
        raise ValueError(f"from_folder: {root} ({layout.name}) has no sample that is right{listed}")
    return FolderDataset(root, layout, check.problems, transforms, transform, target_transform)


def _layout(root: Path, task: str | None, check: Checker) -> Layout:
    """The first layout that is recognised; others that are, too, become notes."""
    there = [(each, kind) for each, kind in LAYOUTS if task in (None, each) and kind.is_there(root)]
    if not there:
        wanted = "" if task is None else f" for {task}"
        raise ValueError(f"from_folder: no known layout{wanted} in {root}; {EXPECTED}")
    layout = there[0][1].read(root, check)
    others = dict.fromkeys(each for each, _ in there if each not in (layout.task, "classification"))
    layout.notes += [f"could be read for {each}, too (task={each!r})" for each in others]
    return layout
