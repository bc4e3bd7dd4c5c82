"""Storages know whether all writes to their memory will be counted."""

from __future__ import annotations

import mmap
import subprocess
import sys

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.tensor.storage import storage_of


def counts(tensor):
    return storage_of(tensor).counts_writes()


@pytest.mark.parametrize("make", [
    lambda: nn.Linear(30, 20).weight, lambda: nn.Conv2d(6, 6, 3).weight,
    lambda: nn.LSTM(5, 6).weight_hh_l0, lambda: nn.BatchNorm2d(8).running_mean,
    lambda: nn.Embedding(10, 5).weight, lambda: rushlight.randn(10, 10),
    lambda: rushlight.zeros(3), lambda: rushlight.tensor([1.0, 2.0]),
    lambda: rushlight.tensor(np.ones(3)), lambda: rushlight.ones(5, 5)[1:].t(),
    lambda: rushlight.randn(3) + 1,
])  # fmt: skip
def test_memory_that_nobody_else_has(make):
    tensor = make()
    assert counts(tensor)
    view = tensor[:1]
    assert counts(tensor) and counts(view) and counts(tensor.detach())


LARGE = """
import rushlight
from rushlight import nn
from rushlight.tensor.storage import storage_of

made = [
    nn.Linear(300, 200).weight, nn.Conv2d(64, 64, 3).weight, nn.LSTM(200, 300).weight_hh_l0,
    nn.Embedding(1000, 50).weight, rushlight.randn(1000, 1000), rushlight.zeros(200, 200),
    rushlight.randn(200, 200) + 1, rushlight.randn(300, 300).t().contiguous(),
]
print(*[storage_of(tensor).counts_writes() for tensor in made])
"""


def test_large_memory_is_aligned_and_nobody_elses():
    """In a process of its own: here such memory has fences around it."""
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 8


def test_memory_of_an_array_that_is_gone():
    tensor = rushlight.from_numpy(np.ones(3))
    assert counts(tensor)
    parameter = nn.Parameter(rushlight.randn(3).data)
    assert counts(parameter)


def test_data_is_known_as_long_as_it_is_there():
    x = rushlight.randn(5)
    data = x.data
    seen = storage_of(x).unseen
    assert not counts(x) and data._version == 0
    data.add_(1)
    assert data._version == 1 and x._version == 0
    part = data[1:]
    del data
    assert not counts(x)
    del part
    assert counts(x) and storage_of(x).unseen == seen == 1


def test_data_that_becomes_the_memory_of_its_tensor():
    x = rushlight.randn(5)
    x.data = x.data
    assert counts(x)
    other = x.data
    assert not counts(x) and not counts(other)
    del other
    assert counts(x)
    old = storage_of(x).origin
    assert not counts(x)
    old.give_away()
    del old
    assert not counts(x)


@pytest.mark.parametrize("give", [
    lambda x: x.numpy(), np.asarray, lambda x: x.__dlpack__(), lambda x: x.data.numpy(),
    lambda x: x.numpy(force=True), lambda x: x.data.data.numpy(), lambda x: x[1:].numpy(),
    lambda x: np.add(x, 1), lambda x: rushlight.from_dlpack(x),
])  # fmt: skip
def test_memory_that_was_given_to_others(give):
    x = rushlight.randn(5)
    give(x)
    assert not counts(x) and storage_of(x).unseen is None


def test_arrays_that_others_hold():
    array = np.ones((4, 5))
    tensor = rushlight.from_numpy(array)
    row = array[1]
    assert not counts(tensor)
    del array
    assert not counts(tensor)
    del row
    assert counts(tensor)
    buffer = bytearray(40)
    tensor = rushlight.frombuffer(buffer, dtype=rushlight.float32)
    assert not counts(tensor)
    del buffer
    assert counts(tensor)


def test_memory_that_stands_for_that_of_others(tmp_path):
    path = tmp_path / "elements"
    path.write_bytes(bytes(400))
    with open(path, "r+b") as file:
        mapped = rushlight.frombuffer(mmap.mmap(file.fileno(), 400), dtype=rushlight.float32)
    of_file = rushlight.from_file(str(path), shared=True, size=10)
    shared = rushlight.ones(10).share_memory_()
    assert not counts(mapped) and not counts(of_file) and not counts(shared)


def test_writes_taken_back_show_as_unseen():
    x = rushlight.randn(5)
    with rushlight.autograd._unsafe_preserve_version_counter(x):
        pass
    assert x._version == 0 and storage_of(x).unseen == 0
    with rushlight.autograd._unsafe_preserve_version_counter(x):
        x.add_(1)
    assert x._version == 0 and storage_of(x).unseen == 1


def test_a_parameter_counts_the_writes_of_the_tensor_it_was_made_of():
    x = rushlight.randn(5)
    parameter, other = nn.Parameter(x), rushlight.zeros(5)
    x.add_(1)
    assert parameter._version == 1
    source = rushlight.ones(5)
    other.data = source
    source.add_(1)
    assert storage_of(other) is storage_of(source)
