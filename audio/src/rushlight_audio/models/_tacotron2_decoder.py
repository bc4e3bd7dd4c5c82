"""The decoder of Tacotron 2: attention that knows where it was, and two recurrent cells."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional
from rushlight_audio.models._lengths import padding_mask

__all__ = ["Decoder", "convolution", "linear"]


def linear(inputs: int, outputs: int, bias: bool = True, gain: str = "linear") -> nn.Linear:
    """A linear layer with Xavier's first weights for what follows it."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(layer.weight, gain=nn.init.calculate_gain(gain))
    return layer


def convolution(
    inputs: int, outputs: int, kernel_size: int, gain: str = "linear", bias: bool = True
) -> nn.Conv1d:
    """A convolution that keeps the length, with Xavier's first weights for what follows it."""
    layer = nn.Conv1d(inputs, outputs, kernel_size, padding=(kernel_size - 1) // 2, bias=bias)
    nn.init.xavier_uniform_(layer.weight, gain=nn.init.calculate_gain(gain))
    return layer


class _LocationLayer(nn.Module):
    """Features of the weights of the step before and of the sum of all before."""

    def __init__(
        self, attention_n_filter: int, attention_kernel_size: int, attention_hidden_dim: int
    ):
        super().__init__()
        self.location_conv = convolution(2, attention_n_filter, attention_kernel_size, bias=False)
        self.location_dense = linear(
            attention_n_filter, attention_hidden_dim, bias=False, gain="tanh"
        )

    def forward(self, weights: rl.Tensor) -> rl.Tensor:
        """``[B, T, attention_hidden_dim]`` of ``[B, 2, T]``."""
        return self.location_dense(self.location_conv(weights).transpose(1, 2))


class _Attention(nn.Module):
    """Additive attention over encoded symbols, by content and by location."""

    def __init__(
        self,
        attention_rnn_dim: int,
        encoder_embedding_dim: int,
        attention_hidden_dim: int,
        attention_location_n_filter: int,
        attention_location_kernel_size: int,
    ) -> None:
        super().__init__()
        hidden = attention_hidden_dim
        self.query_layer = linear(attention_rnn_dim, hidden, bias=False, gain="tanh")
        self.memory_layer = linear(encoder_embedding_dim, hidden, bias=False, gain="tanh")
        self.v = linear(hidden, 1, bias=False)
        self.location_layer = _LocationLayer(
            attention_location_n_filter, attention_location_kernel_size, hidden
        )

    def forward(
        self,
        hidden: rl.Tensor,
        memory: rl.Tensor,
        processed: rl.Tensor,
        weights: rl.Tensor,
        mask: rl.Tensor,
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """The mixture ``[B, D]`` of `memory` ``[B, T, D]`` and its weights ``[B, T]``."""
        query = self.query_layer(hidden.unsqueeze(1))
        energies = self.v(rl.tanh(query + self.location_layer(weights) + processed)).squeeze(2)
        shares = functional.softmax(energies.masked_fill(mask, -float("inf")), dim=1)
        return rl.bmm(shares.unsqueeze(1), memory).squeeze(1), shares


class _Prenet(nn.Module):
    """Layers before the recurrence, with dropout in evaluation as well: without it, synthesis
    copies the frame before."""

    def __init__(self, in_dim: int, out_sizes: list[int]) -> None:
        super().__init__()
        inputs = [in_dim, *out_sizes[:-1]]
        self.layers = nn.ModuleList(
            linear(before, after, bias=False)
            for before, after in zip(inputs, out_sizes, strict=True)
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[*, out]`` of ``[*, in_dim]``."""
        for layer in self.layers:
            x = functional.dropout(functional.relu(layer(x)), p=0.5, training=True)
        return x


class State(NamedTuple):
    """What goes from one step to the next."""

    attention_hidden: rl.Tensor
    attention_cell: rl.Tensor
    decoder_hidden: rl.Tensor
    decoder_cell: rl.Tensor
    weights: rl.Tensor
    weights_sum: rl.Tensor
    context: rl.Tensor


class Step(NamedTuple):
    """What a step gives: a frame, the logit that it is the last, weights of the attention."""

    mel: rl.Tensor
    gate: rl.Tensor
    weights: rl.Tensor


class Decoder(nn.Module):
    """Frames of a mel spectrogram, one step after the other."""

    def __init__(
        self,
        n_mels: int,
        n_frames_per_step: int,
        encoder_embedding_dim: int,
        decoder_rnn_dim: int,
        decoder_max_step: int,
        decoder_dropout: float,
        decoder_early_stopping: bool,
        attention_rnn_dim: int,
        attention_hidden_dim: int,
        attention_location_n_filter: int,
        attention_location_kernel_size: int,
        attention_dropout: float,
        prenet_dim: int,
        gate_threshold: float,
    ) -> None:
        super().__init__()
        self.n_mels = n_mels
        self.width = n_mels * n_frames_per_step
        self.attention_rnn_dim = attention_rnn_dim
        self.decoder_rnn_dim = decoder_rnn_dim
        self.decoder_max_step = decoder_max_step
        self.gate_threshold = gate_threshold
        self.attention_dropout = attention_dropout
        self.decoder_dropout = decoder_dropout
        self.decoder_early_stopping = decoder_early_stopping
        encoded = encoder_embedding_dim
        self.prenet = _Prenet(self.width, [prenet_dim, prenet_dim])
        self.attention_rnn = nn.LSTMCell(prenet_dim + encoded, attention_rnn_dim)
        self.attention_layer = _Attention(
            attention_rnn_dim,
            encoded,
            attention_hidden_dim,
            attention_location_n_filter,
            attention_location_kernel_size,
        )
        self.decoder_rnn = nn.LSTMCell(attention_rnn_dim + encoded, decoder_rnn_dim)
        self.linear_projection = linear(decoder_rnn_dim + encoded, self.width)
        self.gate_layer = linear(decoder_rnn_dim + encoded, 1, gain="sigmoid")

    def _first(self, memory: rl.Tensor) -> State:
        """Zeros."""
        batch, length, width = memory.shape
        sizes = [self.attention_rnn_dim] * 2 + [self.decoder_rnn_dim] * 2 + [length] * 2 + [width]
        return State(*(memory.new_zeros(batch, size) for size in sizes))

    def _step(
        self,
        frame: rl.Tensor,
        state: State,
        memory: rl.Tensor,
        processed: rl.Tensor,
        mask: rl.Tensor,
    ) -> tuple[Step, State]:
        """One step from the frame before."""
        hidden, cell = self.attention_rnn(
            rl.cat((frame, state.context), -1), (state.attention_hidden, state.attention_cell)
        )
        hidden = functional.dropout(hidden, self.attention_dropout, self.training)
        both = rl.stack((state.weights, state.weights_sum), dim=1)
        context, weights = self.attention_layer(hidden, memory, processed, both, mask)
        out, out_cell = self.decoder_rnn(
            rl.cat((hidden, context), -1), (state.decoder_hidden, state.decoder_cell)
        )
        out = functional.dropout(out, self.decoder_dropout, self.training)
        joined = rl.cat((out, context), dim=1)
        step = Step(self.linear_projection(joined), self.gate_layer(joined), weights)
        after = state.weights_sum + weights
        return step, State(hidden, cell, out, out_cell, weights, after, context)

    def _gathered(self, steps: list[Step]) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Spectrograms ``[B, n_mels, T]``, logits of ends ``[B, steps]``, weights
        ``[B, steps, symbols]``."""
        mels, gates, weights = (rl.stack(each, dim=1) for each in zip(*steps, strict=True))
        mels = mels.reshape(mels.shape[0], -1, self.n_mels)
        return mels.transpose(1, 2), gates.squeeze(2), weights

    def forward(
        self, memory: rl.Tensor, mel_specgram_truth: rl.Tensor, memory_lengths: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Each step is given the true frames before it."""
        batch = memory.shape[0]
        frames = mel_specgram_truth.transpose(1, 2).reshape(batch, -1, self.width).transpose(0, 1)
        first = frames.new_zeros(1, batch, self.width)
        inputs = self.prenet(rl.cat((first, frames), dim=0))
        mask, processed = padding_mask(memory_lengths), self.attention_layer.memory_layer(memory)
        state, steps = self._first(memory), []
        for frame in inputs[:-1].unbind(0):
            step, state = self._step(frame, state, memory, processed, mask)
            steps.append(step)
        return self._gathered(steps)

    def infer(
        self, memory: rl.Tensor, memory_lengths: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor, rl.Tensor]:
        """Each step is given the frames that the one before it made; also the lengths."""
        batch = memory.shape[0]
        frame = memory.new_zeros(batch, self.width)
        mask, processed = padding_mask(memory_lengths), self.attention_layer.memory_layer(memory)
        state, steps = self._first(memory), []
        lengths = rl.zeros(batch, dtype=rl.int32, device=memory.device)
        ended = rl.zeros(batch, dtype=rl.bool, device=memory.device)
        for _ in range(self.decoder_max_step):
            step, state = self._step(self.prenet(frame), state, memory, processed, mask)
            steps.append(step)
            lengths = lengths + (~ended).to(lengths.dtype)
            ended = ended | (step.gate.squeeze(1).sigmoid() > self.gate_threshold)
            if self.decoder_early_stopping and bool(ended.all()):
                break
            frame = step.mel
        if len(steps) == self.decoder_max_step:
            warnings.warn(
                f"Tacotron2: stopped at decoder_max_step={self.decoder_max_step}; the spectrogram "
                "may end before the text does",
                stacklevel=3,
            )
        mels, gates, weights = self._gathered(steps)
        return mels, lengths, gates, weights
