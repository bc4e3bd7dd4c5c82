"""One call here and in PyTorch, compared: for functions that the op table does not sample.

A test that calls :func:`agree` is skipped where PyTorch, the oracle, is not installed.
"""

from __future__ import annotations

import warnings

import pytest

import rushlight
from rushlight.machine import np
from rushlight.testing.oracle import assert_same, to_torch


def _find(home, path):
    for part in path.split("."):
        home = getattr(home, part)
    return home


def agree(path, *args, rtol=1e-9, **kwargs):
    """Check that ``rushlight.<path>`` and ``torch.<path>`` give the same; return our result."""
    torch = pytest.importorskip("torch")
    ours = _find(rushlight, path)(*args, **kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its advice to use newer names
        theirs = _find(torch, path)(*to_torch(args, torch), **to_torch(kwargs, torch))
    assert_same(ours, theirs, rtol, rtol)
    return ours


def random(*shape, dtype="float64", seed=0):
    """A tensor of normal numbers of a real or complex dtype, named; the same for the same seed."""
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * generator.standard_normal(shape)
    return rushlight.tensor(np.asarray(values, dtype))


def definite(*shape, dtype="float64", seed=0):
    """Hermitian positive-definite matrices ``(*, n, n)``."""
    matrix = random(*shape, dtype=dtype, seed=seed)
    return matrix @ matrix.mH + rushlight.eye(shape[-1], dtype=matrix.dtype)
