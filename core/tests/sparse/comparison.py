"""Runs a function of the library with Rushlight and with PyTorch and compares what comes back."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


INDICES = {
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
    "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_bsc": ("ccol_indices", "row_indices"),
}


def plain(value):
    """A result as nested tuples of layouts and NumPy arrays, comparable between libraries."""
    if value is None or isinstance(value, bool | int | str | float):
        return value
    if isinstance(value, tuple | list):
        return tuple(plain(v) for v in value)
    layout = str(value.layout).rpartition(".")[2]
    value = value.detach()
    if layout == "sparse_coo":
        coalesced = value.is_coalesced()
        parts = (value._indices(), value._values())
    elif layout in INDICES:
        coalesced, parts = True, [getattr(value, n)() for n in (*INDICES[layout], "values")]
    else:
        return ("strided", tuple(value.shape), value.resolve_conj().numpy())
    return (layout, tuple(value.shape), coalesced, *[p.resolve_conj().numpy() for p in parts])


def assert_same(found, expected):
    """Equal structure; arrays of equal dtype and close values."""
    if isinstance(expected, tuple):
        assert isinstance(found, tuple) and len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert_same(ours, theirs)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    else:
        assert found == expected


def compare(function):
    """Call ``function(library)`` with both libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = plain(function(torch))
    assert_same(plain(function(rushlight)), expected)
