"""Reductions and scans of masked tensors against PyTorch's, and where those refuse against the
functions of ``torch.masked``."""

import sys
from pathlib import Path

import pytest

import rushlight
from rushlight.testing.oracle import assert_same

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from carrying import DATA, MASK, both, carrying  # noqa: E402

MASKS = {
    "some": MASK,
    "no element of a column": [[True, False, True], [True, False, False]],
    "none": [[False] * 3] * 2,
    "all": [[True] * 3] * 2,
}
REDUCTIONS = ["sum", "mean", "prod", "amin", "amax", "argmin", "argmax", "var", "std"]
DIMENSIONS = {
    "all": {},
    "first": {"dim": 0},
    "last": {"dim": -1},
    "kept": {"dim": 1, "keepdim": True},
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dims", DIMENSIONS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dims, mask):
    options = DIMENSIONS[dims]
    both(lambda lib: getattr(carrying(lib, DATA, MASKS[mask]), name)(**options))
    both(lambda lib: getattr(lib, name)(carrying(lib, DATA, MASKS[mask]), **options))


@pytest.mark.parametrize("name", ["sum", "mean", "amin", "amax", "var", "std"])
def test_several_dimensions(name):
    both(lambda lib: getattr(carrying(lib, [DATA, DATA], [MASK, MASK]), name)((0, 2)))
    both(lambda lib: getattr(carrying(lib), name)([0, 1], keepdim=True))


def test_products_over_several_dimensions():
    assert_same(carrying(rushlight).prod((0, 1)).get_data(), reference("prod", (0, 1)))


@pytest.mark.parametrize("name", ["sum", "prod", "amin", "amax", "argmin", "argmax"])
def test_integers(name):
    both(lambda lib: getattr(carrying(lib, [[3, 1, 2], [5, 4, 6]], MASK), name)())
    both(lambda lib: getattr(carrying(lib, [[3, 1, 2], [5, 4, 6]], MASK), name)(0))


@pytest.mark.parametrize("mask", MASKS)
def test_all(mask):
    def truth(lib):
        return carrying(lib, [[True, False, True], [True, False, False]], MASKS[mask])

    both(lambda lib: truth(lib).all())
    both(lambda lib: truth(lib).all(0))
    both(lambda lib: lib.all(truth(lib), dim=1, keepdim=True))


def test_any():
    x = carrying(rushlight, [[True, False, True], [True, False, False]], MASK)
    assert repr(x.any()) == "MaskedTensor(True, True)"
    assert x.any(1).to_tensor(False).tolist() == [True, False]


def test_dtypes():
    both(lambda lib: carrying(lib).sum(0, dtype=lib.float64))
    both(lambda lib: carrying(lib, dtype=lib.float16).sum())
    both(lambda lib: carrying(lib, dtype=lib.float64).mean(1))
    with pytest.raises(TypeError, match="floating point"):
        carrying(rushlight, [1, 2], [True, False]).mean()


def reference(name, *args, mask=MASK, **options):
    """What the function of ``torch.masked`` gives of the data and the mask."""
    return getattr(torch.masked, name)(
        torch.tensor(DATA), *args, mask=torch.tensor(mask), **options
    )


def test_norms():
    x = carrying(rushlight)
    assert_same(x.norm().get_data(), reference("norm", 2.0))
    assert_same(x.norm(1, 0).get_data(), reference("norm", 1.0, 0))
    assert_same(rushlight.norm(x, dim=1, keepdim=True).get_data(), reference(
        "norm", 2.0, 1, keepdim=True
    ))  # fmt: skip
    assert_same(x.norm(float("inf")).get_data(), reference("norm", float("inf")))
    with pytest.raises(ValueError, match="nuc"):
        x.norm("nuc")


def test_corrections():
    x = carrying(rushlight)
    assert_same(x.std(1, False).get_data(), reference("std", 1, False))
    assert_same(x.var(False).get_data(), reference("var", None, False))
    assert_same(x.var(1, correction=0, keepdim=True).get_data(), reference(
        "var", 1, correction=0, keepdim=True
    ))  # fmt: skip


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "softmax", "log_softmax"])
def test_along_a_dimension(name):
    found = getattr(carrying(rushlight), name)(1)
    assert_same(found.get_mask(), torch.tensor(MASK))
    expected = reference(name, 1).masked_fill(~torch.tensor(MASK), 0)
    assert_same(found.to_tensor(0), expected)


def test_softmax():
    both(lambda lib: carrying(lib).softmax(0))
    both(lambda lib: lib.softmax(carrying(lib, DATA, MASKS["none"]), -1))
    both(lambda lib: lib.nn.functional.softmax(carrying(lib), 1))
    with pytest.raises(TypeError, match="dim"):
        rushlight.nn.functional.log_softmax(carrying(rushlight))


def test_logsumexp():
    assert_same(carrying(rushlight).logsumexp(1).get_data(), reference("logsumexp", 1))


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "std", "argmin"])
def test_functions_of_masked_take_masked_tensors(name):
    """Without ``mask=`` PyTorch divides by the number of all elements, where it counts any."""
    both(lambda lib: getattr(lib.masked, name)(carrying(lib), 1, mask=lib.tensor(MASK)))
    whole = getattr(rushlight.masked, name)(carrying(rushlight))
    assert_same(whole, reference(name))


def test_a_further_mask_hides_more():
    further = rushlight.tensor([True, True, False])
    assert rushlight.masked.sum(carrying(rushlight), mask=further).item() == 1.25


def test_nan_that_is_masked_out():
    def program(lib):
        x = lib.tensor([1.0, float("nan"), 3.0, float("inf")])
        found = lib.masked.masked_tensor(x, lib.isfinite(x))
        return found.sum(), found.mean(), found.amax(), found.prod(), found.std()

    both(program)
