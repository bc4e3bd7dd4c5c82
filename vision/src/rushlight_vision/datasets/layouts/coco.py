"""Detection in COCO's format: a JSON file of annotations for each split."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._coco_index import CocoIndex
from rushlight_vision.datasets.layouts.records import (
    Boxes,
    Checker,
    Layout,
    Sample,
    folders,
    split_in,
)


def _files(root: Path) -> list[Path]:
    """JSON files in the folder, and in those in it, that have the lists of COCO's format."""
    found = [
        *root.glob("*.json"),
        *(file for each in folders(root) for file in each.glob("*.json")),
    ]
    return sorted(file for file in found if _is_coco(file))


def _is_coco(file: Path) -> bool:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return False
    lists = ("images", "annotations", "categories")
    return isinstance(content, dict) and all(isinstance(content.get(key), list) for key in lists)


def is_there(root: Path) -> bool:
    """Whether there is a file of annotations."""
    return bool(_files(root))


def read(root: Path, check: Checker) -> Layout:
    """The pictures of all files; categories of all files in the order of their numbers."""
    indices = [(file, CocoIndex(file)) for file in _files(root)]
    named: dict[Any, str] = {}
    for file, index in indices:
        for number, record in index.cats.items():
            if named.setdefault(number, record.get("name")) != record.get("name"):
                what = f"is {record.get('name')!r} here and {named[number]!r} in another file"
                check.wrong(file, f"category {number}", what)
    labels = {number: label for label, number in enumerate(sorted(named), 1)}
    samples = [
        each for file, index in indices for each in _samples(root, file, index, labels, check)
    ]
    crowds = sum(bool(one.get("iscrowd")) for _, index in indices for one in index.anns.values())
    notes = [f"{crowds} crowds are left out"] if crowds else []
    classes = ["__background__", *(str(named[number]) for number in sorted(named))]
    return Layout("COCO", "detection", classes, samples, notes)


def _split(root: Path, file: Path) -> str:
    return split_in(file.stem) or (split_in(file.parent.name) if file.parent != root else "")


def _folders_of_images(root: Path, file: Path) -> list[Path]:
    """Where the pictures of a file may be, the likeliest first."""
    stem = file.stem.removeprefix("instances_")
    names = dict.fromkeys((stem, _split(root, file) or "."))
    below = [Path(name) for name in names]
    return [
        file.parent, *(root / "images" / name for name in below), *(root / name for name in below),
        root / "images", root,
    ]  # fmt: skip


def _samples(
    root: Path, file: Path, index: CocoIndex, labels: dict[Any, int], check: Checker
) -> list[Sample]:
    places, found = _folders_of_images(root, file), []
    for number in sorted(index.imgs):
        record, where = index.imgs[number], f"image {number}"
        name = record.get("file_name")
        if not isinstance(name, str):
            check.wrong(file, where, 'has no "file_name"')
            continue
        path = next((each / name for each in places if (each / name).is_file()), places[1] / name)
        size = check.size(path, file, where)
        if size is None:
            continue
        said = (record.get("width", size[0]), record.get("height", size[1]))
        if said != size:
            check.wrong(
                file, where, f"says {said[0]} x {said[1]} pixels, {path} has {size[0]} x {size[1]}"
            )
            continue
        things = _things(file, index.imgToAnns.get(number, []), labels, size, check)
        found.append(Sample(path, _split(root, file), things))
    return found


def _things(
    file: Path, annotations: list[Any], labels: dict[Any, int], size: Any, check: Checker
) -> Boxes:
    """The boxes of a picture; crowds are none."""
    found = Boxes([], [], [])
    for one in annotations:
        where, box = f"annotation {one['id']}", one.get("bbox")
        if one.get("iscrowd"):
            continue
        if not (isinstance(box, list) and len(box) == 4 and all(map(_is_number, box))):
            check.wrong(file, where, f'"bbox" is {box!r}, expected [x, y, width, height]')
            continue
        if one.get("category_id") not in labels:
            check.wrong(file, where, f"category {one.get('category_id')!r} is not in the list")
            continue
        x, y, width, height = box
        cut = check.box([x, y, x + width, y + height], size, file, where)
        if cut is not None:
            found.boxes.append(cut)
            found.labels.append(labels[one["category_id"]])
            found.segmentations.append(one.get("segmentation") or None)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
