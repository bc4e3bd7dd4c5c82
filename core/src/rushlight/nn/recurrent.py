"""Recurrent layers: RNN, LSTM and GRU; step by step where sequences end at different steps."""

from __future__ import annotations

import math
import warnings

from rushlight.nn import functional as F
from rushlight.nn import initialization as init
from rushlight.nn.module import Module
from rushlight.nn.packed_calls import is_recorded
from rushlight.nn.parameter import Parameter
from rushlight.nn.recurrent_checks import RecurrentChecks, is_casting
from rushlight.ops.creation.tensors import empty, zeros
from rushlight.ops.neural.recurrence import _recurrence, gru_step, lstm_step
from rushlight.ops.shape.joining import cat, stack
from rushlight.tensor import dispatch
from rushlight.tensor.tensor import EXACT


class RNNBase(RecurrentChecks):
    """What RNN, LSTM and GRU share; `mode` is ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or
    ``"RNN_RELU"``."""

    def __init__(
        self,
        mode,
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
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        _check_settings(mode, hidden_size, num_layers, dropout, proj_size)
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        for name, value in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(value, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        kind = {"device": device, "dtype": dtype}
        rows, directions = _GATES[mode] * hidden_size, 2 if bidirectional else 1
        out = proj_size or hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else out * directions
            for direction in range(directions):
                suffix = _suffix(layer, direction)
                setattr(self, "weight_ih" + suffix, Parameter(empty((rows, width), **kind)))
                setattr(self, "weight_hh" + suffix, Parameter(empty((rows, out), **kind)))
                if bias:
                    setattr(self, "bias_ih" + suffix, Parameter(empty(rows, **kind)))
                    setattr(self, "bias_hh" + suffix, Parameter(empty(rows, **kind)))
                if proj_size:
                    shape = (proj_size, hidden_size)
                    setattr(self, "weight_hr" + suffix, Parameter(empty(shape, **kind)))
        self.reset_parameters()

    def reset_parameters(self):
        """Draw fresh initial values: uniform within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self):
        """Nothing to do: the weights need no special layout here."""

    @property
    def _all_weights(self):
        names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if self.bias else [])]
        names += ["weight_hr"] if self.proj_size else []
        return [
            [name + _suffix(layer, direction) for name in names]
            for layer in range(self.num_layers)
            for direction in range(2 if self.bidirectional else 1)
        ]

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self):
        """The parameters, a list for every layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def _run(self, flat, sizes, layer, reverse, initial):
        """One layer in one direction over `flat` (sum of sizes, E), whose steps have sizes that do
        not rise: the outputs alike, and the last state of every sequence."""
        suffix = _suffix(layer, reverse)
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        w_ih, w_hh, b_ih, b_hh, w_hr = (getattr(self, n + suffix, None) for n in names)
        if self._is_one_op(sizes, (flat, *initial, w_ih, w_hh), w_hr):
            return self._run_at_once(flat, sizes, reverse, initial, (w_ih, w_hh, b_ih, b_hh))
        projected = F.linear(flat, w_ih, b_ih).split(sizes, 0)
        outputs, finished = [], []
        state = tuple(part[: sizes[-1]] for part in initial) if reverse else initial
        for gates in reversed(projected) if reverse else projected:
            rows, have = gates.shape[0], state[0].shape[0]
            if rows < have:  # the shortest sequences end here
                finished.append(tuple(part[rows:] for part in state))
                state = tuple(part[:rows] for part in state)
            elif rows > have:  # going backwards, they begin here
                more = zip(state, initial, strict=True)
                state = tuple(cat((part, first[have:rows]), 0) for part, first in more)
            state = self._step(gates, state, w_hh, b_hh, w_hr)
            outputs.append(state[0])
        if finished:
            parts = (state, *reversed(finished))
            state = tuple(cat(pieces, 0) for pieces in zip(*parts, strict=True))
        if reverse:
            outputs.reverse()
        return cat(outputs, 0), state

    def _is_one_op(self, sizes, tensors, w_hr):
        """Whether a layer can run as one op: sequences of one length, ordinary tensors of one
        dtype, no projection. Where ops are cast GRU goes by steps and keeps states of float32, as
        in PyTorch."""
        if w_hr is not None or sizes[0] != sizes[-1] or not _are_ordinary(tensors):
            return False
        if is_casting():
            return self.mode != "GRU"
        return all(t.dtype is tensors[0].dtype for t in tensors)

    def _run_at_once(self, flat, sizes, reverse, initial, weights):
        w_ih, w_hh, b_ih, b_hh = weights
        kind = self.mode.removeprefix("RNN_").lower()
        if kind != "gru" and b_ih is not None:
            b_ih, b_hh = b_ih + b_hh, None
        gates = F.linear(flat, w_ih, b_ih).reshape(len(sizes), sizes[0], w_ih.shape[0])
        hidden, cell = initial if kind == "lstm" else (initial[0], None)
        out, cell, *_ = _recurrence(gates, hidden, cell, w_hh, b_hh, kind, reverse)
        final = out[0] if reverse else out[-1]
        state = (final, cell) if kind == "lstm" else (final,)
        return out.reshape(flat.shape[0], out.shape[2]), state

    def _layers(self, flat, sizes, initial):
        """All layers and directions; `initial` gives each (layer, direction) its state."""
        directions = 2 if self.bidirectional else 1
        finals = []
        for layer in range(self.num_layers):
            results = []
            for direction in range(directions):
                state = tuple(part[layer * directions + direction] for part in initial)
                out, final = self._run(flat, sizes, layer, bool(direction), state)
                results.append(out)
                finals.append(final)
            flat = results[0] if directions == 1 else cat(results, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                flat = F.dropout(flat, self.dropout)
        return flat, [stack(parts, 0) for parts in zip(*finals, strict=True)]

    def _widths(self):
        """The size of each part of the state."""
        return (self.proj_size or self.hidden_size,)

    def _initial(self, hidden, batch, like):
        expected = self._state_shapes(batch)
        if hidden is None:
            return [zeros(shape, dtype=like.dtype, device=like.device) for shape in expected]
        self._check_states(hidden, expected)
        return list(hidden)

    def _forward(self, input, hidden):
        """Outputs in the form of the input, and the list of final states."""
        if isinstance(input, tuple) and hasattr(input, "batch_sizes"):
            return self._forward_packed(input, hidden)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead"
            )
        unbatched = input.dim() == 2
        for state in hidden or ():
            if state.dim() != input.dim():
                raise RuntimeError(
                    f"For {'unbatched' if unbatched else 'batched'} {input.dim()}-D input, hx "
                    f"{'(and cx) ' if len(hidden) > 1 else ''}should also be {input.dim()}-D but "
                    f"got {state.dim()}-D tensor"
                )
        if unbatched:
            input = input.unsqueeze(1)
            hidden = None if hidden is None else [h.unsqueeze(1) for h in hidden]
        if _is_one_step(input):
            return self._captured(input, hidden, unbatched)
        if self.batch_first and not unbatched:
            input = input.transpose(0, 1)
        self.check_input(input, None)
        if input.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        length, batch = input.shape[:2]
        state = self._initial(hidden, batch, input)
        flat = input.reshape(length * batch, input.shape[2])
        output, finals = self._layers(flat, [batch] * length, state)
        output = output.reshape(length, batch, output.shape[1])
        if unbatched:
            return output.squeeze(1), [f.squeeze(1) for f in finals]
        return (output.transpose(0, 1) if self.batch_first else output), finals

    def _captured(self, input, hidden, unbatched):
        """The network as one step of a program that is captured."""
        from rushlight.nn import native_calls

        batch_first = self.batch_first and not unbatched
        self.check_input(input, None)
        batch = input.shape[0 if batch_first else 1]
        if hidden is None:
            hidden = self._initial(None, batch, input)
        state = hidden if self.mode == "LSTM" else hidden[0]
        output, *finals = getattr(native_calls, self.mode.lower())(
            input, state, list(self._parameters.values()), self.bias, self.num_layers,
            float(self.dropout), self.training, self.bidirectional, batch_first,
        )  # fmt: skip
        if unbatched:
            return output.squeeze(1), [f.squeeze(1) for f in finals]
        return output, finals

    def _forward_packed(self, packed, hidden):
        data, batch_sizes, order, back = packed
        self.check_input(data, batch_sizes)
        if hidden is not None and order is not None:
            hidden = [h.index_select(1, order) for h in hidden]
        if is_recorded(data, batch_sizes):
            output, finals = self._recorded_packed(packed, hidden)
        else:
            sizes = batch_sizes.tolist()
            state = self._initial(hidden, sizes[0], data)
            output, finals = self._layers(data, sizes, state)
        if back is not None:
            finals = [f.index_select(1, back) for f in finals]
        return type(packed)(output, batch_sizes, order, back), finals

    def _recorded_packed(self, packed, hidden):
        """The network over packed data as one step of a trace or of a captured program."""
        from rushlight.nn import native_calls

        data, batch_sizes, order, _ = packed
        batch = getattr(batch_sizes, "_batch", None) if order is None else order.shape[0]
        batch = batch_sizes[0].item() if batch is None else batch
        if hidden is None:  # by a method, which traces record with the size of the batch
            hidden = [data.new_zeros(shape) for shape in self._state_shapes(batch)]
        state = self._initial(hidden, batch, data)
        output, *finals = getattr(native_calls, self.mode.lower())(
            data, batch_sizes, state if self.mode == "LSTM" else state[0],
            list(self._parameters.values()), self.bias, self.num_layers, float(self.dropout),
            self.training, self.bidirectional,
        )  # fmt: skip
        return output, finals

    def extra_repr(self):
        """The settings that differ from their defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


def _is_one_step(input):
    """Whether a program is captured, of which the network is to be one step."""
    return bool(dispatch.STATE.levels) and dispatch.captured_part(input) is not None


def _are_ordinary(tensors):
    """Whether none is of a class that may do as it likes."""
    return all(type(t) in EXACT for t in tensors)


_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _suffix(layer, reverse):
    return f"_l{layer}" + ("_reverse" if reverse else "")


def _check_settings(mode, hidden_size, num_layers, dropout, proj_size):
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            "being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )
    if not isinstance(hidden_size, int):
        raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
    if hidden_size <= 0:
        raise ValueError("hidden_size must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if proj_size and mode != "LSTM":
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class LSTM(RNNBase):
    """Long short-term memory over (L, N, input_size) (or batch first, or packed).

    ``forward(input, (h_0, c_0)=None)`` gives ``output, (h_n, c_n)``. `proj_size` projects the
    hidden state. (Hochreiter and Schmidhuber, 1997; Sak et al., 2014.)
    """

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
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip

    def _widths(self):
        return self.proj_size or self.hidden_size, self.hidden_size

    def get_expected_cell_size(self, input, batch_sizes) -> tuple[int, int, int]:
        """The size of the cell states for an input."""
        return self._state_shapes(self._batch_of(input, batch_sizes))[1]

    def _step(self, gates, state, w_hh, b_hh, w_hr):
        hidden, cell = lstm_step(gates + F.linear(state[0], w_hh, b_hh), *state)
        return (hidden if w_hr is None else F.linear(hidden, w_hr)), cell

    def forward(self, input, hx=None):
        """Run over the sequence."""
        output, finals = self._forward(input, None if hx is None else list(hx))
        return output, tuple(finals)


class GRU(RNNBase):
    """Gated recurrent units over (L, N, input_size) (or batch first, or packed).

    (Cho et al., 2014.)
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        device=None,
        dtype=None,
    ):
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip

    def _step(self, gates, state, w_hh, b_hh, w_hr):
        return (gru_step(gates, F.linear(state[0], w_hh, b_hh), state[0]),)

    def forward(self, input, hx=None):
        """Run over the sequence: ``output, h_n``."""
        output, finals = self._forward(input, None if hx is None else [hx])
        return output, finals[0]


class RNN(RNNBase):
    """The Elman network over (L, N, input_size) (or batch first, or packed), tanh or relu."""

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
        mode = "RNN_" + nonlinearity.upper()
        self.__dict__["nonlinearity"] = nonlinearity
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip

    def _step(self, gates, state, w_hh, b_hh, w_hr):
        total = gates + F.linear(state[0], w_hh, b_hh)
        return (total.tanh() if self.nonlinearity == "tanh" else total.relu(),)

    def forward(self, input, hx=None):
        """Run over the sequence: ``output, h_n``."""
        output, finals = self._forward(input, None if hx is None else [hx])
        return output, finals[0]


class RNNCellBase(Module):
    """What RNNCell, LSTMCell and GRUCell share."""

    def __init__(self, input_size, hidden_size, bias, num_chunks: int, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        kind = {"device": device, "dtype": dtype}
        rows = num_chunks * hidden_size
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

    def _checked(self, input, states):
        """Input and states (None: zeros) with a batch dimension, and whether it was added."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for state in states or ():
            if state.dim() not in (1, 2):
                raise ValueError(
                    f"{name}: Expected hidden to be 1D or 2D, got {state.dim()}D instead"
                )
        unbatched = input.dim() == 1
        if unbatched:
            input = input.unsqueeze(0)
        if input.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[1]} expected "
                f"{self.input_size}"
            )
        if states is None:
            return input, None, unbatched
        if unbatched:
            states = [s.unsqueeze(0) if s.dim() == 1 else s for s in states]
        for i, state in enumerate(states):
            if state.dim() != 2 or state.shape[0] != input.shape[0]:
                raise RuntimeError(
                    f"Input batch size {input.shape[0]} doesn't match hidden{i} batch size "
                    f"{state.shape[0]}"
                )
            if state.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {state.shape[1]}, expected "
                    f"{self.hidden_size}"
                )
        return input, states, unbatched

    def _sides(self, input, hidden):
        return (
            F.linear(input, self.weight_ih, self.bias_ih),
            F.linear(hidden, self.weight_hh, self.bias_hh),
        )

    def _zeros(self, input):
        return zeros(input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device)

    def extra_repr(self):
        """The settings."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class LSTMCell(RNNCellBase):
    """One step of :class:`LSTM`: ``(h, c) = cell(input, (h, c))``."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        """One step on (N, input_size) or (input_size)."""
        input, states, unbatched = self._checked(input, None if hx is None else list(hx))
        states = (self._zeros(input),) * 2 if states is None else states
        a, b = self._sides(input, states[0])
        found = lstm_step(a + b, *states)
        return tuple(h.squeeze(0) for h in found) if unbatched else found


class GRUCell(RNNCellBase):
    """One step of :class:`GRU`: ``h = cell(input, h)``."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        """One step on (N, input_size) or (input_size)."""
        input, states, unbatched = self._checked(input, None if hx is None else [hx])
        state = self._zeros(input) if states is None else states[0]
        found = gru_step(*self._sides(input, state), state)
        return found.squeeze(0) if unbatched else found


class RNNCell(RNNCellBase):
    """One step of :class:`RNN`: ``h = cell(input, h)``."""

    def __init__(
        self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None
    ):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        """One step on (N, input_size) or (input_size)."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        input, states, unbatched = self._checked(input, None if hx is None else [hx])
        a, b = self._sides(input, self._zeros(input) if states is None else states[0])
        found = (a + b).tanh() if self.nonlinearity == "tanh" else (a + b).relu()
        return found.squeeze(0) if unbatched else found
