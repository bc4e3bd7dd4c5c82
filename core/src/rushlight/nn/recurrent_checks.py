"""What recurrent layers refuse, and the methods by which subclasses of programs ask."""

from __future__ import annotations

from rushlight.nn.module import Module
from rushlight.tensor import dispatch


class RecurrentChecks(Module):
    """Checks of inputs and states, and their expected sizes."""

    def check_input(self, input, batch_sizes):
        """Refuse inputs whose dimensions or last size do not fit."""
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        weight = self.weight_ih_l0
        if input.dtype != weight.dtype and not is_casting():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.shape[-1]}"
            )

    def _state_shapes(self, batch):
        count = self.num_layers * (2 if self.bidirectional else 1)
        return [(count, batch, width) for width in self._widths()]

    def _batch_of(self, input, batch_sizes):
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.shape[0 if self.batch_first else 1]

    def get_expected_hidden_size(self, input, batch_sizes) -> tuple[int, int, int]:
        """The size of the hidden states for an input, which is packed where there are
        `batch_sizes`."""
        return self._state_shapes(self._batch_of(input, batch_sizes))[0]

    def check_hidden_size(
        self, hx, expected_hidden_size, msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError with a message for states of another size."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        """Refuse what `forward` would: an input or states that do not fit."""
        self.check_input(input, batch_sizes)
        shapes = self._state_shapes(self._batch_of(input, batch_sizes))
        self._check_states(hidden if len(shapes) > 1 else (hidden,), shapes)

    def _check_states(self, states, shapes):
        for i, (state, shape) in enumerate(zip(states, shapes, strict=True)):
            name = f"hidden[{i}]" if len(shapes) > 1 else "hidden"
            self.check_hidden_size(state, shape, f"Expected {name} size {{}}, got {{}}")

    def permute_hidden(self, hx, permutation):
        """The state of the sequences in another order."""
        if permutation is None:
            return hx
        if isinstance(hx, tuple):
            return tuple(h.index_select(1, permutation) for h in hx)
        return hx.index_select(1, permutation)


def is_casting():
    """Whether ops of this thread are cast as they run."""
    if not dispatch.STATE.modes:
        return False
    return any(getattr(mode, "casts", False) for mode in dispatch.stack.interpreters)
