"""Recurrent layers: RNN, LSTM and GRU, written step by step with the table's ops."""

from __future__ import annotations

import math

from rushlight.nn import functional as F
from rushlight.nn import initialization as init
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.ops.creation import empty, zeros
from rushlight.ops.joining import cat, stack


def _lstm_step(gates, state):
    """Gates (N, 4H) in the order input, forget, cell, output. (Hochreiter, Schmidhuber, 1997.)"""
    i, f, g, o = gates.chunk(4, 1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


class _RNNBase(Module):
    _gates = 1

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the "
                "probability of an element being zeroed"
            )
        if proj_size:
            raise NotImplementedError(
                "proj_size is not available; put a Linear layer behind the recurrent layer"
            )
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        kind = {"device": device, "dtype": dtype}
        rows, directions = self._gates * hidden_size, 2 if bidirectional else 1
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * directions
            for direction in range(directions):
                suffix = f"_l{layer}" + ("_reverse" if direction else "")
                setattr(self, "weight_ih" + suffix, Parameter(empty((rows, width), **kind)))
                setattr(self, "weight_hh" + suffix, Parameter(empty((rows, hidden_size), **kind)))
                if bias:
                    setattr(self, "bias_ih" + suffix, Parameter(empty(rows, **kind)))
                    setattr(self, "bias_hh" + suffix, Parameter(empty(rows, **kind)))
        self.reset_parameters()

    def reset_parameters(self):
        """Draw fresh initial values: uniform within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self):
        """Nothing to do: the weights need no special layout here."""

    def _weights(self, layer, reverse):
        suffix = f"_l{layer}" + ("_reverse" if reverse else "")
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [getattr(self, n + suffix, None) for n in names]

    def _run(self, steps, layer, reverse, state):
        """One layer in one direction over (L, N, E); the outputs (L, N, H) and the last state."""
        w_ih, w_hh, b_ih, b_hh = self._weights(layer, reverse)
        projected = F.linear(steps, w_ih, b_ih).unbind(0)
        outputs = []
        for gates in reversed(projected) if reverse else projected:
            state = self._step(gates, state, w_hh, b_hh)
            outputs.append(state[0])
        if reverse:
            outputs.reverse()
        return stack(outputs, 0), state

    def _layers(self, steps, initial):
        """All layers and directions; `initial` gives each (layer, direction) its state."""
        directions = 2 if self.bidirectional else 1
        finals = []
        for layer in range(self.num_layers):
            results = []
            for direction in range(directions):
                number = layer * directions + direction
                state = tuple(part[number] for part in initial)
                out, final = self._run(steps, layer, bool(direction), state)
                results.append(out)
                finals.append(final)
            steps = results[0] if directions == 1 else cat(results, 2)
            if self.dropout and self.training and layer < self.num_layers - 1:
                steps = F.dropout(steps, self.dropout)
        return steps, [stack(parts, 0) for parts in zip(*finals, strict=True)]

    def _check(self, input):
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.shape[-1]}"
            )

    def _forward(self, input, hidden, parts):
        self._check(input)
        unbatched = input.dim() == 2
        if unbatched:
            input = input.unsqueeze(1)
            hidden = None if hidden is None else [h.unsqueeze(1) for h in hidden]
        elif self.batch_first:
            input = input.transpose(0, 1)
        count = self.num_layers * (2 if self.bidirectional else 1)
        expected = (count, input.shape[1], self.hidden_size)
        if hidden is None:
            hidden = [zeros(expected, dtype=input.dtype) for _ in range(parts)]
        for state in hidden:
            if tuple(state.shape) != expected:
                raise RuntimeError(f"Expected hidden size {expected}, got {list(state.shape)}")
        output, finals = self._layers(input, hidden)
        if unbatched:
            return output.squeeze(1), [f.squeeze(1) for f in finals]
        return (output.transpose(0, 1) if self.batch_first else output), finals

    def extra_repr(self):
        """The settings that differ from their defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        for name in ("batch_first", "bidirectional"):
            if getattr(self, name):
                text += f", {name}=True"
        return text + (f", dropout={self.dropout}" if self.dropout else "")


