"""Bounds of clamp for every integer dtype, next to PyTorch's."""

from __future__ import annotations

import itertools

import pytest

import rushlight

torch = pytest.importorskip("torch")

BOUNDS = (
    None,
    -1,
    0,
    3,
    -128,
    -129,
    -255,
    -256,
    127,
    128,
    255,
    256,
    -32768,
    2**31,
    True,
    -1.0,
    2.5,
)


def outcome(library, run):
    """What came out, as a dtype's name and numbers, or the type of the error."""
    try:
        found = run(library)
    except RuntimeError as error:
        return type(error)
    return str(found.dtype).split(".")[1], found.tolist()


def elements(library, dtype):
    """The ends of a dtype and some numbers between."""
    info = torch.iinfo(getattr(torch, dtype))
    return library.tensor([info.min, 0, 2, info.max - 1, info.max], dtype=getattr(library, dtype))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_bounds(dtype):
    for bounds in itertools.product(BOUNDS, BOUNDS):
        for name in ("clamp", "clamp_"):

            def run(library, name=name, bounds=bounds):
                return getattr(elements(library, dtype), name)(*bounds)

            assert outcome(rushlight, run) == outcome(torch, run), (name, bounds)


@pytest.mark.parametrize("bounds", [(-1, 5), (-250, 200), (None, -3), (-3, None)])
def test_bounds_that_wrap_around_in_a_chain_of_ops(bounds):
    def run(library):
        return (elements(library, "uint8") + 1).clamp(*bounds) * 2

    assert outcome(rushlight, run) == outcome(torch, run)
    x = elements(rushlight, "uint8")
    compiled = rushlight.compile(lambda x: (x + 1).clamp(*bounds) * 2)
    assert outcome(rushlight, lambda _: compiled(x)) == outcome(torch, run)
