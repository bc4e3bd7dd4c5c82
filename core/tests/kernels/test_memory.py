"""New arrays: aligned from a size on, exactly as large as asked for."""

import numpy as np
import pytest

from rushlight.backends import memory

FLOAT32 = np.dtype(np.float32)


@pytest.mark.parametrize("make", [memory.empty, memory.zeros])
@pytest.mark.parametrize("shape", [(), 0, (0, 5), (3, 4), 8192, (64, 128), (3, 5, 7001)])
def test_shape_alignment_and_owner(make, shape):
    for _ in range(5):
        array = make(shape, FLOAT32)
        assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert array.dtype == FLOAT32 and array.flags.writeable and array.flags.c_contiguous
        if array.nbytes >= memory.ALIGNED_FROM:
            assert array.ctypes.data % 64 == 0
            assert array.base.nbytes == array.nbytes
        if make is memory.zeros:
            assert not array.any()
        array[...] = 1


def test_the_address_read_from_the_object_is_the_address():
    for count in (1, 100, 100_000):
        array = np.empty(count, np.uint8)
        assert memory.address(array) == array.ctypes.data
        assert memory._address_by_name(array) == array.ctypes.data
