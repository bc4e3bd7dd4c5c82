"""By default graphs keep packed weights for as long as nobody can have written to them."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.capture import entries
from rushlight.capture.entries import PATIENCE, Entry, KeepingEntry
from rushlight.capture.entry import WholeGraphs, entry_of

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from weight_writes import WAYS, network


def entry(compiled):
    """The one graph of a compiled module."""
    cells = (cell.cell_contents for cell in compiled._run.__closure__)
    graphs = next(value for value in cells if isinstance(value, WholeGraphs))
    (found,) = graphs.entries.values()
    return found[0]


def agree(compiled, model, x):
    """Compare two calls with eager; gives the last result."""
    for _ in range(2):
        found = compiled(x)
        rushlight.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-5)
    return found


@pytest.fixture
def x():
    return rushlight.randn(2, 3, 8, 8)


@pytest.fixture
def model():
    return network()


@pytest.mark.parametrize("calls", [1, PATIENCE + 2], ids=["young", "old"])
@pytest.mark.parametrize("way", WAYS)
def test_whatever_changes_a_weight_is_seen(way, calls, model, x):
    compiled = rushlight.compile(model)
    with rushlight.no_grad():
        for _ in range(calls):
            before = agree(compiled, model, x)
        assert entry(compiled).plan is entry(compiled).packed
        WAYS[way](model)
        after = agree(compiled, model, x)
        if way == "data_later":
            model.alias.add_(1)
            after = agree(compiled, model, x)
        assert not rushlight.allclose(before, after)


@pytest.mark.parametrize("keep", [
    lambda w: w.data, lambda w: w.numpy(), lambda w: w.data.numpy(), lambda w: w.data[1:],
    lambda w: np.asarray(w)[2:].reshape(-1), lambda w: memoryview(w.numpy()),
])  # fmt: skip
@pytest.mark.parametrize("early", [True, False])
def test_nothing_is_packed_while_somebody_may_write_unseen(keep, early, model, x):
    with rushlight.no_grad():
        compiled = rushlight.compile(model)
        held = keep(model.linear.weight) if early else None
        agree(compiled, model, x)
        held = held if early else keep(model.linear.weight)
        for step in range(3 * PATIENCE):
            agree(compiled, model, x)
            assert entry(compiled).plan is entry(compiled).plain
            if isinstance(held, rushlight.Tensor):
                held.mul_(-1)
            else:
                np.asarray(held)[...] = step
        agree(compiled, model, x)


def test_an_array_that_a_weight_was_made_of(x):
    array = np.ones((24, 36), np.float32)
    with rushlight.no_grad():
        model = network()
        model.linear.weight = nn.Parameter(rushlight.from_numpy(array))
        compiled = rushlight.compile(model)
        before = agree(compiled, model, x)
        assert entry(compiled).plan is entry(compiled).plain
        array[...] = -2.0
        assert not rushlight.allclose(before, agree(compiled, model, x))


def test_memory_of_a_tensor_that_goes_on(x):
    with rushlight.no_grad():
        model, whole = network(), rushlight.randn(24, 36)
        model.linear.weight = nn.Parameter(whole)
        compiled = rushlight.compile(model)
        before = agree(compiled, model, x)
        whole.mul_(-3)
        assert not rushlight.allclose(before, agree(compiled, model, x))


def test_packed_again_after_a_change_that_had_waited(model, x):
    compiled = rushlight.compile(model)
    with rushlight.no_grad():
        for _ in range(4):
            for _ in range(PATIENCE + 1):
                compiled(x)
            model.linear.weight.mul_(0.9)
            agree(compiled, model, x)
            assert entry(compiled).plan is entry(compiled).packed


def test_a_program_that_learns_as_it_predicts_gives_up(model, x):
    compiled = rushlight.compile(model)
    with rushlight.no_grad():
        for _ in range(entries.MOST_FAILURES):
            for _ in range(PATIENCE << (entries.MOST_FAILURES + 1)):
                compiled(x)
                if entry(compiled).plan is entry(compiled).packed:
                    break
            model.linear.weight.mul_(0.9)
            agree(compiled, model, x)
        found = entry(compiled)
        assert found.wait is None and found.plan is found.plain and found.packed is None
        for _ in range(200):
            compiled(x)
        assert found.plan is found.plain
        model.linear.weight.mul_(0.9)
        agree(compiled, model, x)


def test_a_weight_that_nobody_writes_to_any_more_is_packed_in_the_end(model, x):
    compiled = rushlight.compile(model)
    with rushlight.no_grad():
        alias = model.linear.weight.data
        agree(compiled, model, x)
        alias.mul_(2)
        del alias
        for _ in range(4 * PATIENCE):
            compiled(x)
        assert entry(compiled).plan is entry(compiled).packed
        agree(compiled, model, x)


@pytest.mark.parametrize("freezing", [None, False])
def test_without(freezing, model, x, monkeypatch):
    monkeypatch.setattr(entries, "MOST_BYTES", 100 if freezing is None else 1 << 29)
    with rushlight.no_grad():
        found = entry_of(model, (x,), {}, "model", freezing)
        rushlight.testing.assert_close(found.run((x,)), model(x))
    assert type(found) is (Entry if freezing is False else KeepingEntry)
    assert not found.frozen
    assert freezing is False or found.plan is found.plain


def test_deterministic_algorithms_have_one_form(model, x):
    rushlight.use_deterministic_algorithms(True)
    try:
        with rushlight.no_grad():
            assert type(entry_of(model, (x,), {}, "model")) is Entry
    finally:
        rushlight.use_deterministic_algorithms(False)


def test_where_gradients_may_be_asked_for(model, x):
    assert type(entry_of(model, (x,), {}, "model")) is Entry
    compiled = rushlight.compile(model.requires_grad_(False))
    agree(compiled, model, x)
    assert entry(compiled).plan is entry(compiled).packed
    model.requires_grad_(True)
    compiled(x).sum().backward()
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    model(x).sum().backward()
    for found, parameter in zip(expected, model.parameters(), strict=True):
        rushlight.testing.assert_close(found, parameter.grad)


def test_memory_is_bounded_over_all_graphs(x, monkeypatch):
    size = sum(p.nbytes for p in network().parameters()) * 3 // 2
    monkeypatch.setattr(entries, "_packed", type(entries._packed)())
    monkeypatch.setattr(entries, "MOST_BYTES", size)
    models = [network() for _ in range(2)]
    with rushlight.no_grad():
        compiled = [rushlight.compile(model) for model in models]
        for one, model in zip(compiled, models, strict=True):
            agree(one, model, x)
        first, second = map(entry, compiled)
        assert first.plan is first.packed and second.plan is second.plain
