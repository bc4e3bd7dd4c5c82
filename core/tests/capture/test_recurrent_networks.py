"""Recurrent networks in graphs: their layers are steps, frozen ones with weights packed once."""

from __future__ import annotations

import pytest

import rushlight
from rushlight import nn
from rushlight.capture.entry import entry_of
from rushlight.capture.layers import FrozenRecurrence
from rushlight.machine.processors import fuses_vectors

KINDS = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *args, **settings: nn.RNN(*args, nonlinearity="relu", **settings),
}
SETTINGS = {
    "plain": {},
    "two layers": {"num_layers": 2, "dropout": 0.3},
    "both directions": {"bidirectional": True},
    "deep and both": {"num_layers": 2, "bidirectional": True, "batch_first": True},
    "no bias": {"bias": False},
}
INPUTS = {"one row": (5, 1, 9), "two rows": (5, 2, 9), "seven rows": (4, 7, 9), "no batch": (5, 9)}


@pytest.fixture(autouse=True)
def inference():
    with rushlight.inference_mode():
        yield


def network(kind, settings, shape):
    rushlight.manual_seed(3)
    made = KINDS[kind](9, 21, **settings).eval()
    x = rushlight.randn(*shape)
    return made, x


def equal(found, expected):
    rushlight.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.parametrize("freezing", [False, True])
@pytest.mark.parametrize("shape", INPUTS)
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_network_is_one_graph(kind, settings, shape, freezing):
    model, x = network(kind, SETTINGS[settings], INPUTS[shape])
    compiled = rushlight.compile(model, fullgraph=True, options={"freezing": freezing})
    expected = model(x)
    for _ in range(3):
        equal(compiled(x), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_states_are_given(kind):
    model, x = network(kind, {"num_layers": 2}, (5, 3, 9))
    state = rushlight.randn(2, 3, 21)
    given = (state, -state) if kind == "lstm" else state
    compiled = rushlight.compile(model, fullgraph=True, options={"freezing": True})
    for _ in range(3):
        equal(compiled(x, given), model(x, given))


def test_projections_go_by_steps():
    model = nn.LSTM(9, 21, proj_size=6).eval()
    x = rushlight.randn(4, 2, 9)
    compiled = rushlight.compile(model, fullgraph=True, options={"freezing": True})
    for _ in range(3):
        equal(compiled(x), model(x))


@pytest.mark.parametrize("kind", KINDS)
def test_written_weights_are_packed_anew(kind):
    """Weights of both products and biases, of which a graph keeps the sum."""
    model, x = network(kind, {}, (5, 2, 9))
    compiled = rushlight.compile(model, fullgraph=True, options={"freezing": True})
    compiled(x)
    before = compiled(x)[0].clone()
    for weight in model.parameters():
        with rushlight.no_grad():
            weight.mul_(0.5)
        found = compiled(x)
        equal(found, model(x))
        assert not rushlight.equal(found[0], before)
        before = found[0].clone()


def test_a_frozen_layer_keeps_its_packed_weight():
    model, x = network("lstm", {"num_layers": 2}, (5, 1, 9))
    entry = entry_of(model, (x,), {}, "model", True)
    entry.plan.run(x)
    steps = [step for step in entry.frozen if isinstance(step, FrozenRecurrence)]
    assert len(steps) == 2
    assert all(bool(step.packed) is fuses_vectors() for step in steps)


def test_what_nobody_reads_is_left_out():
    """The final states of layers, of a program that looks at the outputs alone."""
    model, x = network("lstm", {"num_layers": 2}, (5, 1, 9))

    def outputs(x):
        return model(x)[0]

    names = [node.name for node in entry_of(outputs, (x,), {}, "outputs").plan.parts[0].nodes]
    assert not [name for name in names if name.startswith(("stack", "select_5"))]
    whole = [node.name for node in entry_of(model, (x,), {}, "model").plan.parts[0].nodes]
    assert "stack" in whole


def test_errors_of_steps_that_nobody_reads_stay():
    table = rushlight.randn(4, 3)

    def looked_up(x, places):
        nn.functional.embedding(places, table)
        return x + 1

    x, places = rushlight.ones(2), rushlight.tensor([7])
    with pytest.raises(IndexError):
        looked_up(x, places)
    compiled = rushlight.compile(looked_up, fullgraph=True)
    with pytest.raises(IndexError):
        compiled(x, places)


def test_elementwise_steps_of_weights_are_computed_once():
    scale, weight = rushlight.rand(30, 1), rushlight.randn(30, 20)
    scale, weight = nn.Parameter(scale), nn.Parameter(weight)

    def scaled(x):
        return nn.functional.linear(x, weight * scale.exp())

    x = rushlight.randn(3, 20)
    entry = entry_of(scaled, (x,), {}, "scaled", True)
    steps = [node for node in entry.plan.parts[0].nodes if node.op == "call_function"]
    assert len(steps) == 1
    compiled = rushlight.compile(scaled, fullgraph=True, options={"freezing": True})
    for change in (1.0, 1.5, -2.0):
        with rushlight.no_grad():
            scale.mul_(change)
        rushlight.testing.assert_close(compiled(x), scaled(x))
        rushlight.testing.assert_close(compiled(x), scaled(x))


@pytest.mark.parametrize("count", [1, 2])
def test_threads_change_no_bits(count):
    model, x = network("lstm", {"num_layers": 2}, (6, 5, 9))
    compiled = rushlight.compile(model, fullgraph=True, options={"freezing": True})
    expected, before = model(x), rushlight.get_num_threads()
    rushlight.set_num_threads(count)
    try:
        equal(compiled(x), expected)
        equal(compiled(x), expected)
    finally:
        rushlight.set_num_threads(before)
