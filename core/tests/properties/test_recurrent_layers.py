"""LSTM, GRU and Elman networks of any sizes against float64, all gradients too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from drawn import exact, examples, on_threads, sizes, tensors  # noqa: E402
from families import near, size_of  # noqa: E402

import rushlight  # noqa: E402

DTYPES = st.sampled_from(("float32", "float32", "float32", "float64"))


class Layers:
    """A module of either library with the same weights."""

    def __init__(self, name, sizes, options, dtype):
        self.dtype, self.made = dtype, {}
        for lib, kind in ((rushlight, dtype), (torch, "float64")):
            rushlight.manual_seed(0)
            made = getattr(lib.nn, name)(*sizes, **options)
            self.made[lib] = made.to(getattr(lib, kind))
        ours = self.made[rushlight].parameters()
        for mine, theirs in zip(ours, self.made[torch].parameters(), strict=True):
            with torch.no_grad():
                theirs.copy_(exact(mine).detach())

    def run(self, lib, x, states, up, wrap):
        """Results, and gradients of the input, states and parameters."""
        module = self.made[lib]
        given = [states if len(states) > 1 else states[0]] if states else []
        out, last = module(wrap(lib, x), *given)
        out = out.data if hasattr(out, "batch_sizes") else out
        last = last if isinstance(last, tuple) else (last,)
        loss = (out * up[0]).sum() + sum((a * b).sum() for a, b in zip(last, up[1:], strict=True))
        return (out, *last, *lib.autograd.grad(loss, [x, *states, *module.parameters()]))


@st.composite
def networks(draw):
    """A kind of network, its sizes and options."""
    name = draw(st.sampled_from(("LSTM", "LSTM", "GRU", "GRU", "RNN")))
    inputs, width = draw(sizes(40)), draw(st.one_of(sizes(40), st.sampled_from((64, 100, 128))))
    options = {
        "num_layers": draw(st.sampled_from((1, 1, 2))),
        "bidirectional": draw(st.booleans()),
        "batch_first": draw(st.booleans()),
        "bias": draw(st.integers(0, 3)) > 0,
    }
    if name == "RNN":
        options["nonlinearity"] = draw(st.sampled_from(("tanh", "relu")))
    if name == "LSTM" and width > 1 and draw(st.integers(0, 3)) == 0:
        options["proj_size"] = draw(st.integers(1, width - 1))
    return name, (inputs, width), options


def states_of(draw, name, options, width, rows, dtype):
    """Initial states that want gradients; sometimes none."""
    if draw(st.booleans()):
        return []
    count = options["num_layers"] * (1 + options["bidirectional"])
    own = options.get("proj_size", width)
    shapes = [(count, rows, own)] + ([(count, rows, width)] if name == "LSTM" else [])
    return [draw(tensors(shape, dtype, grad=True)) for shape in shapes]


def tops(draw, name, options, width, rows, lead, dtype):
    """Gradients of all results."""
    count = options["num_layers"] * (1 + options["bidirectional"])
    own = options.get("proj_size", width)
    shapes = [(*lead, own * (1 + options["bidirectional"])), (count, rows, own)]
    shapes += [(count, rows, width)] if name == "LSTM" else []
    return [draw(tensors(shape, dtype)) for shape in shapes]


def agree(run, x, states, up, steps):
    """Compare all results and gradients of ``run(library, x, states, up)``. Errors of states go
    through all steps, and sums of both signs are smaller than what is added: the largest element of
    all is the scale."""
    found = on_threads(lambda: run(rushlight, x, states, up))
    x, *states = (exact(v) for v in (x, *states))
    truth = run(torch, x, states, [exact(v) for v in up])
    scale = max(1.0, *(size_of(want) for want in truth))
    for got, want in zip(found, truth, strict=True):
        near(got, want, want.detach() * 0 + scale, 40 + 16 * steps**0.5)


@given(st.data())
@examples(20)
def test_sequences(data):
    name, (inputs, width), options = data.draw(networks())
    dtype, steps = data.draw(DTYPES), data.draw(st.integers(1, 12))
    rows = data.draw(st.one_of(st.integers(1, 9), st.sampled_from((15, 31, 43, 90))))
    lead = (rows, steps) if options["batch_first"] else (steps, rows)
    x = data.draw(tensors((*lead, inputs), dtype, grad=True))
    states = states_of(data.draw, name, options, width, rows, dtype)
    up = tops(data.draw, name, options, width, rows, lead, dtype)
    layers = Layers(name, (inputs, width), options, dtype)
    agree(lambda *given: layers.run(*given, lambda lib, x: x), x, states, up, steps)


@given(st.data())
@examples(10)
def test_packed_sequences(data):
    name, (inputs, width), options = data.draw(networks())
    lengths = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=12))
    rows, steps, dtype = len(lengths), max(lengths), data.draw(DTYPES)
    lead = (rows, steps) if options["batch_first"] else (steps, rows)
    x = data.draw(tensors((*lead, inputs), dtype, grad=True))
    states = states_of(data.draw, name, options, width, rows, dtype)
    up = tops(data.draw, name, options, width, rows, (sum(lengths),), dtype)
    layers = Layers(name, (inputs, width), options, dtype)

    def packed(lib, x):
        return lib.nn.utils.rnn.pack_padded_sequence(
            x, lib.tensor(lengths), options["batch_first"], enforce_sorted=False
        )

    agree(lambda *given: layers.run(*given, packed), x, states, up, steps)


@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", "RNNCell"])
@given(st.data())
@examples(8)
def test_cells(name, data):
    inputs, width, rows = (data.draw(sizes(40)) for _ in "iwr")
    dtype = data.draw(DTYPES)
    layers = Layers(name, (inputs, width), {"bias": data.draw(st.booleans())}, dtype)
    x = data.draw(tensors((rows, inputs), dtype, grad=True))
    count = 2 if name == "LSTMCell" else 1
    states = [data.draw(tensors((rows, width), dtype, grad=True)) for _ in range(count)]
    up = [data.draw(tensors((rows, width), dtype)) for _ in range(count)]

    def run(lib, x, states, up):
        module = layers.made[lib]
        out = module(x, tuple(states) if count == 2 else states[0])
        out = out if isinstance(out, tuple) else (out,)
        loss = sum((a * b).sum() for a, b in zip(out, up, strict=True))
        return (*out, *lib.autograd.grad(loss, [x, *states, *module.parameters()]))

    agree(run, x, states, up, 1)
