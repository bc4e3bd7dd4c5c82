"""Elementwise calls of tensors and numbers by machine code: their results, and what is refused."""

from __future__ import annotations

import gc
import sys

import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import native_functions as llvm_door

pytestmark = pytest.mark.skipif(
    REFERENCE or not llvm_door.is_available(), reason="there is no machine code around kernels"
)
CALLS = {
    "clamp": lambda x, y, m: x.clamp(-0.5, 0.25),
    "clamp by whole numbers": lambda x, y, m: x.clamp(0, 1),
    "clamp from below": lambda x, y, m: x.clamp(min=0.1),
    "clamp_max": lambda x, y, m: x.clamp_max(0.5),
    "clamp by nothing and a tensor": lambda x, y, m: x.clamp(None, y),
    "where": lambda x, y, m: rushlight.where(m, x, y),
    "where with a number": lambda x, y, m: rushlight.where(m, x, 0.5),
    "masked_fill": lambda x, y, m: x.masked_fill(m, 3.0),
    "lerp": lambda x, y, m: rushlight.lerp(x, y, 0.3),
    "addcmul": lambda x, y, m: rushlight.addcmul(x, x, y, value=2),
    "power": lambda x, y, m: x.abs() ** 1.5,
    "add with a factor": lambda x, y, m: x.add(y, alpha=0.5),
}
DTYPES = [rushlight.float32, rushlight.float64, rushlight.float16, rushlight.int64]


def operands(dtype, shape=(3, 4)):
    rushlight.manual_seed(0)
    x, y = ((rushlight.rand(shape) * 8 - 4).to(dtype) for _ in range(2))
    return x, y, rushlight.rand(shape) > 0.5


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_the_first_call(name):
    """Of every dtype in turn, and of layouts that kernels take another way."""
    for dtype in DTYPES * 2:
        if dtype is rushlight.int64 and name in ("lerp", "power", "add with a factor"):
            continue
        x, y, m = operands(dtype)
        first = CALLS[name](x, y, m)
        for a, b, c in ((x, y, m), (x.t().clone().t(), y, m), (x, y, m)):
            for _ in range(3):
                got = CALLS[name](a, b, c)
                assert got.dtype is first.dtype and got.tolist() == first.tolist()
        one = CALLS[name](x[0, 0], y[0, 0], m[0, 0])
        assert one.dtype is first.dtype and one.item() == first[0, 0].item()


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_recorded(name):
    x, y, m = operands(rushlight.float64)
    for _ in range(3):
        plain = CALLS[name](x, y, m)
    for one in (True, False):
        a, b = x.clone().requires_grad_(one), y.clone().requires_grad_(not one)
        out = CALLS[name](a, b, m)
        assert out.tolist() == plain.tolist()
        if out.requires_grad:
            assert rushlight.autograd.gradcheck(lambda a, b: CALLS[name](a, b, m), (a, b))
        else:
            assert not one
    with rushlight.inference_mode():
        assert CALLS[name](*operands(rushlight.float64)).is_inference()


def test_numbers_are_those_of_the_call():
    x = rushlight.arange(6.0)
    for low in (0, 1, 2, 0.5, 1.5, -7, 1 << 40):
        for _ in range(3):
            assert x.clamp(low).tolist() == [max(v, low) for v in range(6)]
    for value in (True, 2, 2.0, 0.0):
        for _ in range(2):
            got = rushlight.where(x > 2, x, value).tolist()
            assert got == [v if v > 2 else float(value) for v in range(6)]
    assert x.clamp(rushlight.tensor(1.0)).tolist() == [1.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(TypeError):
        x.clamp("a")
    with pytest.raises(RuntimeError, match="At least one"):
        x.clamp()


def test_nothing_is_kept():
    x, y, m = operands(rushlight.float32)
    high = 0.7251
    for _ in range(3):
        x.clamp(-0.5, high), rushlight.where(m, x, y)
    objects = (x, x._array, x._array.dtype, y, m, high, x._dtype, None)
    gc.collect()
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        x.clamp(-0.5, high), rushlight.where(m, x, y), x.t().clamp(-0.5, high)
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(a - b) < 20 for a, b in zip(after, before, strict=True))
