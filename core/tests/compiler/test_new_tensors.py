"""New tensors made whole by machine code: against NumPy, what it leaves to Python, and counts."""

from __future__ import annotations

import gc
import random
import sys
import warnings

import numpy as np
import pytest

import rushlight
from rushlight.dtypes import ALL
from rushlight.machine import memory
from rushlight.machine import native_functions as llvm_door
from rushlight.machine.arrays import BY_CODE
from rushlight.tensor import construction
from rushlight.tensor.tensor import Tensor

pytestmark = pytest.mark.skipif(
    not llvm_door.is_available(), reason="this interpreter has other object headers"
)
FLOAT = np.dtype(np.float32)


@pytest.fixture(autouse=True, scope="module")
def compiled():
    rushlight.ones(2) + rushlight.ones(2)  # machine code is in use from here on
    assert type(construction.fresh) is type(len)


def check(tensor, want, dtype):
    """A tensor of memory of its own, like an array that NumPy made."""
    array = tensor._array
    assert type(tensor) is Tensor and type(array) is np.ndarray and gc.is_tracked(tensor)
    assert tensor._dtype is dtype and tensor._node is None and tensor._storage is None
    assert array.dtype is BY_CODE[dtype.code] and array.flags == want.flags
    assert array.shape == want.shape and array.strides == want.strides
    assert array.tobytes() == want.tobytes()


def shapes():
    draw = random.Random(4)
    yield from ((), (0,), (3, 0, 2), (1, 1), (1,) * 16)
    for _ in range(60):
        yield tuple(draw.randrange(1, 6) for _ in range(draw.randrange(6)))


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_memory_of_one_number(dtype):
    kind = BY_CODE[dtype.code]
    unit = np.ones(3, kind)
    for shape in shapes():
        check(construction.fresh(shape, kind, dtype, False), np.zeros(shape, kind), dtype)
        check(construction.fresh(shape, kind, dtype, unit), np.ones(shape, kind), dtype)
        made = construction.fresh(shape, kind, dtype, None)
        assert made.shape == shape and made._array.flags.owndata
        for every in (1, 2, 3, 100):
            want = np.zeros(shape, kind)
            want.reshape(-1)[::every] = unit[0]
            check(construction.fresh(shape, kind, dtype, unit, every), want, dtype)
        source = construction.made(np.zeros(shape, kind), dtype)
        if not source._array.size:
            assert construction.alike(source, False) is NotImplemented
            continue
        check(construction.alike(source, False), np.zeros(shape, kind), dtype)
        check(construction.alike(source, unit), np.ones(shape, kind), dtype)
        check(construction.alike(rushlight.nn.Parameter(source, False), unit), np.ones(shape, kind),
              dtype)  # fmt: skip


