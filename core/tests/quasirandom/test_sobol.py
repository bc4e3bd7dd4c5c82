"""Sobol points: PyTorch's, bit by bit."""

import numpy as np
import pytest

import rushlight
from rushlight.quasirandom import SobolEngine

torch = pytest.importorskip("torch")


def points(library, dimension, scramble, seed):
    """Draws of every kind from one engine, and its tables."""
    library.manual_seed(3)
    engine = library.quasirandom.SobolEngine(dimension, scramble, seed)
    found = [engine.sobolstate, engine.shift, engine.draw(5), engine.draw()]
    found.append(engine.draw(3, dtype=library.float64))
    engine.fast_forward(7)
    found.append(engine.draw(4))
    engine.reset().fast_forward(9)
    found += [engine.draw(2), engine.reset().draw(1), engine.draw(1), engine.draw_base2(1)]
    engine.fast_forward(0)
    out = library.empty(2, dimension)
    assert engine.draw(2, out=out) is out
    found += [engine.draw(0), out, engine.quasi]
    return [t.numpy() for t in found], engine.num_generated, repr(engine)


@pytest.mark.parametrize("dimension", (1, 2, 3, 17, 300))
@pytest.mark.parametrize(("scramble", "seed"), ((False, None), (True, 5), (True, None)))
def test_points_are_pytorchs(dimension, scramble, seed):
    ours, count, text = points(rushlight, dimension, scramble, seed)
    theirs, *rest = points(torch, dimension, scramble, seed)
    assert [count, text] == rest
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_every_dimension():
    ours, theirs = SobolEngine(SobolEngine.MAXDIM), torch.quasirandom.SobolEngine(21201)
    np.testing.assert_array_equal(ours.sobolstate.numpy(), theirs.sobolstate.numpy())
    assert ours.MAXBIT == theirs.MAXBIT and ours.MAXDIM == theirs.MAXDIM


def test_a_long_way_forward():
    ours, theirs = SobolEngine(4), torch.quasirandom.SobolEngine(4)
    ours.fast_forward(200_001), theirs.fast_forward(200_001)
    np.testing.assert_array_equal(ours.draw(3).numpy(), theirs.draw(3).numpy())


def test_wrong_calls():
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=r"dimensionality for SobolEngine is \[1, 21201\]"):
            SobolEngine(dimension)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match=r"then: n=3\+2\*\*2=7"):
        engine.draw_base2(2)
