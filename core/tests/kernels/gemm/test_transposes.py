"""Matrices turned in registers: every edge, with nothing written beyond it."""

from __future__ import annotations

import ctypes
import mmap
import sys

import numpy as np
import pytest

from rushlight.kernels.gemm.transposes import interleave, transpose, transpose_doubles
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine.language.functions import entry, i64
from rushlight.machine.machine_code import engine

pytestmark = pytest.mark.skipif(REFERENCE, reason="the reference does without them")


@entry(None, *(i64,) * 7)
def turn_singles(source, source_stride, target, target_stride, rows, cols, fill):
    """A way in from here."""
    transpose(source, source_stride, target, target_stride, rows, cols, fill)


@entry(None, *(i64,) * 7)
def turn_doubles(source, source_stride, target, target_stride, rows, cols, fill):
    """The same for float64."""
    transpose_doubles(source, source_stride, target, target_stride, rows, cols, fill)


def turned(source, target, rows, cols, fill=0):
    """The first rows and columns of the source, into arrays that strides alone describe."""
    native = turn_singles if source.dtype == np.float32 else turn_doubles
    call = ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * 7)(native.address())
    call(source.ctypes.data, source.strides[0], target.ctypes.data, target.strides[0], rows, cols,
         fill)  # fmt: skip


@pytest.mark.parametrize("rows", [16, 20, 24, 25, 31, 32, 36, 40, 47, 48, 65])
def test_rests_of_large_blocks(rng, dtype, rows):
    for cols in (3, 7, 12, 16, 20, 24, 25, 31, 32, 36, 40, 47, 65):
        source = rng.standard_normal((rows, cols + 5)).astype(dtype)
        target = np.full((cols + 2, rows + 9), np.nan, dtype)
        turned(source, target[1:-1], rows, cols)
        assert np.array_equal(target[1:-1, :rows], source[:, :cols].T)
        assert np.isnan(target[[0, -1]]).all()
        assert np.isnan(target[:, rows:]).all()


@pytest.mark.parametrize("apart", [2048, 4096])
def test_rows_that_share_sets_of_a_cache(rng, apart):
    source = np.full((40, apart // 4), np.nan, np.float32)
    for rows, cols in ((16, 16), (32, 64), (33, 40), (40, 23)):
        source[:rows, :cols] = rng.standard_normal((rows, cols))
        for width in (64, 256, 512):
            target = np.full((cols + 1, width), np.nan, np.float32)
            turned(source, target, rows, cols)
            assert np.array_equal(target[:cols, :rows], source[:rows, :cols].T)
            assert np.isnan(target[cols]).all() and np.isnan(target[:, rows:]).all()


@pytest.mark.parametrize("rows", [3, 7, 9, 17, 28])
def test_rows_written_backwards(rng, dtype, rows):
    for cols in (2, 5, 9, 19, 30):
        source = rng.standard_normal((rows, cols)).astype(dtype)
        target = np.full((cols, rows + 1), np.nan, dtype)
        turned(source, target[::-1], rows, cols)
        assert np.array_equal(target[::-1, :rows], source.T)
        assert np.isnan(target[:, rows:]).all()


@pytest.fixture
def fenced():
    """Two functions: an array at the end, or the start, of memory that no other may be touched
    around."""
    if sys.platform != "linux":
        pytest.skip("asks the system for pages that must not be touched")
    page, middle = mmap.PAGESIZE, 16 * mmap.PAGESIZE
    kept = []

    def pages():
        whole = mmap.mmap(-1, middle + 2 * page)
        memory = np.frombuffer(whole, np.uint8)
        protect = ctypes.CDLL(None).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for place in (0, middle + page):
            assert protect(memory.ctypes.data + place, page, 0) == 0
        kept.append(whole)
        return memory[page:-page]

    first, second = pages(), pages()

    def make(which, shape, dtype, at_end):
        memory, size = (first, second)[which], int(np.prod(shape)) * np.dtype(dtype).itemsize
        part = memory[-size:] if at_end else memory[:size]
        return part.view(dtype).reshape(shape)

    return make


@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_around_is_touched(rng, dtype, fenced, at_end):
    sizes = (*range(1, 10), 12, 15, 16, 17, 20, 24, 25, 33)
    for rows in sizes:
        for cols in sizes:
            for fill in (0, rows + 5):
                source = fenced(0, (rows, cols), dtype, at_end)
                target = fenced(1, (cols, max(rows, fill)), dtype, at_end)
                source[:], target[:] = rng.standard_normal((rows, cols)), np.nan
                turned(source, target, rows, cols, fill)
                assert np.array_equal(target[:, :rows], source.T)
                assert not target[:, rows:].any()


@pytest.mark.parametrize("rows, cols", [(16, 16), (8, 8), (8, 4), (4, 4)])
def test_interleave(rng, dtype, rows, cols):
    """In registers alone, of 128 bits to those of tiles."""
    from llvmlite import ir

    if dtype == np.float64:
        rows, cols = rows // 2, cols // 2
    element = ir.FloatType() if dtype == np.float32 else ir.DoubleType()
    size = np.dtype(dtype).itemsize
    row, column = ir.VectorType(element, cols), ir.VectorType(element, rows)

    name = f"interleave_{rows}_{cols}_{size}"
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [ir.IntType(64)] * 2), name)
    builder = ir.IRBuilder(function.append_basic_block())
    first, to = function.args
    loaded = []
    for i in range(rows):
        place = builder.add(first, ir.IntType(64)(size * cols * i))
        loaded.append(builder.load(builder.inttoptr(place, row.as_pointer()), align=size))
    for j, value in enumerate(interleave(builder, loaded)):
        assert value.type == column
        place = builder.add(to, ir.IntType(64)(size * rows * j))
        builder.store(value, builder.inttoptr(place, column.as_pointer()), align=size)
    builder.ret_void()
    engine().load(engine().compile(module))
    address = engine().engine.get_function_address(name)
    source, target = rng.standard_normal((rows, cols)).astype(dtype), np.zeros((cols, rows), dtype)
    ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * 2)(address)(source.ctypes.data, target.ctypes.data)
    assert np.array_equal(target, source.T)


@pytest.mark.parametrize("fill", [0, 1, 3, 8, 16, 21])
@pytest.mark.parametrize("rows", [*range(1, 10), 15, 16, 17, 33])
def test_edges(rng, dtype, rows, fill):
    for cols in (*range(1, 10), 15, 16, 17, 34):
        source = rng.standard_normal((rows, cols + 3)).astype(dtype)
        written = max(rows, fill)
        target = np.full((cols + 2, written + 20), np.nan, dtype)
        turned(source, target[1:], rows, cols, fill)
        assert np.array_equal(target[1:-1, :rows], source[:, :cols].T)
        assert not target[1:-1, rows:written].any()
        assert np.isnan(target[[0, -1]]).all()
        assert np.isnan(target[:, written:]).all()
