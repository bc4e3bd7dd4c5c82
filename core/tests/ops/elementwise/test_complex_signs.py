"""Signs of complex numbers that are not ordinary ones, as PyTorch has them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import rushlight

PARTS = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 1e-30, 1e30]


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_signs_are_pytorchs(kind):
    torch = pytest.importorskip("torch")
    values = [complex(a, b) for a, b in itertools.product(PARTS, PARTS)]
    ours, theirs = (
        np.array(library.sgn(library.tensor(values, dtype=getattr(library, kind))).tolist())
        for library in (rushlight, torch)
    )
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(ours, part), getattr(theirs, part), rtol=1e-6)


def test_signs_of_few():
    assert rushlight.sgn(rushlight.tensor(3 + 4j)).item() == pytest.approx(0.6 + 0.8j)
    assert rushlight.sgn(rushlight.tensor(0j)).item() == 0
    assert rushlight.sgn(rushlight.zeros(0, dtype=rushlight.complex64)).shape == (0,)
