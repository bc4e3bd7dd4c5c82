"""Augmented pictures, masks and pieces that `test_augment.py` compares with fastai's.

`python fastai_augment.py` runs them with fastai and writes `fastai_augment.json`.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

from PIL import Image

SIZES = [(9, 12), (10, 10)]
DRAWS = {
    "Flip": [{"draw": [0, 1]}],
    "Dihedral": [{"draw": [first, first + 1]} for first in (0, 2, 4, 6)],
    "Rotate": [{"draw": [-25.0, 10.0]}, {"draw": [90.0, 3.0], "pad_mode": "zeros"}],
    "Zoom": [{"draw": [1.3, 0.8], "draw_x": [0.2, 0.9], "draw_y": [0.5, 0.1]}],
    "Warp": [{"draw_x": [0.2, -0.1], "draw_y": [0.0, 0.3]}, {"draw_x": 0.1, "draw_y": 0.0,
             "pad_mode": "border"}],
    "Brightness": [{"draw": [0.3, 0.6]}],
    "Contrast": [{"draw": [0.7, 1.4]}],
    "Saturation": [{"draw": [0.5, 1.5]}],
    "Hue": [{"draw": [0.3, 0.95]}],
}  # fmt: skip
PIECES = [{"size": 6}, {"size": (5, 8), "min_scale": 0.5}, {"size": 40, "ratio": (2.0, 3.0)}]


def pictures(of, height, width):
    """Two pictures, their masks, points and boxes, as nested lists."""
    count = 2 * 3 * height * width
    values = [0.5 + 0.5 * math.sin(0.37 * place + 0.002 * place**1.5) for place in range(count)]
    classes = [(place // 5) % 7 for place in range(2 * height * width)]
    image = of.tensor(values, dtype=of.float32).reshape(2, 3, height, width)
    return image, of.tensor(classes).reshape(2, height, width)


def flat(values):
    """A tensor as a list of rounded numbers."""
    return [round(float(each), 5) for each in values.reshape(-1).tolist()]


def thin(values):
    """Every seventh of a batch's numbers: the file stays small."""
    return flat(values)[::7]


def pixels(image):
    """Every thirteenth byte of an item's picture, and its size."""
    return [*image.size, *image.tobytes()[::13]]


def cases(of):
    """Transforms with given draws by name; and those of several, sampled once."""
    for name, ways in DRAWS.items():
        for number, options in enumerate(ways):
            yield f"{name} {number}", [getattr(of, name)(p=1.0, **options)]
    size = {"size": 3}
    yield "smaller", [of.Zoom(draw=1.1, draw_x=0.3, draw_y=0.4, p=1.0, **size)]
    made = {"draw": [20.0, -5.0], "p": 1.0, "size": (7, 11)}
    zoom = of.Zoom(draw=1.2, draw_x=0.1, draw_y=0.4, p=1.0)
    warp = of.Warp(draw_x=[0.1, 0.2], draw_y=[-0.2, 0.1], p=1.0)
    light = [of.Brightness(draw=[0.4, 0.7], p=1.0), of.Contrast(draw=[1.2, 0.8], p=1.0)]
    yield "together", of.setup_aug_tfms([of.Rotate(**made), light[0], zoom, warp, light[1]])


def names(of):
    """What `aug_transforms` makes, by its arguments."""
    ways = [
        {}, {"do_flip": False}, {"flip_vert": True, "max_warp": 0}, {"size": 8, "min_scale": 0.5},
        {"mult": 0, "max_zoom": 1.0}, {"max_lighting": 0, "xtra_tfms": [of.RandomErasing()]},
    ]  # fmt: skip
    return [[type(each).__name__ for each in of.aug_transforms(**way)] for way in ways]


def picture():
    """A picture of 20 times 14 pixels."""
    values = bytes((place * 7 + place // 40) % 251 for place in range(20 * 14 * 3))
    return Image.frombytes("RGB", (20, 14), values)


def by_fastai(of):
    """fastai's batches, by case and size."""
    import torch

    found = {}
    for shape in SIZES:
        for name, transforms in cases(of):
            image, mask = pictures(torch, *shape)
            x = (of.TensorImage(image), of.TensorMask(mask))
            for each in transforms:
                x = each(x, split_idx=0)
            found[f"{name} {shape}"] = {"image": thin(x[0]), "mask": x[1].reshape(-1)[::3].tolist()}
    points = {}
    for name, transforms in cases(of):
        if not isinstance(transforms[0], of.AffineCoordTfm) or transforms[0].size is not None:
            continue
        image, _ = pictures(torch, *SIZES[0])
        p, b = (torch.tensor(each) for each in places())
        p = of.TensorPoint(p, img_size=SIZES[0][::-1])
        b = of.TensorBBox(b, img_size=SIZES[0][::-1])
        _, p, b = transforms[0]((of.TensorImage(image), p, b), split_idx=0)
        points[name] = {"points": flat(p), "boxes": flat(b)}
    return found, points


def places():
    """Points and boxes of two pictures."""
    points = [[[-0.5, 0.2], [0.9, -1.0]], [[0.0, 0.0], [0.3, 0.6]]]
    return points, [[[-0.5, -0.4, 0.1, 0.2]], [[-1.0, 0.0, 0.5, 1.0]]]


def pieces(of):
    """fastai's random pieces: which, and what became of the picture and of points."""
    import torch

    found = []
    for options in PIECES:
        change = of.RandomResizedCrop(**options)
        for split in (0, 1):
            random.seed(len(found))
            p, b = (torch.tensor(each) for each in (places()[0][0], places()[1][0]))
            p, b = of.TensorPoint(p, img_size=(20, 14)), of.TensorBBox(b, img_size=(20, 14))
            image, p, b = change((of.PILImage(picture()), p, b), split_idx=split)
            box = None if split else [*change.tl, *change.cp_size]
            answer = {
                "box": box,
                "split": split,
                "options": options,
                "image": pixels(image),
            }
            found.append({**answer, "points": flat(p), "boxes": flat(b)})
    return found


def turned(of):
    """The eight flips and quarter turns of an item."""
    import torch

    found = []
    for number in range(8):
        change = of.DihedralItem()
        change.before_call = lambda b, split_idx, change=change, number=number: setattr(
            change, "k", number
        )
        p, b = (torch.tensor(each) for each in (places()[0][0], places()[1][0]))
        parts = of.PILImage(picture()), of.TensorPoint(p), of.TensorBBox(b, img_size=(20, 14))
        image, p, b = change(parts, split_idx=0)
        found.append({"image": pixels(image), "points": flat(p), "boxes": flat(b)})
    return found


def middles(of, kinds):
    """Pictures cut, padded and resized as in validation."""
    changes = {
        "CropPad": of.CropPad(10), "CropPad up": of.CropPad((18, 30), pad_mode="reflection"),
        "RandomCrop": of.RandomCrop((8, 12)), "RandomCrop up": of.RandomCrop((18, 12)),
        "RatioResize": of.RatioResize(16),
    }  # fmt: skip
    return {name: pixels(kinds(change, picture())) for name, change in changes.items()}


def main():
    """Record fastai's answers."""
    import fastai.vision.all as of

    batches, points = by_fastai(of)
    found = {"batches": batches, "points": points, "pieces": pieces(of), "turned": turned(of)}
    found["middles"] = middles(of, lambda change, image: change(of.PILImage(image), split_idx=1))
    found["names"] = names(of)
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
