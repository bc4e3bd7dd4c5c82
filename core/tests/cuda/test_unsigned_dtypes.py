"""uint16, uint32 and uint64 on CUDA devices: made, moved, converted, and what else the CPU has."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight import dtypes

UNSIGNED = ("uint16", "uint32", "uint64")


def _pair(name):
    """The same numbers on the CPU and on the device."""
    top = int(np.iinfo(name).max)
    numbers = [[0, 1, 2, 40000], [5, top - 1, 1, top]]
    here = rushlight.tensor(numbers, dtype=getattr(rushlight, name))
    return here, here.to("cuda")


def _bits(tensor):
    return tensor.cpu().contiguous().view(rushlight.uint8).tolist()


@pytest.mark.parametrize("name", UNSIGNED)
def test_moved_and_made(name):
    here, there = _pair(name)
    assert there.dtype is here.dtype
    assert there.cpu().tolist() == there.tolist() == here.tolist()
    assert there.T.contiguous().tolist() == here.T.tolist()
    top = int(np.iinfo(name).max)
    made = rushlight.full((3,), top, dtype=here.dtype, device="cuda")
    assert made.tolist() == [top] * 3
    assert made.fill_(7).tolist() == [7] * 3
    assert rushlight.ones(2, dtype=here.dtype, device="cuda").tolist() == [1, 1]


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("other", [d.name for d in dtypes.ALL])
def test_conversions_are_those_of_the_cpu(name, other):
    here, there = _pair(name)
    target = getattr(rushlight, other)
    assert _bits(there.to(target)) == _bits(here.to(target))
    source = rushlight.tensor([0, 1, 3, 100]).to(target)
    assert source.to("cuda").to(here.dtype).tolist() == source.to(here.dtype).tolist()
    if target in (rushlight.float32, rushlight.float64):
        high = [1e19] if name == "uint64" else []
        source = rushlight.tensor([1.5, -1.0, -2.7, 60000.0, *high], dtype=target)
        assert source.to("cuda").to(here.dtype).tolist() == source.to(here.dtype).tolist()


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x * x, lambda x: x * 3, lambda x: x * 1.5, lambda x: x == x.max_number,
        lambda x: x & 5, lambda x: x ^ x, lambda x: x[0], lambda x: x[:, 1:],
        lambda x: rushlight.cat([x, x]), lambda x: rushlight.where(x == 1, x, 7),
        lambda x: x.sum(), lambda x: x.prod(1), lambda x: x.any(), lambda x: x.repeat(2, 1),
        lambda x: x.sort(1)[0], lambda x: x.flatten().unique(), lambda x: x.mul_(3),
        lambda x: x.argsort(1, descending=True), lambda x: x.sqrt(), lambda x: x.signbit(),
    ],
)  # fmt: skip
def test_calls(name, call):
    here, there = _pair(name)
    here.max_number = there.max_number = int(np.iinfo(name).max)
    expected, found = call(here), call(there)
    assert found.dtype is expected.dtype
    assert found.is_cuda
    if expected.is_floating_point():
        rushlight.testing.assert_close(found.cpu(), expected)
    else:
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", UNSIGNED)
def test_what_the_cpu_refuses_is_refused(name):
    _, there = _pair(name)
    for call in (lambda x: x + 1, lambda x: x > 1, lambda x: x.max(), lambda x: x.tril()):
        with pytest.raises(NotImplementedError, match=f"not implemented for dtype .*{name}"):
            call(there)
