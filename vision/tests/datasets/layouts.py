"""Small folders in the layouts that people use, with the same pictures and boxes in each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from pictures import picture

HEIGHT, WIDTH = 40, 60
NAMES = ["cat", "dog"]
# Picture -> its split and its things: label from 1, xmin, ymin, xmax, ymax.
THINGS = {
    "a": ("train", [(1, (6, 4, 30, 20)), (2, (12, 8, 60, 40))]),
    "b": ("train", []),
    "c": ("val", [(2, (0, 0, 15, 10))]),
}


def save(path: Path, seed: int = 0, size: tuple[int, int] = (HEIGHT, WIDTH)) -> Path:
    """Write a picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture(*size, seed=seed).save(path)
    return path


def classification(root: Path, splits: bool = True) -> None:
    for split in ("train", "val") if splits else ("",):
        for number, name in enumerate(NAMES):
            for each in range(number + 1):
                save(root / split / name / f"{each}.png", each)


def write_coco(file: Path, names: list[str], change=None) -> None:
    """Annotations of some pictures; `change` may spoil them."""
    images, annotations = [], []
    for number, name in enumerate(names):
        images.append({"id": number, "file_name": f"{name}.jpg", "height": HEIGHT, "width": WIDTH})
        for label, (x0, y0, x1, y1) in THINGS[name][1]:
            outline = [[x0, y0, x1, y0, x1, y1, x0, y1]]
            annotations.append({
                "id": len(annotations), "image_id": number, "category_id": 10 * label,
                "bbox": [x0, y0, x1 - x0, y1 - y0], "segmentation": outline, "iscrowd": 0,
            })  # fmt: skip
    categories = [{"id": 10 * (place + 1), "name": name} for place, name in enumerate(NAMES)]
    content = {"images": images, "annotations": annotations, "categories": categories}
    if change is not None:
        change(content)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))


def coco(root: Path) -> None:
    """As published: annotations/instances_train2017.json and train2017/."""
    for split in ("train", "val"):
        names = [name for name, (where, _) in THINGS.items() if where == split]
        write_coco(root / "annotations" / f"instances_{split}2017.json", names)
        for name in names:
            save(root / f"{split}2017" / f"{name}.jpg")


def voc(root: Path) -> None:
    for name, (split, things) in THINGS.items():
        save(root / "JPEGImages" / f"{name}.jpg")
        objects = "".join(
            f"<object><name>{NAMES[label - 1]}</name><bndbox><xmin>{x0}</xmin><ymin>{y0}</ymin>"
            f"<xmax>{x1}</xmax><ymax>{y1}</ymax></bndbox></object>"
            for label, (x0, y0, x1, y1) in things
        )
        text = (
            f"<annotation><filename>{name}.jpg</filename><size><width>{WIDTH}</width>"
            f"<height>{HEIGHT}</height><depth>3</depth></size>{objects}</annotation>"
        )
        for file, line in (
            (root / "Annotations" / f"{name}.xml", text),
            (root / "ImageSets" / "Main" / f"{split}.txt", f"{name}\n"),
        ):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(
                (file.read_text() if file.suffix == ".txt" and file.exists() else "") + line
            )


def yolo(root: Path, yaml: str = "names: [cat, 'dog']\n") -> None:
    for name, (split, things) in THINGS.items():
        save(root / "images" / split / f"{name}.jpg")
        lines = [
            f"{label - 1} {(x0 + x1) / 2 / WIDTH:.6f} {(y0 + y1) / 2 / HEIGHT:.6f} "
            f"{(x1 - x0) / WIDTH:.6f} {(y1 - y0) / HEIGHT:.6f}"
            for label, (x0, y0, x1, y1) in things
        ]
        if lines:
            file = root / "labels" / split / f"{name}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(lines) + "\n")
    (root / "data.yaml").write_text(f"path: .\ntrain: images/train\n{yaml}nc: 2\n")


def masks(root: Path, values: tuple[int, ...] = (0, 1, 2, 255)) -> None:
    from PIL import Image

    for split in ("train", "val"):
        save(root / split / "images" / "a.jpg")
        pixels = np.resize(np.array(values, np.uint8), (HEIGHT, WIDTH))
        (root / split / "masks").mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(root / split / "masks" / "a.png")
