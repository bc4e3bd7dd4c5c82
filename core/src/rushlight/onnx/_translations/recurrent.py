"""Recurrent layers."""

from __future__ import annotations

import rushlight
from rushlight.machine import np
from rushlight.onnx._registry import aten
from rushlight.onnx._translations import packing

# The order of gates in ONNX by their positions in PyTorch's weights.
_LSTM, _GRU, _PLAIN = (0, 3, 1, 2), (1, 0, 2), (0,)


def _layers(
    g,
    kind,
    x,
    states,
    params,
    has_biases,
    num_layers,
    dropout,
    train,
    bidirectional,
    batch_first,
    order,
    lengths=None,
    **options,
):
    """All layers; `x` as it is given, of `lengths` where these differ. The sequence and the last
    states."""
    if dropout and train and num_layers > 1:
        raise NotImplementedError("recurrent layers with dropout: call eval() first")
    single = x.rank == 2
    if single:
        x = g.unsqueeze(x, 0 if batch_first else 1)
        states = [g.unsqueeze(s, 1) for s in states]
    if batch_first:
        x = g.transpose(x, [1, 0, 2])
    ways = 2 if bidirectional else 1
    count = 4 if has_biases else 2
    finals = [[] for _ in states]
    for layer in range(num_layers):
        start = layer * ways * count
        own = [params[start + way * count : start + (way + 1) * count] for way in range(ways)]
        begun = [g.slice(s, 0, layer * ways, (layer + 1) * ways) for s in states]
        x, last = _layer(
            g, kind, x, begun, own, has_biases, order, bidirectional, lengths, **options
        )
        for found, value in zip(finals, last, strict=True):
            found.append(value)
    results = [f[0] if num_layers == 1 else g.op("Concat", *f, axis=0) for f in finals]
    if batch_first:
        x = g.transpose(x, [1, 0, 2])
    if single:
        x = g.squeeze(x, 0 if batch_first else 1)
        results = [g.squeeze(v, 1) for v in results]
    return (x, *results)


def _layer(g, kind, x, states, params, has_biases, order, bidirectional, lengths=None, **options):
    """One layer in one or both directions."""
    inputs = _joined(g, [_gates(g, p[0], order) for p in params])
    hidden = _joined(g, [_gates(g, p[1], order) for p in params])
    biases = None
    if has_biases:
        both = [g.op("Concat", *(_gates(g, b, order) for b in p[2:4]), axis=0) for p in params]
        biases = _joined(g, both)
    size = params[0][1].shape[1]
    ways = 2 if bidirectional else 1
    outputs = g.op(
        kind, x, inputs, hidden, biases, lengths, *states, outputs=1 + len(states),
        hidden_size=size,
        direction="bidirectional" if bidirectional else "forward",
        **{k: v * ways if isinstance(v, list) else v for k, v in options.items()},
    )  # fmt: skip
    # (time, direction, batch, size) -> (time, batch, direction * size)
    turned = g.transpose(outputs[0], [0, 2, 1, 3])
    joined = g.op("Reshape", turned, g.integers([0, 0, ways * size]))
    joined.shape = (None, None, ways * size)
    return joined, outputs[1:]


def _gates(g, weight, order):
    """A weight whose gates stand in ONNX's order."""
    if len(order) == 1:
        return weight
    size = weight.shape[0] // len(order)
    if weight.array is not None:
        parts = [weight.array[place * size : (place + 1) * size] for place in order]
        return g._stored(f"{weight.name}_gates", np.concatenate(parts), weight.dtype)
    return g.op("Concat", *(g.slice(weight, 0, p * size, (p + 1) * size) for p in order), axis=0)


def _joined(g, values):
    wide = [g.unsqueeze(v, 0) for v in values]
    return wide[0] if len(wide) == 1 else g.op("Concat", *wide, axis=0)


def _recurrent(kind, states, order, **options):
    """Translations of a kind of layer: of padded input, and of packed data."""

    def of_input(
        g, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first,
        lengths=None,
    ):  # fmt: skip
        if kind == "LSTM" and params[1].shape[1] * 4 != params[1].shape[0]:
            raise NotImplementedError("LSTM with proj_size")
        begun = list(hx) if states == 2 else [hx]
        return _layers(g, kind, input, begun, params, has_biases, num_layers, dropout, train,
                       bidirectional, batch_first, order, lengths, **options)  # fmt: skip

    def of_data(
        g, data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
    ):
        x, lengths, running = packing.padded(g, data, batch_sizes)
        found, *last = of_input(
            g, x, hx, params, has_biases, num_layers, dropout, train, bidirectional, False,
            g.cast(lengths, rushlight.int32),
        )  # fmt: skip
        return (packing.rows(g, found, running), *last)

    return of_input, of_data


def _register(name, *settings, **options):
    """Translate both overloads of a layer."""
    of_input, of_data = _recurrent(*settings, **options)
    aten(f"{name}.input")(of_input)
    aten(f"{name}.data")(of_data)


_register("lstm", "LSTM", 2, _LSTM)
_register("gru", "GRU", 1, _GRU, linear_before_reset=1)
_register("rnn_tanh", "RNN", 1, _PLAIN, activations=["Tanh"])
_register("rnn_relu", "RNN", 1, _PLAIN, activations=["Relu"])


@aten("lstm_cell")
def lstm_cell(g, input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    hidden, cell = hx
    params = [w_ih, w_hh, *([] if b_ih is None else [b_ih, b_hh])]
    x = g.unsqueeze(input, 0)
    states = [g.unsqueeze(v, 0) for v in (hidden, cell)]
    _, last = _layer(g, "LSTM", x, states, [params], b_ih is not None, _LSTM, False)
    return tuple(g.squeeze(v, 0) for v in last)


@aten("gru_cell")
def gru_cell(g, input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    params = [w_ih, w_hh, *([] if b_ih is None else [b_ih, b_hh])]
    x, states = g.unsqueeze(input, 0), [g.unsqueeze(hx, 0)]
    _, last = _layer(
        g, "GRU", x, states, [params], b_ih is not None, _GRU, False, linear_before_reset=1
    )
    return g.squeeze(last[0], 0)
