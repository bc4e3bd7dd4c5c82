"""Points, boxes and their labels that `test_points.py` compares with fastai's.

`python fastai_points.py` runs them with fastai and writes `fastai_points.json`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from PIL import Image

POINTS = [[[3, 4], [10, 2]], [[0, 0], [19, 13]], [[5, 5], [6.5, 1]], [[9, 9], [1, 12]]]
BOXES = [
    [[2, 3, 10, 12], [0, 0, 5, 5]], [[15, 2, 30, 9]], [[1, 1, 4, 4], [8, 8, 9, 12], [18, 3, 19, 5]],
    [[0, 0, 20, 14]],
]  # fmt: skip
LABELS = [["cat", "dog"], ["dog"], ["ant", "cat", "dog"], ["cat"]]


def draw(folder):
    """Four pictures of 20 times 14 pixels."""
    for number in range(4):
        Image.new("RGB", (20, 14), (number * 40, 0, 0)).save(folder / f"{number}.png")


def flat(values):
    """Nested lists as one of rounded numbers."""
    if isinstance(values, list):
        return [number for each in values for number in flat(each)]
    return [round(values, 5)]


def of_file(values):
    """A function that gives a file its value, by the number in its name."""
    return lambda file: values[int(Path(file).stem)]


def answers(of, folder):
    """Batches of validation, with the middle cut out."""
    found = {}
    for name, blocks, getters in (
        ("points", (of.ImageBlock, of.PointBlock), [of_file(POINTS)]),
        (
            "boxes",
            (of.ImageBlock, of.BBoxBlock, of.BBoxLblBlock),
            [of_file(BOXES), of_file(LABELS)],
        ),
    ):
        block = of.DataBlock(
            blocks, n_inp=1, get_items=of.get_image_files, get_y=getters,
            item_tfms=of.Resize(10),
        )  # fmt: skip
        if name == "boxes":  # labels are learnt from training
            block.splitter = lambda items: (range(4), range(4))
        else:
            block.splitter = lambda items: ([0], range(4))
        dls = block.dataloaders(folder, bs=4)
        parts = next(iter(dls.valid))
        order = parts[0][:, 0, 0, 0].argsort().tolist()  # fastai takes files in any order
        parts = [[part[place].tolist() for place in order] for part in parts]
        found[name] = flat(parts[1])
        if name == "boxes":
            found["labels"], found["vocab"] = parts[2], list(dls.vocab)
    return found


def main():
    """Record fastai's answers."""
    import fastai.vision.all as of

    with tempfile.TemporaryDirectory() as name:
        draw(Path(name))
        found = answers(of, Path(name))
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
