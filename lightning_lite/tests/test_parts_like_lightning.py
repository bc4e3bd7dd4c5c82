"""Callbacks, tuner, utilities and Fabric give what Lightning's give (recorded values)."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

import lightning_lite as L
import rushlight as rl
from rushlight.compat.paths import module_behind

FOLDER = Path(__file__).with_name("recorded")
sys.path.insert(0, str(FOLDER))
parts = importlib.import_module("parts")
plugin_parts = importlib.import_module("plugin_parts")
sys.path.remove(str(FOLDER))
ALL = {**parts.PARTS, **plugin_parts.PARTS}
RECORDED = {
    name: value
    for file in ("parts", "plugin_parts")
    for name, value in json.loads((FOLDER / f"{file}.json").read_text())["parts"].items()
}


def agree(given, expected, path):
    """Equal, numbers but for rounding in float32."""
    assert type(given) is type(expected), f"{path}: {given!r}, expected {expected!r}"
    if isinstance(expected, dict):
        assert sorted(given) == sorted(expected), path
        for key in expected:
            agree(given[key], expected[key], f"{path}.{key}")
    elif isinstance(expected, list):
        assert len(given) == len(expected), f"{path}: {given}, expected {expected}"
        for number, (a, b) in enumerate(zip(given, expected, strict=True)):
            agree(a, b, f"{path}[{number}]")
    elif isinstance(expected, float):
        assert given == pytest.approx(expected, rel=2e-4, abs=1e-5), path
    else:
        assert given == expected, path


def part(path):
    """A module by Lightning's path."""
    return importlib.import_module(module_behind(parts.full_path(path)))


@pytest.mark.parametrize("name", sorted(RECORDED))
@pytest.mark.filterwarnings("ignore")
def test_part(name, tmp_path):
    found = parts.plain(ALL[name](L, rl, part, str(tmp_path)))
    agree(json.loads(json.dumps(found)), RECORDED[name], name)