def test_large_memory_is_left_to_others():
    most = memory.ALIGNED_FROM // 4
    assert construction.fresh((most - 1,), FLOAT, rushlight.float32, False).numel() == most - 1
    for shape in ((most,), (2, most // 2), (1 << 40, 0), (1 << 62, 4), (3, 1 << 63)):
        assert construction.fresh(shape, FLOAT, rushlight.float32, False) is NotImplemented
    assert construction.alike(rushlight.zeros(most), False) is NotImplemented
    for shape in ((-1,), (True,), (2.0,), [2], 2, ("a",), (1,) * 17, None):
        assert construction.fresh(shape, FLOAT, rushlight.float32, False) is NotImplemented
    assert construction.fresh((2,), FLOAT, rushlight.float32, 0) is NotImplemented
    assert construction.fresh((2,), FLOAT, rushlight.float32, [1], 2) is NotImplemented
    assert construction.fresh((2,), FLOAT, rushlight.float32, None, -1) is NotImplemented


def test_large_memory_that_nobody_fills_starts_on_a_cache_line():
    least = memory.ALIGNED_FROM // 4
    for shape in ((least,), (3, least), (1, least + 1, 2, 1), (1 << 22,)):
        made = construction.fresh(shape, FLOAT, rushlight.float32, None)
        alike = construction.alike(made, None)
        for array in (made._array, alike._array):
            want = np.empty(shape, np.float32)
            assert array.shape == shape and array.strides == want.strides
            assert array.flags.c_contiguous and array.flags.writeable and array.flags.aligned
            assert array.dtype is FLOAT and array.ctypes.data % 64 == 0
        alike._array[...], made._array[...] = 1, 2  # they do not share memory
        assert (alike._array == 1).all()
    assert construction.fresh((1 << 29,), FLOAT, rushlight.float32, None) is NotImplemented
    for marked in ("fresh", "alike"):
        arguments = (made,) if marked == "alike" else (made.shape, FLOAT, rushlight.float32)
        assert getattr(construction, marked)(*arguments, ...) is NotImplemented
    assert (rushlight.full((3, least), 2.5) == 2.5).all()
    assert (rushlight.full_like(rushlight.empty(3, least), 2.5) == 2.5).all()


def test_other_layouts_are_left_to_others():
    x = rushlight.ones(4, 6)
    odd = construction.made(np.lib.stride_tricks.as_strided(x._array, (1, 6), (4, 4)), x.dtype)
    meta = rushlight.ones(2, device="meta")
    for source in (x.t(), x[:, ::2], x[:, :1], odd, x._array, None, meta):
        assert construction.alike(source, False) is NotImplemented
    assert rushlight.zeros_like(x.t()).stride() == (1, 6)
    assert rushlight.empty_like(x[:, :1]).stride() == (1, 1)
    with rushlight.inference_mode():
        for made in (rushlight.zeros_like(x), rushlight.eye(3), rushlight.from_numpy(x._array)):
            assert made.is_inference()


def test_arrays_are_shared():
    draw = random.Random(9)
    for _ in range(300):
        base = np.arange(240).astype(draw.choice(["f4", "i8", "u1", "c8", "?"]))
        base = base.reshape(4, 3, 4, 5)
        steps = [slice(draw.randrange(2), None, draw.choice([1, 2])) for _ in base.shape]
        array = base[tuple(steps[: draw.randrange(5)])]
        array = array.transpose(draw.sample(range(array.ndim), array.ndim))
        made = construction.shared(array)._array
        assert made is not array and type(made) is np.ndarray and made.dtype is array.dtype
        assert made.ctypes.data == array.ctypes.data and made.strides == array.strides
        assert made.shape == array.shape and made.base is base.base
        for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED", "OWNDATA"):
            assert made.flags[flag] == array.view().flags[flag]
    array = np.arange(6.0)
    shared = rushlight.from_numpy(array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy from 2.5 on
        array.shape, array[0] = (2, 3), 7
    assert shared.tolist() == [7, 7, 7, 3, 4, 5]
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    assert not rushlight.from_numpy(fixed)._array.flags.writeable
    skewed = np.zeros(9, np.uint8)[1:].view(np.float64)
    assert not rushlight.from_numpy(skewed)._array.flags.aligned


def test_what_is_not_shared():
    class Own(np.ndarray):
        pass

    for array in (np.zeros(3)[::-1], np.zeros(2, ">f4"), np.zeros(2, "U3"), np.zeros(2, object),
                  np.zeros(2).view(Own), [1.0], None):  # fmt: skip
        assert construction.shared(array) is NotImplemented
    assert type(rushlight.from_numpy(np.ones(2).view(Own))._array) is np.ndarray
    with pytest.raises(ValueError, match="negative"):
        rushlight.from_numpy(np.zeros((2, 3))[:, ::-1])
    with pytest.raises(TypeError, match="can't convert"):
        rushlight.from_numpy(np.zeros(2, ">f4"))


def test_identities():
    for dtype in (rushlight.float32, rushlight.int64, rushlight.bool, rushlight.complex128):
        for n in (0, 1, 2, 7, 90, 120, 300):
            for m in (None, 0, 1, n, n + 1, 2 * n + 3):
                want = np.eye(n, m, dtype=BY_CODE[dtype.code])
                np.testing.assert_array_equal(rushlight.eye(n, m, dtype=dtype).numpy(), want)
    assert rushlight.eye(3).is_contiguous() and rushlight.eye(120).is_contiguous()


def test_nothing_is_kept():
    x, unit, array = rushlight.ones(2, 3), np.ones(1, np.float32), np.ones((2, 3))
    foreign, sizes = np.zeros(2, "U3"), (2, 1000)
    objects = (x, unit, array, foreign, sizes, x._dtype, FLOAT, rushlight.float64, array.dtype)
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        construction.fresh(sizes, FLOAT, rushlight.float32, None)
        construction.fresh(sizes, FLOAT, rushlight.float32, unit)
        construction.fresh((20, 1000), FLOAT, rushlight.float32, None)
        construction.fresh(sizes, FLOAT, rushlight.float32, ...)
        construction.alike(x, False)
        construction.alike(x, unit)
        construction.fresh(sizes, FLOAT, rushlight.float32, unit, 7)
        construction.fresh((1 << 70,), FLOAT, rushlight.float32, unit)
        construction.alike(array, unit)
        construction.alike(x, array[0])
        construction.shared(array)
        construction.shared(array[::-1])
        construction.shared(foreign)
    assert [sys.getrefcount(o) for o in objects] == before
