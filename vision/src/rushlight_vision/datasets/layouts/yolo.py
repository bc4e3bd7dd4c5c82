"""Detection in YOLO's format: a text file for each picture, a line for each thing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rushlight_vision.datasets.layouts.records import (
    Boxes,
    Checker,
    Layout,
    Sample,
    images_in,
    names_in,
    paired,
)

PICTURES, LABELS = ("images", "imgs"), ("labels",)


def is_there(root: Path) -> bool:
    """Whether there are folders of pictures and of text files."""
    pairs = paired(root, PICTURES, LABELS)
    return any(second.is_dir() and next(second.rglob("*.txt"), None) for _, _, second in pairs)


def _names(root: Path) -> list[str]:
    """The names of the classes, from a YAML file of the data set or a list; none otherwise."""
    for file in (root / "data.yaml", root / "dataset.yaml", *sorted(root.glob("*.yaml"))):
        if file.is_file():
            found = names_of_yaml(file.read_text(encoding="utf-8"))
            if found:
                return found
    return names_in(root / "classes.txt") or names_in(root / "labels" / "classes.txt")


def names_of_yaml(text: str) -> list[str]:
    """What ``names:`` lists in a YAML file: in brackets, with dashes, or by number."""
    match = re.search(r"^names\s*:[ \t]*(?:#.*)?(.*(?:\n[ \t-].*|\n)*)", text, re.MULTILINE)
    if match is None:
        return []
    block = match.group(1).strip()
    if block[:1] == "[":
        return [_plain(each) for each in block[1 : block.find("]")].split(",") if each.strip()]
    if block[:1] == "{":
        block = block[1 : block.find("}")].replace(",", "\n")
    lines = [re.sub(r"\s+#.*", "", line).strip() for line in block.splitlines()]
    dashed = [_plain(line[1:]) for line in lines if line.startswith("-")]
    if dashed:
        return dashed
    numbered = [line.split(":", 1) for line in lines if re.match(r"\d+\s*:", line)]
    return [_plain(name) for _, name in sorted(numbered, key=lambda pair: int(pair[0]))]


def _plain(name: str) -> str:
    return name.strip().strip("'\"")


def read(root: Path, check: Checker) -> Layout:
    """All pictures; one without a text file has nothing in it."""
    names, rows = _names(root), []
    for split, pictures, labels in paired(root, PICTURES, LABELS):
        images = images_in(pictures, deep=True)
        known = {(labels / each.relative_to(pictures)).with_suffix(".txt") for each in images}
        for file in sorted(set(labels.rglob("*.txt")) - known):
            if file.name != "classes.txt":
                check.wrong(file, "", f"there is no picture of this name in {pictures}")
        for image in images:
            size = check.size(image)
            if size is not None:
                file = (labels / image.relative_to(pictures)).with_suffix(".txt")
                rows.append(Sample(image, split, _things(file, size, len(names) or None, check)))
    most = max((label for row in rows for label in row.target.labels), default=0)
    classes = ["__background__", *(names or [str(number) for number in range(most)])]
    return Layout("YOLO", "detection", classes, rows)


def _things(file: Path, size: tuple[int, int], count: int | None, check: Checker) -> Boxes:
    """The things of a text file: ``class x y width height``, or ``class`` and an outline, in shares
    of width and height."""
    found = Boxes([], [], [])
    lines = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    for number, line in enumerate(lines.splitlines(), 1):
        if not line.strip():
            continue
        thing = _thing(line.split(), (file, f"line {number}"), count, check)
        if thing is None:
            continue
        label, shares = thing
        box = [share * size[place % 2] for place, share in enumerate(shares)]
        cut = check.box(box, size, file, f"line {number}")
        if cut is not None:
            found.boxes.append(cut)
            found.labels.append(label + 1)
            found.segmentations.append(None)
    return found


def _thing(words: list[str], where: Any, count: int | None, check: Checker) -> Any:
    """The class of a line, from 0, and xmin, ymin, xmax, ymax in shares."""
    file, record = where
    try:
        label, numbers = int(words[0]), [float(word) for word in words[1:]]
    except ValueError:
        return check.wrong(file, record, f"expected numbers, got {' '.join(words)!r}")
    if label < 0 or (count is not None and label >= count):
        return check.wrong(file, record, f"class {label}; there are {count or 'none below 0'}")
    if len(numbers) == 4:
        x, y, width, height = numbers
        return label, [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    if len(numbers) < 6 or len(numbers) % 2:
        what = f"{len(words)} values; expected class x y width height, or class and an outline"
        return check.wrong(file, record, what)
    across, down = numbers[::2], numbers[1::2]
    return label, [min(across), min(down), max(across), max(down)]
