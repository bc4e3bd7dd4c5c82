"""Compare what rushlight_vision.utils draws with torchvision's pictures, pixel by pixel.

Usage: python ci/vision_utils.py record FILE       in an environment with torchvision
       python ci/vision_utils.py compare FILE      in one with rushlight and rushlight_vision
       python ci/vision_utils.py both [FOLDER]     makes the environment in FOLDER if need be
"""

from __future__ import annotations

import argparse
import itertools
import pickle
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from vision_family import FOLDER, oracle


def cases():
    """Functions, arrays and options."""
    random = np.random.default_rng(0)
    image = random.integers(0, 256, (3, 60, 80)).astype(np.uint8)
    grey = image[:1]
    real = random.random((3, 60, 80)).astype(np.float32)
    boxes = np.array([[3, 4, 30, 40], [20, 10, 70, 50], [5, 5, 5, 20], [60, 30, 78, 58]])
    turned = np.array([[10, 10, 40, 18, 34, 40, 4, 32], [50, 20, 70, 30, 60, 50, 40, 40]])
    words = ["cat", "a dog", "", "tree"]
    for picture, options in itertools.product(
        (image, grey, real),
        (
            {},
            {"labels": words},
            {"labels": words, "colors": "blue", "width": 3, "fill": True},
            {"labels": words, "colors": ["red", (0, 255, 0), "#FF00FF", "yellow"]},
            {"labels": words, "fill_labels": True, "label_colors": "white"},
            {"labels": words, "fill_labels": True, "label_background_colors": (9, 90, 200)},
            {"fill": True},
            {"colors": (1, 2, 3)},
        ),
    ):
        yield "draw_bounding_boxes", [picture, boxes], options
    for options in ({}, {"fill": True, "width": 3}, {"labels": ["a", "b"]}):
        yield "draw_bounding_boxes", [image, turned], options
        yield "draw_bounding_boxes", [image, boxes + 0.7], options | {"labels": None}
    masks = random.random((4, 60, 80)) < 0.3
    for picture, options in itertools.product(
        (image, real),
        ({}, {"alpha": 0.3}, {"colors": "green"}, {"colors": ["red", "blue", (7, 8, 9), "gold"]}),
    ):
        yield "draw_segmentation_masks", [picture, masks], options
        yield "draw_segmentation_masks", [picture, masks[0]], options
    points = random.integers(0, 60, (2, 5, 2)).astype(np.float32)
    seen = random.random((2, 5)) < 0.6
    lines = [(0, 1), (1, 2), (3, 4)]
    for picture, options in itertools.product(
        (image, real),
        (
            {},
            {"connectivity": lines, "colors": "red"},
            {"connectivity": lines, "visibility": seen, "radius": 4, "width": 1},
            {"colors": (5, 200, 9), "visibility": seen[..., None]},
        ),
    ):
        yield "draw_keypoints", [picture, points], options
    for shape in ((2, 20, 30), (3, 2, 9, 7)):
        yield "flow_to_image", [random.normal(0, 5, shape).astype(np.float32)], {}


def results(library, utils):
    """The pictures of all cases, or the kind of error."""
    found = []
    for name, arrays, options in cases():
        given = [library.from_numpy(array.copy()) for array in arrays]
        options = {
            key: library.from_numpy(value) if isinstance(value, np.ndarray) else value
            for key, value in options.items()
        }
        try:
            found.append(getattr(utils, name)(*given, **options).numpy())
        except Exception as error:  # noqa: BLE001 - what is asked
            found.append(type(error).__name__)
    return found


def record(path):
    """What torchvision draws."""
    import torch
    import torchvision

    found = results(torch, torchvision.utils)
    Path(path).write_bytes(pickle.dumps(found))
    print(f"{len(found)} pictures of torchvision {torchvision.__version__}: {path}")
    return 0


def compare(path):
    """Ours against what was written down."""
    import rushlight
    from rushlight_vision import utils

    expected, failed = pickle.loads(Path(path).read_bytes()), 0
    found = results(rushlight, utils)
    for case, ours, theirs in zip(cases(), found, expected, strict=True):
        if isinstance(ours, str) or isinstance(theirs, str):
            wrong = f"{ours}, expected {theirs}" if not isinstance(ours, type(theirs)) else ""
        else:
            count = int((ours != theirs).sum()) if ours.shape == theirs.shape else -1
            tolerant = case[0] == "flow_to_image"  # a rounding apart at the edge of a level
            least = np.abs(ours.astype(float) - theirs).max() if count > 0 else 0
            wrong = f"{count} values differ" if count and not (tolerant and least <= 1) else ""
        if wrong:
            failed += 1
            print(case[0], case[2], wrong)
    print(f"{len(expected)} pictures: {failed} differ")
    return 1 if failed else 0


def both(folder):
    """Record with torchvision, compare with ours."""
    python = oracle(folder)
    with tempfile.TemporaryDirectory() as scratch:
        path = str(Path(scratch) / "recorded.pickle")
        subprocess.run([str(python), __file__, "record", path], check=True)
        return compare(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "compare", "both"))
    parser.add_argument("place", nargs="?", default=str(FOLDER))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    commands = {"record": record, "compare": compare, "both": lambda place: both(Path(place))}
    sys.exit(commands[options.what](options.place))


if __name__ == "__main__":
    main()
