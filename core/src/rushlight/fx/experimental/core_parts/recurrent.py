"""LSTM, GRU and Elman networks, as core ATen graphs have them: step by step."""

from __future__ import annotations

import functools
from typing import NamedTuple

from rushlight.fx.experimental.core_parts.fixed_sizes import is_fixed
from rushlight.library.operators import lookup
from rushlight.ops.shape.joining import cat, stack

_GATES = 4, 3  # of an LSTM and a GRU
_TENSORS = 2  # of weights, and as many biases, a layer and direction


class Options(NamedTuple):
    """How a network is made, as ATen's arguments behind its parameters say."""

    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool
    batch_first: bool


class Cell(NamedTuple):
    """The tensors of a layer in one direction; `projection` is that of an LSTM's state."""

    input: object
    state: object
    input_bias: object = None
    state_bias: object = None
    projection: object = None


def _linear(input, weight, bias=None):
    given = (input, weight) if bias is None else (input, weight, bias)
    return lookup("aten").linear.default(*given)


def _apart(gates, count):
    return gates.split(gates.shape[-1] // count, gates.dim() - 1)


def _lstm_step(cell, wide, state):
    hidden, memory = state
    gates = _linear(hidden, cell.state, cell.state_bias) + wide
    keep_new, keep_old, new, shown = _apart(gates, _GATES[0])
    keep_new, keep_old = keep_new.sigmoid(), keep_old.sigmoid()
    new, shown = new.tanh(), shown.sigmoid()
    memory = keep_old * memory + keep_new * new
    hidden = shown * memory.tanh()
    if cell.projection is not None:
        hidden = _linear(hidden, cell.projection)
    return hidden, memory


def _gru_step(cell, wide, state):
    (hidden,) = state
    of_input = _apart(wide, _GATES[1])
    inner = _linear(hidden, cell.state, cell.state_bias)
    of_state = _apart(inner, _GATES[1])
    reset = (of_state[0] + of_input[0]).sigmoid()
    update = (of_state[1] + of_input[1]).sigmoid()
    new = (of_input[2] + of_state[2] * reset).tanh()
    return ((hidden - new) * update + new,)


def _elman_step(activation, cell, wide, state):
    (hidden,) = state
    return (activation(_linear(hidden, cell.state, cell.state_bias) + wide),)


def _row(input, i):
    return input.narrow(0, i, 1).squeeze(0)


def _direction(step, input, cell, state, backwards):
    """The outputs of a layer in one direction, and its last state."""
    state = tuple(each.unsqueeze(0) for each in state)
    wide = _linear(input, cell.input, cell.input_bias)
    if backwards:
        wide = wide.flip([0])
    outputs = []
    for i in range(input.shape[0]):
        state = step(cell, _row(wide, i), state)
        outputs.append(state[0])
    if backwards:
        outputs.reverse()
    return cat(outputs, 0), tuple(each.squeeze(0) for each in state)


def _cells(params, has_biases, projected):
    size = _TENSORS * (1 + has_biases) + projected
    for start in range(0, len(params), size):
        given = list(params[start : start + size])
        projection = given.pop() if projected else None
        yield Cell(*given, *[None] * (4 - len(given)), projection)


def _layers(step, input, states, params, options, projected=False):
    """The output, and the last states of all layers and directions, each kind stacked."""
    if not is_fixed(input.shape[1 if options.batch_first else 0]):
        return NotImplemented
    if options.batch_first:
        input = input.transpose(0, 1)
    cells, last = list(_cells(params, options.has_biases, projected)), []
    directions = 1 + options.bidirectional
    for layer in range(options.num_layers):
        found = []
        for backwards in range(directions):
            i = layer * directions + backwards
            state = tuple(_row(each, i) for each in states)
            output, state = _direction(step, input, cells[i], state, bool(backwards))
            found.append(output)
            last.append(state)
        input = cat(found, found[0].dim() - 1) if options.bidirectional else found[0]
        if options.dropout and options.train and layer < options.num_layers - 1:
            input = lookup("aten").dropout.default(input, options.dropout, True)
    output = input.transpose(0, 1) if options.batch_first else input
    return output, *(stack(list(kind), 0) for kind in zip(*last, strict=True))


def _lstm(input, hx, params, *rest):
    projected = hx[0].shape[2] != hx[1].shape[2]
    return _layers(_lstm_step, input, hx, params, Options(*rest), projected)


def _of(step):
    def run(input, hx, params, *rest):
        return _layers(step, input, (hx,), params, Options(*rest))

    return run


def _tanh(input):
    return input.tanh()


def _relu(input):
    return input.relu()


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.lstm.input: _lstm,
        aten.gru.input: _of(_gru_step),
        aten.rnn_tanh.input: _of(functools.partial(_elman_step, _tanh)),
        aten.rnn_relu.input: _of(functools.partial(_elman_step, _relu)),
    }
