"""New arrays: aligned from a size on, exactly as large as asked for."""

import sys

import numpy as np
import pytest

from rushlight.machine import memory

FLOAT32 = np.dtype(np.float32)


def owner(array):
    """The array that the others are views of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


@pytest.mark.parametrize("make", [memory.empty, memory.zeros])
@pytest.mark.parametrize("shape", [(), 0, (0, 5), (3, 4), 8192, (64, 128), (3, 5, 7001)])
def test_shape_alignment_and_owner(make, shape):
    for _ in range(5):
        array = make(shape, FLOAT32)
        assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert array.dtype == FLOAT32 and array.flags.writeable and array.flags.c_contiguous
        if array.nbytes >= memory.ALIGNED_FROM:
            assert array.ctypes.data % 64 == 0
            assert owner(array).nbytes == array.nbytes
        if make is memory.zeros:
            assert not array.any()
        array[...] = 1


@pytest.fixture
def room():
    """The compiled function behind `empty`."""
    from rushlight.machine.native_functions import doors, is_available

    if not is_available():
        pytest.skip("no machine code here")
    return doors().room


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex128"])
def test_compiled_arrays_are_numpys(room, dtype):
    dtype = np.dtype(dtype)
    for shape in ((), (1,), (7,), (2, 3), (1, 1, 5, 7, 9, 2), (64, 128), (3, 5, 7001), (1,) * 8):
        made, expected = room(shape, dtype, dtype.itemsize), np.empty(shape, dtype)
        assert made.shape == shape and made.strides == expected.strides
        assert made.dtype is dtype and made.flags.writeable and made.flags.aligned
        assert made.flags.f_contiguous == expected.flags.f_contiguous
        made[...] = 1
        assert made.sum() == made.size


def test_compiled_arrays_refuse_what_they_do_not_know(room):
    for shape in (3, [3], (0, 3), (-1,), (1 << 40,), (1 << 30, 1 << 30), (1,) * 9):
        assert room(shape, FLOAT32, 4) is NotImplemented
    assert room((3,), FLOAT32) is NotImplemented
    with pytest.raises(TypeError):
        room((2, "x"), FLOAT32, 4)
    with pytest.raises(ValueError, match="negative dimensions"):
        memory.empty((-1,), FLOAT32)


def test_compiled_arrays_hold_no_references(room):
    shape, dtype = (300, 40), np.dtype([("x", np.float32)])  # a dtype nobody else holds
    before = sys.getrefcount(shape), sys.getrefcount(dtype)
    for _ in range(100):
        room(shape, dtype, 4)
        room((2,), dtype, 4)
        room((0,), dtype, 4)
    assert (sys.getrefcount(shape), sys.getrefcount(dtype)) == before
    base = room(shape, dtype, 4).base
    assert type(base) is bytearray and sys.getrefcount(base) == 2


def test_the_address_read_from_the_object_is_the_address():
    for count in (1, 100, 100_000):
        array = np.empty(count, np.uint8)
        assert memory.address(array) == array.ctypes.data
        assert memory._address_by_name(array) == array.ctypes.data
