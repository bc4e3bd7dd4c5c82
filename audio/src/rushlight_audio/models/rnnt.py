"""A recurrent transducer with an Emformer for an encoder (Graves, Sequence transduction with
recurrent neural networks, 2012).

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio.models.emformer import Emformer

__all__ = ["RNNT", "emformer_rnnt_base", "emformer_rnnt_model"]

State = list[list[rl.Tensor]]


class _TimeReduction(nn.Module):
    """`stride` frames as one wide one."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, input: rl.Tensor, lengths: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """``[B, T // stride, D * stride]`` of ``[B, T, D]``."""
        batch, length, width = input.shape
        frames = length // self.stride
        whole = input[:, : frames * self.stride]
        reduced = lengths.div(self.stride, rounding_mode="trunc")
        return whole.reshape(batch, frames, width * self.stride), reduced


class _CustomLSTM(nn.Module):
    """An LSTM whose gates and cell may be normalised. Frames come first: T, B, D."""

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        layer_norm: bool = False,
        layer_norm_epsilon: float = 1e-5,
    ) -> None:
        super().__init__()
        self.x2g = nn.Linear(input_dim, 4 * hidden_dim, bias=not layer_norm)
        self.p2g = nn.Linear(hidden_dim, 4 * hidden_dim, bias=False)
        if layer_norm:
            self.c_norm: nn.Module = nn.LayerNorm(hidden_dim, eps=layer_norm_epsilon)
            self.g_norm: nn.Module = nn.LayerNorm(4 * hidden_dim, eps=layer_norm_epsilon)
        else:
            self.c_norm = nn.Identity()
            self.g_norm = nn.Identity()
        self.hidden_dim = hidden_dim

    def forward(
        self, input: rl.Tensor, state: list[rl.Tensor] | None
    ) -> tuple[rl.Tensor, list[rl.Tensor]]:
        """``[T, B, hidden_dim]`` of ``[T, B, input_dim]``, and output and cell of the last step."""
        if state is None:
            hidden = cell = input.new_zeros(input.shape[1], self.hidden_dim)
        else:
            hidden, cell = state
        outputs = []
        for step in self.x2g(input).unbind(0):
            gates = self.g_norm(step + self.p2g(hidden))
            enter, forget, new, leave = gates.chunk(4, 1)
            cell = self.c_norm(forget.sigmoid() * cell + enter.sigmoid() * new.tanh())
            hidden = leave.sigmoid() * cell.tanh()
            outputs.append(hidden)
        return rl.stack(outputs), [hidden, cell]