class LSTM(_RNNBase):
    """Long short-term memory over (L, N, input_size) (or batch first).

    ``forward(input, (h_0, c_0)=None)`` gives ``output, (h_n, c_n)``.
    """

    _gates = 4

    def _step(self, gates, state, w_hh, b_hh):
        return _lstm_step(gates + F.linear(state[0], w_hh, b_hh), state)

    def forward(self, input, hx=None):
        """Run over the sequence."""
        output, finals = self._forward(input, None if hx is None else list(hx), 2)
        return output, tuple(finals)


class GRU(_RNNBase):
    """Gated recurrent units over (L, N, input_size). (Cho et al., 2014.)"""

    _gates = 3

    def _step(self, gates, state, w_hh, b_hh):
        return (_gru_step(gates, F.linear(state[0], w_hh, b_hh), state[0]),)

    def forward(self, input, hx=None):
        """Run over the sequence: ``output, h_n``."""
        output, finals = self._forward(input, None if hx is None else [hx], 1)
        return output, finals[0]


def _gru_step(from_input, from_hidden, hidden):
    """Gates (N, 3H) in the order reset, update, new."""
    r_i, z_i, n_i = from_input.chunk(3, 1)
    r_h, z_h, n_h = from_hidden.chunk(3, 1)
    update = (z_i + z_h).sigmoid()
    new = (n_i + (r_i + r_h).sigmoid() * n_h).tanh()
    return new + update * (hidden - new)


class RNN(_RNNBase):
    """The Elman network over (L, N, input_size), with tanh or relu."""

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        nonlinearity="tanh",
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        device=None,
        dtype=None,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        self.__dict__["nonlinearity"] = nonlinearity
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )

    def _step(self, gates, state, w_hh, b_hh):
        total = gates + F.linear(state[0], w_hh, b_hh)
        return (total.tanh() if self.nonlinearity == "tanh" else total.relu(),)

    def forward(self, input, hx=None):
        """Run over the sequence: ``output, h_n``."""
        output, finals = self._forward(input, None if hx is None else [hx], 1)
        return output, finals[0]


class _Cell(Module):
    def __init__(self, input_size, hidden_size, bias, gates, device, dtype):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        kind = {"device": device, "dtype": dtype}
        rows = gates * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), **kind))
        self.weight_hh = Parameter(empty((rows, hidden_size), **kind))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, **kind)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw fresh initial values: uniform within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _sides(self, input, hidden):
        return (
            F.linear(input, self.weight_ih, self.bias_ih),
            F.linear(hidden, self.weight_hh, self.bias_hh),
        )

    def _zeros(self, input):
        return zeros(input.shape[0], self.hidden_size, dtype=input.dtype)

    def extra_repr(self):
        """The settings."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class LSTMCell(_Cell):
    """One step of :class:`LSTM`: ``(h, c) = cell(input, (h, c))``."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        """One step on (N, input_size) or (input_size)."""
        if input.dim() == 1:
            pair = None if hx is None else tuple(h.unsqueeze(0) for h in hx)
            return tuple(h.squeeze(0) for h in self.forward(input.unsqueeze(0), pair))
        hx = (self._zeros(input),) * 2 if hx is None else hx
        a, b = self._sides(input, hx[0])
        return _lstm_step(a + b, hx)


class GRUCell(_Cell):
    """One step of :class:`GRU`: ``h = cell(input, h)``."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        """One step on (N, input_size) or (input_size)."""
        if input.dim() == 1:
            state = None if hx is None else hx.unsqueeze(0)
            return self.forward(input.unsqueeze(0), state).squeeze(0)
        hx = self._zeros(input) if hx is None else hx
        return _gru_step(*self._sides(input, hx), hx)


class RNNCell(_Cell):
    """One step of :class:`RNN`: ``h = cell(input, h)``."""

    def __init__(
        self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None
    ):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        """One step on (N, input_size)."""
        hx = self._zeros(input) if hx is None else hx
        a, b = self._sides(input, hx)
        return (a + b).tanh() if self.nonlinearity == "tanh" else (a + b).relu()
