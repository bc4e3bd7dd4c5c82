"""Damaged annotations: an error that names the file, or samples that can be used."""

from __future__ import annotations

import copy
import json
import random

import layouts
import pytest

from rushlight_vision.datasets import from_folder

CASES = 150
STRANGE = (None, True, -1, 1e300, float("nan"), "", "x", [], [1], {}, {"id": 1}, 10**30)
FILES = {
    layouts.coco: "annotations/instances_train2017.json",
    layouts.voc: "Annotations/a.xml",
    layouts.yolo: "labels/train/a.txt",
    layouts.masks: "train/masks/a.png",
    layouts.classification: "train/dog/0.png",
}


def used(root, name: str) -> None:
    """Read a folder in both ways; what is read must be usable, what is refused be named."""
    for on_error in ("raise", "skip"):
        try:
            data = from_folder(root, on_error=on_error)
        except ValueError as error:
            assert name in str(error) or "no known layout" in str(error), error
            continue
        assert data.report
        for number in range(len(data)):
            try:
                data[number]
            except ValueError as error:  # only pixels are looked at as late as this
                assert str(root) in str(error), error


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, removed or doubled."""
    found = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(found))
        kind = chance.randrange(4)
        if kind == 0:
            found[place] = chance.randrange(256)
        elif kind == 1:
            del found[place : place + chance.randint(1, 20)]
        elif kind == 2:
            found[place:place] = found[place : place + chance.randint(1, 20)]
        else:
            found[place:place] = chance.choice([b"-", b"9" * 40, b"nan", b"<", b"\xff", b"1e999 "])
        found = found or bytearray(b" ")
    return bytes(found)


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_damaged_bytes(make, tmp_path):
    make(tmp_path)
    file = tmp_path / FILES[make]
    content, chance = file.read_bytes(), random.Random(0)
    for _ in range(CASES):
        file.write_bytes(damaged(content, chance))
        used(tmp_path, file.name)


def places(value, found=()):
    """Where the values of JSON stand."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in pairs:
        yield (*found, key)
        if isinstance(each, (dict, list)):
            yield from places(each, (*found, key))


def test_strange_values_of_coco(tmp_path):
    layouts.coco(tmp_path)
    file = tmp_path / FILES[layouts.coco]
    content, chance = json.loads(file.read_text()), random.Random(0)
    for place in places(content):
        for value in chance.sample(STRANGE, 4):
            changed = copy.deepcopy(content)
            home = changed
            for key in place[:-1]:
                home = home[key]
            home[place[-1]] = value
            file.write_text(json.dumps(changed))
            used(tmp_path, file.name)
