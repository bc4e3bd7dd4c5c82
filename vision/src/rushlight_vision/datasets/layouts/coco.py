"""Detection in COCO's format: a JSON file of annotations for each split."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._coco_masks import mask_of
from rushlight_vision.datasets.layouts.records import (
    Boxes,
    Checker,
    Layout,
    Sample,
    folders,
    split_in,
)

LISTS = ("images", "annotations", "categories")


def _files(root: Path) -> list[Path]:
    """JSON files in the folder, and in those in it, that speak of the lists of COCO's format."""
    found = (file for folder in (root, *folders(root)) for file in folder.glob("*.json"))
    return sorted(file for file in found if _names_lists(file.read_bytes()))


def _names_lists(text: bytes) -> bool:
    return all(f'"{name}"'.encode() in text for name in LISTS)


def is_there(root: Path) -> bool:
    """Whether there is a file of annotations."""
    return bool(_files(root))


def _content(file: Path, check: Checker) -> Any:
    """What a file holds; None, and a problem, if it is not in COCO's format."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        return check.wrong(file, "", f"no JSON: {error}")
    lists = content if isinstance(content, dict) else {}
    missing = [name for name in LISTS if not isinstance(lists.get(name), list)]
    if missing:
        return check.wrong(file, "", f"no lists {missing} (COCO's format)")
    return content


def read(root: Path, check: Checker) -> Layout:
    """The pictures of all files; categories of all files in the order of their numbers."""
    read_files = [(file, _content(file, check)) for file in _files(root)]
    contents = [(file, content) for file, content in read_files if content is not None]
    named = _categories(contents, check)
    labels = {number: label for label, number in enumerate(_sorted(named), 1)}
    samples, crowds = [], 0
    for file, content in contents:
        images = _by_id(file, "images", content, check)
        things, found = _of_images(file, images, content, check)
        crowds += found
        samples += _samples(root, file, (images, things), labels, check)
    notes = [f"{crowds} crowds are left out"] if crowds else []
    classes = ["__background__", *(named[number] for number in _sorted(named))]
    return Layout("COCO", "detection", classes, samples, notes)


def _sorted(ids: Any) -> list[Any]:
    return sorted(ids, key=lambda each: (isinstance(each, str), each))


def _is_id(value: Any) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _by_id(file: Path, kind: str, content: Any, check: Checker) -> dict[Any, Any]:
    """The records of a list by their numbers."""
    found: dict[Any, Any] = {}
    for place, record in enumerate(content[kind]):
        number = record.get("id") if isinstance(record, dict) else None
        if not _is_id(number):
            check.wrong(file, f"{kind}[{place}]", f'"id" is {number!r}, expected a number')
        elif number in found:
            check.wrong(file, f"{kind}[{place}]", f"id {number!r} occurs twice")
        else:
            found[number] = record
    return found


def _categories(contents: list[tuple[Path, Any]], check: Checker) -> dict[Any, str]:
    """The names of the categories of all files."""
    named: dict[Any, tuple[str, Path]] = {}
    for file, content in contents:
        for number, record in _by_id(file, "categories", content, check).items():
            name = record.get("name")
            if not isinstance(name, str):
                check.wrong(file, f"category {number}", f'"name" is {name!r}, expected a word')
                continue
            first, where = named.setdefault(number, (name, file))
            if first != name:
                what = f"is {name!r} here and {first!r} in {where.name}"
                check.wrong(file, f"category {number}", what)
    return {number: name for number, (name, _) in named.items()}


def _of_images(
    file: Path, images: dict[Any, Any], content: Any, check: Checker
) -> tuple[dict[Any, list[Any]], int]:
    """The annotations of each image, and how many are crowds, which are left out."""
    things: dict[Any, list[Any]] = {}
    crowds = 0
    for number, record in _by_id(file, "annotations", content, check).items():
        image = record.get("image_id")
        if not _is_id(image) or image not in images:
            check.wrong(file, f"annotation {number}", f"is of image {image!r}, which is missing")
        elif record.get("iscrowd"):
            crowds += 1
        else:
            things.setdefault(image, []).append(record)
    return things, crowds


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
    root: Path, file: Path, records: Any, labels: dict[Any, int], check: Checker
) -> list[Sample]:
    images, things = records
    places, found = _folders_of_images(root, file), []
    for number in _sorted(images):
        path, size = _picture(file, number, images[number], places, check)
        if size is not None:
            boxes = _things(file, things.get(number, []), labels, size, check)
            found.append(Sample(path, _split(root, file), boxes))
    return found


def _picture(file: Path, number: Any, record: Any, places: list[Path], check: Checker) -> Any:
    """The path of an image and its width and height; None, and a problem, if they are not right."""
    name, where = record.get("file_name"), f"image {number}"
    if not isinstance(name, str) or not name or "\0" in name:
        check.wrong(file, where, f'"file_name" is {name!r}, expected a path')
        return None, None
    path = next((each / name for each in places if (each / name).is_file()), places[1] / name)
    size = check.size(path, file, where)
    if size is None:
        return path, None
    said = (record.get("width", size[0]), record.get("height", size[1]))
    if said != size:
        what = f"says {said[0]} x {said[1]} pixels, {path} has {size[0]} x {size[1]}"
        check.wrong(file, where, what)
        return path, None
    return path, size


def _things(
    file: Path, annotations: list[Any], labels: dict[Any, int], size: Any, check: Checker
) -> Boxes:
    """The boxes of a picture."""
    found = Boxes([], [], [])
    for one in annotations:
        where, box, category = f"annotation {one['id']}", one.get("bbox"), one.get("category_id")
        if not (isinstance(box, list) and len(box) == 4 and all(map(_is_number, box))):
            check.wrong(file, where, f'"bbox" is {box!r}, expected [x, y, width, height]')
            continue
        if not _is_id(category) or category not in labels:
            check.wrong(file, where, f"category {category!r} is not in the list")
            continue
        outline = one.get("segmentation") or None
        wrong = _wrong_outline(outline, size)
        if wrong:
            check.wrong(file, where, wrong)
            continue
        x, y, width, height = map(float, box)
        cut = check.box([x, y, x + width, y + height], size, file, where)
        if cut is not None:
            found.boxes.append(cut)
            found.labels.append(labels[category])
            found.segmentations.append(outline)
    return found


def _is_number(value: Any) -> bool:
    """Whether a value of JSON is a number that pictures may have; NaN is one, and no box."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and not abs(value) > 1e9


def _wrong_outline(outline: Any, size: tuple[int, int]) -> str:
    """What is wrong with a "segmentation": "" if nothing is."""
    if outline is None:
        return ""
    if isinstance(outline, dict):
        if outline.get("size") != list(size[::-1]):
            return f'"size" of run lengths is {outline.get("size")!r}, expected {list(size[::-1])}'
        try:
            mask_of(outline, size[1], size[0])
        except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
            return f"run lengths: {type(error).__name__}: {error}"
        return ""
    if not isinstance(outline, list):
        return f'"segmentation" is a {type(outline).__name__}, expected polygons or run lengths'
    reach = 2 * max(size)
    for polygon in outline:
        right = isinstance(polygon, list) and len(polygon) >= 6 and len(polygon) % 2 == 0
        if not right or not all(_is_number(each) and math.isfinite(each) for each in polygon):
            return "a polygon is no list of at least three points, x and y"
        if max(map(abs, polygon)) > reach:
            return f"a polygon reaches out of the picture of {size[0]} x {size[1]} pixels"
    return ""
