"""Detection in PASCAL VOC's format: an XML file for each picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rushlight_vision.datasets.folder import IMG_EXTENSIONS
from rushlight_vision.datasets.layouts.records import (
    Boxes,
    Checker,
    Layout,
    Sample,
    names_in,
    parts,
    split_of,
)

SIDES = ("xmin", "ymin", "xmax", "ymax")


def _files(root: Path) -> list[tuple[str, Path]]:
    """The XML files and their splits: in ``Annotations``, or beside the pictures."""
    found = []
    for split, part in parts(root):
        for folder in (part / "Annotations", part / "annotations", part / "labels", part):
            if folder.is_dir() and next(folder.glob("*.xml"), None):
                found += [(split, file) for file in sorted(folder.glob("*.xml"))]
                break
    return found


def is_there(root: Path) -> bool:
    """Whether there is an XML file of annotations."""
    return any(_starts_right(file) for _, file in _files(root)[:3])


def _starts_right(file: Path) -> bool:
    return b"<annotation" in file.read_bytes()[:1000]


def _listed(root: Path) -> dict[str, str]:
    """The split of each name, from ``ImageSets/Main``."""
    return {
        name.split()[0]: split_of(file.stem)
        for file in sorted((root / "ImageSets" / "Main").glob("*.txt"))
        if split_of(file.stem)
        for name in names_in(file)
    }


def read(root: Path, check: Checker) -> Layout:
    """All pictures that have an XML file; classes in the order of the alphabet."""
    listed, rows, names = _listed(root), [], set()
    for split, file in _files(root):
        things = _parsed(file, check)
        if things is not None:
            rows.append((split or listed.get(file.stem, ""), file, things))
            names |= {thing.findtext("name") or "" for thing in things.iter("object")}
    classes = ["__background__", *sorted(names - {""})]
    samples = [_sample(root, split, file, tree, classes, check) for split, file, tree in rows]
    found = [each for each in samples if each is not None]
    return Layout("PASCAL VOC", "detection", classes, found)


def _parsed(file: Path, check: Checker) -> Any:
    try:
        return ElementTree.fromstring(file.read_bytes())
    except ElementTree.ParseError as error:
        return check.wrong(file, "", f"no XML: {error}")


def _image(root: Path, file: Path, name: str) -> Path:
    """The picture that an XML file is of."""
    near = (file.parent, *(file.parent.parent / each for each in ("JPEGImages", "images")))
    names = [*([Path(name).name] if name else []), *(file.stem + each for each in IMG_EXTENSIONS)]
    tried = [folder / each for each in names for folder in (*near, root)]
    return next((path for path in tried if path.is_file()), near[1] / names[0])


def _sample(
    root: Path, split: str, file: Path, tree: Any, classes: list[str], check: Checker
) -> Sample | None:
    path = _image(root, file, tree.findtext("filename") or "")
    size = check.size(path, file, "filename")
    if size is None:
        return None
    said = [tree.findtext(f"size/{side}") for side in ("width", "height")]
    if all(each and each.strip().isdigit() for each in said):
        numbers = tuple(int(str(each)) for each in said)
        if numbers not in ((0, 0), size):  # (0, 0): written by tools that do not know
            what = f"says {numbers[0]} x {numbers[1]} pixels, {path} has {size[0]} x {size[1]}"
            return check.wrong(file, "size", what)  # type: ignore[func-returns-value]
    found = Boxes([], [], [])
    for place, thing in enumerate(tree.iter("object")):
        _add(found, thing, classes, (size, file, f"object {place}"), check)
    return Sample(path, split, found)


def _add(found: Boxes, thing: Any, classes: list[str], where: Any, check: Checker) -> None:
    """Add one thing; a problem if it has no name or no box."""
    size, file, record = where
    name = thing.findtext("name")
    if not name:
        return check.wrong(file, record, "has no name")
    try:
        corners = [float(thing.findtext(f"bndbox/{side}")) for side in SIDES]
    except (TypeError, ValueError):
        return check.wrong(file, record, f'"bndbox" lacks one of {", ".join(SIDES)}')
    cut = check.box(corners, size, file, record)
    if cut is not None:
        found.boxes.append(cut)
        found.labels.append(classes.index(name))
        found.segmentations.append(None)
    return None
