"""Nested tensors of both libraries, made and compared."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def numbers(L, *size):
    return (L.arange(float(np.prod(size))).reshape(size) * 0.37).sin()


def sequences(L, layout, grad=False):
    made = [numbers(L, n, 4) + n for n in (2, 3, 1)]
    return L.nested.nested_tensor(made, layout=getattr(L, layout), requires_grad=grad)


def plain(value):
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if not hasattr(value, "is_nested"):
        return value
    if value.is_nested:
        return [str(value.layout).rpartition(".")[2], *map(plain, value.unbind())]
    return value.detach().numpy()


def assert_same(found, expected):
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert_same(ours, theirs)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    else:
        assert found == expected


def compare(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(plain(function(rushlight)), plain(function(torch)))
