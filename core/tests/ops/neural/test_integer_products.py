"""`_int_mm` against PyTorch's CPU kernel."""

import pytest
import torch

import rushlight


def whole(package, rows, columns, kind="int8", factor=37):
    """Numbers over the whole range of the dtype, by a fixed rule."""
    found = package.arange(rows * columns).reshape(rows, columns) * factor % 256
    return (found if kind == "uint8" else found - 128).to(getattr(package, kind))


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 700, 2), (0, 4, 3), (2, 0, 3), (17, 33, 9)])
def test_values_are_pytorch_s(kind, sizes):
    n, k, m = sizes
    found, expected = (
        package._int_mm(whole(package, n, k, kind), whole(package, m, k, factor=91).t())
        for package in (rushlight, torch)
    )
    assert found.dtype == rushlight.int32
    assert found.tolist() == expected.tolist()


def test_extremes_and_buffers():
    results = []
    for package in (rushlight, torch):
        low = package.full((2, 2000), -128, dtype=package.int8)
        out = package.empty(2, 2, dtype=package.int32)
        assert package._int_mm(low, low.t(), out=out) is out
        aten = package.ops.aten._int_mm.default(low, low.t())
        results.append((out.tolist(), aten.tolist()))
        meta = package._int_mm(low.to("meta"), low.t().to("meta"))
        assert (meta.dtype, tuple(meta.shape)) == (package.int32, (2, 2))
    assert results[0] == results[1]
    assert results[0][0][0][0] == 2000 * 128**2


def integers(package, *shape, kind="int8"):
    return package.ones(*shape, dtype=getattr(package, kind))


WRONG = {
    "self's dtype": lambda p: (integers(p, 3, 4, kind="int32"), integers(p, 4, 5)),
    "mat2's dtype": lambda p: (integers(p, 3, 4), integers(p, 4, 5, kind="uint8")),
    "a vector": lambda p: (integers(p, 4), integers(p, 4, 5)),
    "a batch": lambda p: (integers(p, 3, 4), integers(p, 1, 4, 5)),
    "sizes": lambda p: (integers(p, 3, 4), integers(p, 3, 5)),
}


@pytest.mark.parametrize("name", WRONG)
def test_others_are_refused(name):
    for package in (rushlight, torch):
        with pytest.raises(RuntimeError, match="Expected|expected|size"):
            package._int_mm(*WRONG[name](package))
