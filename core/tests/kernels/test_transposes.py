"""Matrices turned in registers: every edge, with nothing written beyond it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from rushlight.backends.kernel_language import entry, i64
from rushlight.backends.transposes import transpose, transpose_doubles
from rushlight.kernels.execution import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="the reference does without them")


@entry(None, *(i64,) * 7)
def turn_singles(source, source_stride, target, target_stride, rows, cols, fill):
    """A way in from here."""
    transpose(source, source_stride, target, target_stride, rows, cols, fill)


@entry(None, *(i64,) * 7)
def turn_doubles(source, source_stride, target, target_stride, rows, cols, fill):
    """The same for float64."""
    transpose_doubles(source, source_stride, target, target_stride, rows, cols, fill)


@pytest.mark.parametrize("fill", [0, 1, 3, 8, 16, 21])
@pytest.mark.parametrize("rows", [*range(1, 10), 15, 16, 17, 33])
def test_edges(rng, dtype, rows, fill):
    native = turn_singles if dtype == np.float32 else turn_doubles
    call = ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * 7)(native.address())
    for cols in (*range(1, 10), 15, 16, 17, 34):
        source = rng.standard_normal((rows, cols + 3)).astype(dtype)
        written = max(rows, fill)
        target = np.full((cols + 2, written + 20), np.nan, dtype)
        call(source.ctypes.data, source.strides[0], target[1:].ctypes.data, target.strides[0],
             rows, cols, fill)  # fmt: skip
        assert np.array_equal(target[1:-1, :rows], source[:, :cols].T)
        assert not target[1:-1, rows:written].any()
        assert np.isnan(target[[0, -1]]).all()
        assert np.isnan(target[:, written:]).all()
