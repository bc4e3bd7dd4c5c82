"""Allocations that no machine has room for: PyTorch's error, with the bytes asked for."""

import re

import pytest

import rushlight

torch = pytest.importorskip("torch")
HUGE = 10**15  # elements; their bytes are more than a process can address
SIDE = 10**8

CALLS = {
    "empty": "t.empty(HUGE)",
    "zeros": "t.zeros(HUGE, dtype=t.float64)",
    "ones": "t.ones(HUGE)",
    "full": "t.full((HUGE,), 2.5)",
    "rand": "t.rand(HUGE)",
    "arange": "t.arange(HUGE)",
    "linspace": "t.linspace(0, 1, HUGE)",
    "eye": "t.eye(SIDE)",
    "new_empty": "t.ones(1).new_empty(HUGE)",
    "empty_like": "t.empty_like(t.ones(1).expand(HUGE))",
    "Tensor": "t.Tensor(HUGE)",
    "UntypedStorage": "t.UntypedStorage(HUGE)",
    "resize_": "t.ones(1).resize_(HUGE)",
    "add": "t.ones(1).expand(HUGE) + 1",
    "gt": "t.ones(1).expand(HUGE) > 0",
    "contiguous": "t.ones(1).expand(HUGE).contiguous()",
    "double": "t.ones(1).expand(HUGE).double()",
    "repeat": "t.ones(1).repeat(HUGE)",
    "cat": "t.cat([t.ones(1).expand(HUGE)] * 2)",
    "outer": "t.outer(t.ones(1).expand(SIDE), t.ones(1).expand(SIDE))",
    "mm": "t.ones(1, 1).expand(SIDE, 1) @ t.ones(1, 1).expand(1, SIDE)",
    "one_hot": "t.nn.functional.one_hot(t.tensor([1]), HUGE)",
    "bincount": "t.bincount(t.tensor([HUGE]))",
    "pad": "t.nn.functional.pad(t.ones(1), (0, HUGE))",
    "conv2d": "t.nn.functional.conv2d(t.ones(1, 1, 1, 1), t.ones(1, 1, 1, 1), padding=SIDE)",
    "interpolate": "t.nn.functional.interpolate(t.ones(1, 1, 2, 2), size=(SIDE, SIDE))",
    "Linear": "t.nn.Linear(SIDE, SIDE)",
    "Embedding": "t.nn.Embedding(HUGE, 100)",
    "tril_indices": "t.tril_indices(SIDE, SIDE)",
    "gather": "t.gather(t.ones(4), 0, t.tensor([1]).expand(HUGE))",
    "take": "t.take(t.ones(4), t.tensor([-1]).expand(HUGE))",
    "index_select": "t.index_select(t.ones(4), 0, t.tensor([1]).expand(HUGE))",
    "embedding": "t.nn.functional.embedding(t.tensor([1]).expand(HUGE), t.ones(4, 1))",
    "take_along_dim": "t.take_along_dim(t.ones(4), t.tensor([1]).expand(HUGE), 0)",
    "vander": "t.vander(t.ones(3), HUGE)",
    "combinations": "t.combinations(t.arange(10**6), 3)",
    "combinations with replacement": "t.combinations(t.arange(10**6), 3, True)",
    "kron": "t.kron(t.ones(1).expand(SIDE), t.ones(1).expand(SIDE))",
    "cdist": "t.cdist(t.ones(1, 1).expand(SIDE, 1), t.ones(1, 1).expand(SIDE, 1))",
    "diag": "t.diag(t.ones(1).expand(SIDE))",
    "einsum": "t.einsum('i,j->ij', t.ones(1).expand(SIDE), t.ones(1).expand(SIDE))",
    "add out": "t.add(t.ones(1).expand(HUGE), 1, out=t.ones(0))",
}  # fmt: skip
CHECKED = "empty zeros ones full add contiguous cat mm conv2d Linear Embedding bincount".split()


def refused(home, text):
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory") as caught:
        eval(text, {"t": home, "HUGE": HUGE, "SIDE": SIDE})  # noqa: S307 - of this file
    return int(re.search(r"you tried to allocate (\d+) bytes", str(caught.value))[1]), caught.value


@pytest.mark.parametrize("name", CALLS)
def test_what_no_machine_has_room_for(name):
    size, error = refused(rushlight, CALLS[name])
    assert isinstance(error, MemoryError)
    assert size >= HUGE
    if name in CHECKED:
        assert size == refused(torch, CALLS[name])[0]


@pytest.mark.parametrize("sizes", [(2**62, 4), (2**40, 2**40), (2**61, 1, 2)])
def test_sizes_beyond_all_addresses(sizes):
    for name in ("empty", "zeros", "ones", "rand"):
        for home in (rushlight, torch):
            with pytest.raises(RuntimeError, match="overflowed with sizes=") as caught:
                getattr(home, name)(*sizes)
            assert str(list(sizes)) in str(caught.value)


def test_strides_beyond_all_addresses():
    for name in ("empty", "zeros", "ones"):
        for home in (rushlight, torch):
            with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
                getattr(home, name)(0, 2**62, 2**62)


@pytest.mark.parametrize("sizes", [(2**63,), (3, 2**63), (0, 2**70)])
def test_sizes_that_are_no_64_bit_numbers(sizes):
    words = f"at pos {len(sizes)} with error .Overflow when unpacking long long"
    for name in ("empty", "zeros", "ones", "rand"):
        for home in (rushlight, torch):
            with pytest.raises(TypeError, match=words):
                getattr(home, name)(*sizes)
            with pytest.raises(TypeError, match=words):
                getattr(home, name)(list(sizes))
