"""NCCL's calls of one rank: what a communicator of several consists of, here also on a device."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest

import rushlight
from rushlight.distributed.nccl_communicator import NCCLCommunicator
from rushlight.distributed.stores import HashStore
from rushlight.machine.cuda import runtime


@pytest.fixture
def alone():
    """A communicator of one rank, which goes by NCCL all the same."""
    try:
        runtime.current().nccl()
    except ImportError as error:
        pytest.skip(str(error))
    group = SimpleNamespace(
        rank=lambda: 0, size=lambda: 1, store=HashStore(), ranks=[0], world_rank=0, key="0",
        timeout=timedelta(seconds=30),
    )  # fmt: skip
    made = NCCLCommunicator(group, 0, "nccl")
    yield made
    made.free()


def arrays(count=1, size=1000, dtype="float32"):
    """Arrays on the device, and their elements."""
    kind = getattr(rushlight, dtype)
    tensors = [rushlight.arange(size).add(i).to(kind).cuda() for i in range(count)]
    return [t._array for t in tensors], [t.cpu() for t in tensors]


DTYPES = "int8 uint8 int32 int64 uint32 uint64 float16 bfloat16 float32 float64".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", ["SUM", "PROD", "MIN", "MAX"])
def test_reductions_of_one_rank_change_nothing(alone, dtype, operation):
    (array,), (kept,) = arrays(size=100, dtype=dtype)
    for root in (None, 0):
        assert alone.follow_on(alone.reduce(array, operation, root))
    np.testing.assert_array_equal(array.get(), kept._array)


def test_what_moves_arrays(alone):
    (a, b, c), (x, _, _) = arrays(3)
    alone.follow_on(alone.broadcast(a, 0))
    alone.follow_on(alone.all_gather([b], a))
    alone.follow_on(alone.reduce_scatter(c, [a], "SUM"))
    for found in (a, b, c):
        np.testing.assert_array_equal(found.get(), x._array)


def test_operations_come_after_earlier_and_before_later_work(alone):
    x = rushlight.zeros(1 << 20, device="cuda")
    for _ in range(20):
        x += 1
        requests = alone.reduce(x._array, "SUM")
        alone.follow_on(requests)
        x *= 2
        assert requests[0].followed
    expected = 0
    for _ in range(20):
        expected = (expected + 1) * 2
    assert x[0].item() == x[-1].item() == expected
    assert alone.test(requests) and alone.error() is None


def test_memory_is_not_reused_before_it_is_sent(alone):
    for step in range(50):
        x = rushlight.full((1 << 18,), float(step), device="cuda")
        requests = alone.broadcast(x._array, 0)
        kept = x
        del x
        y = rushlight.full((1 << 18,), -1.0, device="cuda")
        alone.follow_on(requests)
        assert kept[0].item() == step and y[0].item() == -1.0


def test_the_version_and_names_of_communicators(alone):
    major, minor, _ = alone.library.version()
    assert (major, minor) >= (2, 10)
    first, second = alone.library.unique_id(), alone.library.unique_id()
    assert len(first) == len(second) == 128 and first != second
