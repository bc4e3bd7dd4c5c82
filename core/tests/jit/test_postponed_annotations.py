"""Compiled code of modules whose annotations are text."""

from __future__ import annotations

from typing import NamedTuple

import rushlight
from rushlight import jit


class Point(NamedTuple):
    x: rushlight.Tensor
    scale: int
    y: rushlight.Tensor | None = None


def moved(x: rushlight.Tensor, scale: int) -> Point:
    point = Point(x + 1, scale)
    other = Point(point.x * point.scale, scale, x)
    return other


def test_a_named_tuple():
    x = rushlight.ones(2)
    found = jit.script(moved)(x, 3)
    assert found.x.tolist() == [6.0, 6.0] and found.scale == 3 and rushlight.equal(found.y, x)
    assert isinstance(found.scale, int)
