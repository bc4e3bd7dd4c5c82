"""Elements written to arrays of any strides: against NumPy, nothing beside them is touched."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import rushlight
from rushlight.kernels.copying import assignment, blocks
from rushlight.machine import threads
from rushlight.machine.arrays import bfloat16

pytestmark = pytest.mark.compiled("the reference leaves all to NumPy")

KINDS = ("f4", "f8", "i8", "i4", "u1", "?", "f2", bfloat16, "c8", "c16", "i2")
SHAPES = [(190, 700), (60, 50, 41), (19, 20, 17, 23), (130_000,), (900, 2, 73), (2, 3, 4, 5, 900)]
PARTS = [slice(None), slice(1, None), slice(None, None, 2), slice(None, None, -1),
         slice(1, None, 3)]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def compiled():
    threads.pool()


def numbers(draw, shape, dtype):
    values = draw.standard_normal(shape) * 50
    if dtype == np.bool_:
        return values > 0
    if dtype.kind == "c":
        values = values + 1j * draw.standard_normal(shape)
    return np.abs(values).astype(dtype) if dtype.kind == "u" else values.astype(dtype)


def pieces(draw, choice, source, target):
    """An array that lies in some way, and a larger one with a part of its shape to write to."""
    array = numbers(draw, choice.choice(SHAPES), source)
    array = array[tuple(choice.choice(PARTS) for _ in array.shape)]
    array = array.transpose(choice.sample(range(array.ndim), array.ndim))
    if choice.random() < 0.2:
        d = choice.randrange(array.ndim)
        array = np.broadcast_to(array[(slice(None),) * d + (slice(1),)], array.shape)
    order = choice.sample(range(array.ndim), array.ndim)
    steps = [choice.choice([1, 1, 1, 2]) for _ in order]
    part = tuple(slice(1, 1 + n * array.shape[d], n) for n, d in zip(steps, order, strict=True))
    room = numbers(draw, [p.stop + 1 for p in part], target)
    return array, room, part, np.argsort(order)


def same(first, second):
    if first.dtype.kind in "iub":
        return np.array_equal(first, second)
    wide = np.complex128 if first.dtype.kind == "c" else np.float64
    return np.array_equal(first.astype(wide), second.astype(wide), equal_nan=True)


@pytest.mark.parametrize("target", KINDS, ids=str)
def test_any_strides(target):
    target, draw, choice = np.dtype(target), np.random.default_rng(0), random.Random(str(target))
    written = 0
    for source in [*map(np.dtype, KINDS), *[target] * 8]:
        for _ in range(8):
            if source.kind == "c" and target.kind != "c":
                continue
            if target == np.uint8 and source.kind != "b":  # of negative numbers nothing is promised
                source = target
            array, room, part, turn = pieces(draw, choice, source, target)
            before, wanted = room.copy(), room.copy()
            with np.errstate(all="ignore"):
                wanted[part].transpose(turn)[...] = array
            if assignment.written(room[part].transpose(turn), array):
                assert same(room, wanted)
                written += 1
            else:
                assert room.tobytes() == before.tobytes()
    assert written > 20


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_to_half_width(dtype):
    bits = np.arange(0, 1 << 32, 4099, np.uint32)
    values = bits.view(np.float32)[: (len(bits) // 4) * 4].reshape(-1, 4)
    kind = np.dtype(np.float16 if dtype == "float16" else bfloat16)
    found, wide = np.zeros((len(values), 6), kind), np.zeros((len(values), 6), np.float32)
    assert assignment.written(found[:, 1:5], values)
    with np.errstate(all="ignore"):
        assert same(found[:, 1:5], values.astype(kind))
    assert assignment.written(wide[:, :4], found[:, 1:5])
    assert same(wide[:, :4], found[:, 1:5].astype(np.float32))
    assert not found[:, 0].any() and not found[:, 5].any() and not wide[:, 4:].any()


@pytest.mark.parametrize(("source", "target"), [("f4", "u1"), ("f8", "u1"), ("i8", "i4")])
def test_narrow_integers_wrap(source, target):
    values = np.tile(np.array([-1, -129, 255, 256, 300, 1 << 20], source), 20_000)
    found = np.zeros(2 * len(values), target)
    assert assignment.written(found[::2], values)
    np.testing.assert_array_equal(found[::2], values.astype(np.int64).astype(target))


def test_zero_nan_and_infinity_as_bools():
    values = np.tile(np.array([0, -0.0, np.nan, np.inf, 1e-45, -3], np.float32), 10_000)
    found = np.zeros((2, len(values)), bool).T[:, :1]
    assert assignment.written(found, values[:, None])
    np.testing.assert_array_equal(found[:6, 0], [False, False, True, True, True, True])


def test_numbers():
    room = np.zeros((300, 401))
    assert assignment.written(room[:, 1:], 2.5) and assignment.written(room[:, 1:-1], -0.0)
    assert (room[:, -1] == 2.5).all() and np.signbit(room[:, 1:-1]).all() and not room[:, 0].any()
    with pytest.raises(OverflowError):
        assignment.written(np.zeros((99, 999), np.int32)[:, 1:], 1 << 40)


def test_left_to_numpy():
    room = np.zeros((400, 400), np.float32)
    assert not assignment.written(room[:10, ::2], room[10:20, ::2])  # little
    assert not assignment.written(room[:, 1:], room[:, :-1])  # over one another
    assert not assignment.written(np.broadcast_to(room[:1], (400, 400)), room)
    held = np.lib.stride_tricks.as_strided(room, (300, 300), (4, 4))
    assert not assignment.written(held, room[:300, :300])
    assert not assignment.written(np.zeros((400, 400), np.int16)[:, ::2], room[:, ::2])
    assert assignment.written(room[:, :200], room[:, 200:])  # beside one another
    skewed = np.zeros(room.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(400, 400)
    assert not assignment.written(skewed, room)
    with pytest.raises(ValueError, match="broadcast"):
        assignment.written(room, np.zeros(399, np.float32))
    many = np.zeros((9, 8, 9, 8, 9, 8), np.float32)[::2, ::3, ::2, ::3, ::2]
    assert not assignment.written(np.zeros((*many.shape, 40), np.float32)[..., ::2],
                                  many[..., None])  # fmt: skip


@pytest.mark.parametrize("threads_", [1, 2, 5])
def test_any_number_of_threads(threads_):
    before = rushlight.get_num_threads()
    try:
        rushlight.set_num_threads(threads_)
        values = np.random.default_rng(0).standard_normal((700, 333))
        for dtype, step in itertools.product(("f4", "f8"), (1, 2)):
            room = np.zeros((700, 333 * step + 1), dtype)
            assert assignment.written(room[:, : 333 * step : step], values)
            np.testing.assert_array_equal(room[:, : 333 * step : step], values.astype(dtype))
            assert not room[:, 333 * step :].any()
    finally:
        rushlight.set_num_threads(before)


def test_tensors():
    """What reaches it: copies, fills, conversions and assignments of parts of tensors."""
    x, y = rushlight.randn(300, 400), rushlight.randn(300, 200)
    kept = x[:, 300:].clone()
    x[:, :200].copy_(y)
    x[:, 200:300] = y[:, :100]
    assert x[:, :200].equal(y) and x[:, 200:300].equal(y[:, :100]) and x[:, 300:].equal(kept)
    x[:, :200].copy_(x[:, 100:300])  # over one another: as if copied first
    assert x[:, 100:200].equal(y[:, :100]) and x[:, :100].equal(y[:, 100:])
    x[:, 1:].fill_(3.0)
    x[:, ::2].zero_()
    assert x[:, 1::2].eq(3).all() and not x[:, ::2].any()
    x[::3] = 7
    assert x[::3].eq(7).all() and x.nbytes > blocks.LEAST
    for dtype in (rushlight.float16, rushlight.bfloat16, rushlight.float64, rushlight.int32):
        part = y[:, :150]
        assert part.to(dtype).equal(part.contiguous().to(dtype))
        assert y.t().to(dtype).stride() == y.t().stride()
        target = rushlight.zeros(300, 151, dtype=dtype)
        target[:, 1:].copy_(part)
        assert target[:, 1:].equal(part.contiguous().to(dtype)) and not target[:, 0].any()
    version = x._version
    x[:, :399] = 1.0
    assert x._version == version + 1