class _EmformerEncoder(nn.Module):
    """Encodings of acoustic features: a projection, fewer and wider frames, an Emformer."""

    def __init__(
        self,
        *,
        input_dim: int,
        output_dim: int,
        segment_length: int,
        right_context_length: int,
        time_reduction_input_dim: int,
        time_reduction_stride: int,
        transformer_num_heads: int,
        transformer_ffn_dim: int,
        transformer_num_layers: int,
        transformer_left_context_length: int,
        transformer_dropout: float = 0.0,
        transformer_activation: str = "relu",
        transformer_max_memory_size: int = 0,
        transformer_weight_init_scale_strategy: str = "depthwise",
        transformer_tanh_on_mem: bool = False,
    ) -> None:
        super().__init__()
        self.input_linear = nn.Linear(input_dim, time_reduction_input_dim, bias=False)
        self.time_reduction = _TimeReduction(time_reduction_stride)
        width = time_reduction_input_dim * time_reduction_stride
        self.transformer = Emformer(
            width,
            transformer_num_heads,
            transformer_ffn_dim,
            transformer_num_layers,
            segment_length // time_reduction_stride,
            dropout=transformer_dropout,
            activation=transformer_activation,
            left_context_length=transformer_left_context_length,
            right_context_length=right_context_length // time_reduction_stride,
            max_memory_size=transformer_max_memory_size,
            weight_init_scale_strategy=transformer_weight_init_scale_strategy,
            tanh_on_mem=transformer_tanh_on_mem,
        )
        self.output_linear = nn.Linear(width, output_dim)
        self.layer_norm = nn.LayerNorm(output_dim)

    def forward(self, input: rl.Tensor, lengths: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """Encodings of whole utterances and their lengths."""
        reduced, frames = self.time_reduction(self.input_linear(input), lengths)
        encoded, frames = self.transformer(reduced, frames)
        return self.layer_norm(self.output_linear(encoded)), frames

    def infer(
        self, input: rl.Tensor, lengths: rl.Tensor, states: State | None
    ) -> tuple[rl.Tensor, rl.Tensor, State]:
        """Encodings of the next segment, their lengths, the state for the next call."""
        reduced, frames = self.time_reduction(self.input_linear(input), lengths)
        encoded, frames, states = self.transformer.infer(reduced, frames, states)
        return self.layer_norm(self.output_linear(encoded)), frames, states


class _Predictor(nn.Module):
    """Encodings of what was said so far."""

    def __init__(
        self,
        num_symbols: int,
        output_dim: int,
        symbol_embedding_dim: int,
        num_lstm_layers: int,
        lstm_hidden_dim: int,
        lstm_layer_norm: bool = False,
        lstm_layer_norm_epsilon: float = 1e-5,
        lstm_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_symbols, symbol_embedding_dim)
        self.input_layer_norm = nn.LayerNorm(symbol_embedding_dim)
        norm: dict[str, Any] = {
            "layer_norm": lstm_layer_norm,
            "layer_norm_epsilon": lstm_layer_norm_epsilon,
        }
        self.lstm_layers = nn.ModuleList(
            _CustomLSTM(
                lstm_hidden_dim if number else symbol_embedding_dim, lstm_hidden_dim, **norm
            )
            for number in range(num_lstm_layers)
        )
        self.dropout = nn.Dropout(p=lstm_dropout)
        self.linear = nn.Linear(lstm_hidden_dim, output_dim)
        self.output_layer_norm = nn.LayerNorm(output_dim)
        self.lstm_dropout = lstm_dropout

    def forward(
        self, input: rl.Tensor, lengths: rl.Tensor, state: State | None = None
    ) -> tuple[rl.Tensor, rl.Tensor, State]:
        """Encodings ``[B, U, output_dim]`` of symbols ``[B, U]``, the lengths, the state."""
        x = self.input_layer_norm(self.embedding(input.permute(1, 0)))
        after: State = []
        for number, layer in enumerate(self.lstm_layers):
            x, own = layer(x, None if state is None else state[number])
            x = self.dropout(x)
            after.append(own)
        x = self.output_layer_norm(self.linear(x))
        return x.permute(1, 0, 2), lengths, after


class _Joiner(nn.Module):
    """Logits of the next symbol of every pair of a frame and a history."""

    def __init__(self, input_dim: int, output_dim: int, activation: str = "relu") -> None:
        super().__init__()
        if activation not in ("relu", "tanh"):
            raise ValueError(f'RNNT: activation is "relu" or "tanh", got {activation!r}')
        self.linear = nn.Linear(input_dim, output_dim, bias=True)
        self.activation = nn.ReLU() if activation == "relu" else nn.Tanh()

    def forward(
        self,
        source_encodings: rl.Tensor,
        source_lengths: rl.Tensor,
        target_encodings: rl.Tensor,
        target_lengths: rl.Tensor,
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Logits ``[B, T, U, output_dim]`` of ``[B, T, D]`` and ``[B, U, D]``, both lengths."""
        joint = source_encodings.unsqueeze(2) + target_encodings.unsqueeze(1)
        return self.linear(self.activation(joint)), source_lengths, target_lengths


class RNNT(nn.Module):
    """A transducer: an encoder of frames, an encoder of symbols, and what joins the two.

    Args:
        transcriber: encodes frames; has ``infer`` for streams.
        predictor: encodes symbols.
        joiner: makes logits of both.
    """

    def __init__(self, transcriber: nn.Module, predictor: nn.Module, joiner: nn.Module) -> None:
        super().__init__()
        self.transcriber = transcriber
        self.predictor = predictor
        self.joiner = joiner

    def forward(
        self,
        sources: rl.Tensor,
        source_lengths: rl.Tensor,
        targets: rl.Tensor,
        target_lengths: rl.Tensor,
        predictor_state: State | None = None,
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor, State]:
        """Logits of all pairs, as ``rnnt_loss`` takes them.

        Args:
            sources: frames ``[B, T + right context, D]``.
            source_lengths: ``[B]``.
            targets: symbols ``[B, U]``.
            target_lengths: ``[B]``.
            predictor_state: of the predictor; None at the beginning.

        Returns:
            Logits ``[B, T', U, symbols]``, lengths of frames, lengths of symbols, the state.
        """
        source, source_lengths = self.transcriber(sources, source_lengths)
        target, target_lengths, state = self.predictor(targets, target_lengths, predictor_state)
        output, source_lengths, target_lengths = self.joiner(
            source, source_lengths, target, target_lengths
        )
        return output, source_lengths, target_lengths, state

    def transcribe_streaming(
        self, sources: rl.Tensor, source_lengths: rl.Tensor, state: State | None
    ) -> tuple[rl.Tensor, rl.Tensor, State]:
        """Encodings of the next segment of a stream, their lengths, the state."""
        return self.transcriber.infer(sources, source_lengths, state)

    def transcribe(
        self, sources: rl.Tensor, source_lengths: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """Encodings of whole utterances and their lengths."""
        return self.transcriber(sources, source_lengths)

    def predict(
        self, targets: rl.Tensor, target_lengths: rl.Tensor, state: State | None
    ) -> tuple[rl.Tensor, rl.Tensor, State]:
        """Encodings of symbols, their lengths, the state."""
        return self.predictor(input=targets, lengths=target_lengths, state=state)

    def join(
        self,
        source_encodings: rl.Tensor,
        source_lengths: rl.Tensor,
        target_encodings: rl.Tensor,
        target_lengths: rl.Tensor,
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Logits of all pairs of encodings and both lengths."""
        return self.joiner(source_encodings, source_lengths, target_encodings, target_lengths)


def emformer_rnnt_model(
    *,
    input_dim: int,
    encoding_dim: int,
    num_symbols: int,
    segment_length: int,
    right_context_length: int,
    time_reduction_input_dim: int,
    time_reduction_stride: int,
    transformer_num_heads: int,
    transformer_ffn_dim: int,
    transformer_num_layers: int,
    transformer_dropout: float,
    transformer_activation: str,
    transformer_left_context_length: int,
    transformer_max_memory_size: int,
    transformer_weight_init_scale_strategy: str,
    transformer_tanh_on_mem: bool,
    symbol_embedding_dim: int,
    num_lstm_layers: int,
    lstm_layer_norm: bool,
    lstm_layer_norm_epsilon: float,
    lstm_dropout: float,
) -> RNNT:
    """An :class:`RNNT` with an Emformer of these sizes and an LSTM over symbols.

    Segments and contexts are counted in frames of the input, before `time_reduction_stride` of them
    become one. See :func:`emformer_rnnt_base` for usual sizes.
    """
    encoder = _EmformerEncoder(
        input_dim=input_dim,
        output_dim=encoding_dim,
        segment_length=segment_length,
        right_context_length=right_context_length,
        time_reduction_input_dim=time_reduction_input_dim,
        time_reduction_stride=time_reduction_stride,
        transformer_num_heads=transformer_num_heads,
        transformer_ffn_dim=transformer_ffn_dim,
        transformer_num_layers=transformer_num_layers,
        transformer_dropout=transformer_dropout,
        transformer_activation=transformer_activation,
        transformer_left_context_length=transformer_left_context_length,
        transformer_max_memory_size=transformer_max_memory_size,
        transformer_weight_init_scale_strategy=transformer_weight_init_scale_strategy,
        transformer_tanh_on_mem=transformer_tanh_on_mem,
    )
    predictor = _Predictor(
        num_symbols,
        encoding_dim,
        symbol_embedding_dim=symbol_embedding_dim,
        num_lstm_layers=num_lstm_layers,
        lstm_hidden_dim=symbol_embedding_dim,
        lstm_layer_norm=lstm_layer_norm,
        lstm_layer_norm_epsilon=lstm_layer_norm_epsilon,
        lstm_dropout=lstm_dropout,
    )
    return RNNT(encoder, predictor, _Joiner(encoding_dim, num_symbols))


def emformer_rnnt_base(num_symbols: int) -> RNNT:
    """The transducer of 76.7 million parameters that torchaudio trains on LibriSpeech."""
    return emformer_rnnt_model(
        input_dim=80,
        encoding_dim=1024,
        num_symbols=num_symbols,
        segment_length=16,
        right_context_length=4,
        time_reduction_input_dim=128,
        time_reduction_stride=4,
        transformer_num_heads=8,
        transformer_ffn_dim=2048,
        transformer_num_layers=20,
        transformer_dropout=0.1,
        transformer_activation="gelu",
        transformer_left_context_length=30,
        transformer_max_memory_size=0,
        transformer_weight_init_scale_strategy="depthwise",
        transformer_tanh_on_mem=True,
        symbol_embedding_dim=512,
        num_lstm_layers=3,
        lstm_layer_norm=True,
        lstm_layer_norm_epsilon=1e-3,
        lstm_dropout=0.3,
    )
