"""Emformer (Shi et al., Emformer: efficient memory transformer based acoustic model for low latency
streaming speech recognition, 2020).

The utterance is cut into segments. Each sees itself, some frames to its left, some to its right and
a memory of earlier segments, one vector each. In training all segments are computed at once: the
frames to the right of each are copied in front of the utterance, and a mask says what sees what. In
streaming, keys, values and memories of earlier segments are the state. Frames come first: T, B, D.

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

import math

import rushlight as rl
from rushlight import nn
from rushlight_audio.models._emformer_layer import EmformerLayer

__all__ = ["Emformer"]


def _gains(strategy: str | None, num_layers: int) -> list[float | None]:
    """How much smaller than usual the first weights of each layer's projections are."""
    if strategy is None:
        return [None] * num_layers
    if strategy == "depthwise":
        return [1.0 / math.sqrt(number + 1) for number in range(num_layers)]
    if strategy == "constant":
        return [1.0 / math.sqrt(2)] * num_layers
    raise ValueError(
        'Emformer(): weight_init_scale_strategy is "depthwise", "constant" or None, got '
        f"{strategy!r}"
    )


class Emformer(nn.Module):
    """Attention over segments with memory, for whole utterances and for streams.

    Args:
        input_dim: width D.
        num_heads: heads.
        ffn_dim: width inside of the feed-forward steps.
        num_layers: layers.
        segment_length: frames of a segment.
        dropout: share dropped in training.
        activation: ``"relu"``, ``"gelu"`` or ``"silu"``.
        left_context_length: frames to the left that a segment sees.
        right_context_length: frames to the right that a segment sees.
        max_memory_size: earlier segments that are remembered.
        weight_init_scale_strategy: ``"depthwise"``, ``"constant"`` or None.
        tanh_on_mem: memories go through a hyperbolic tangent; they are clipped at 10 otherwise.
        negative_inf: score of what is not seen.

    >>> model = Emformer(8, num_heads=2, ffn_dim=16, num_layers=1, segment_length=4,
    ...                  left_context_length=4, right_context_length=1)
    >>> model(rl.zeros(2, 9, 8), rl.tensor([8, 6]))[0].shape
    rushlight.Size([2, 8, 8])
    >>> frames, lengths, states = model.infer(rl.zeros(1, 5, 8), rl.tensor([5]))
    >>> frames.shape
    rushlight.Size([1, 4, 8])
    """

    def __init__(
        self,
        input_dim: int,
        num_heads: int,
        ffn_dim: int,
        num_layers: int,
        segment_length: int,
        dropout: float = 0.0,
        activation: str = "relu",
        left_context_length: int = 0,
        right_context_length: int = 0,
        max_memory_size: int = 0,
        weight_init_scale_strategy: str | None = "depthwise",
        tanh_on_mem: bool = False,
        negative_inf: float = -1e8,
    ):
        super().__init__()
        self.use_mem = max_memory_size > 0
        self.memory_op = nn.AvgPool1d(segment_length, stride=segment_length, ceil_mode=True)
        self.emformer_layers = nn.ModuleList(
            EmformerLayer(
                input_dim,
                num_heads,
                ffn_dim,
                segment_length,
                dropout=dropout,
                activation=activation,
                left_context_length=left_context_length,
                max_memory_size=max_memory_size,
                weight_init_gain=gain,
                tanh_on_mem=tanh_on_mem,
                negative_inf=negative_inf,
            )
            for gain in _gains(weight_init_scale_strategy, num_layers)
        )
        self.left_context_length = left_context_length
        self.right_context_length = right_context_length
        self.segment_length = segment_length
        self.max_memory_size = max_memory_size

    def _right_contexts(self, input: rl.Tensor) -> rl.Tensor:
        """The frames to the right of every segment, one after the other."""
        width, length = self.right_context_length, input.shape[0]
        segments = math.ceil((length - width) / self.segment_length)
        starts = [(number + 1) * self.segment_length for number in range(segments - 1)]
        blocks = [input[start : start + width] for start in starts]
        return rl.cat(blocks + [input[length - width :]])

    def _means(self, frames: rl.Tensor) -> rl.Tensor:
        """The mean of each segment, ``[S, B, D]`` of frames ``[T, B, D]``."""
        return self.memory_op(frames.permute(1, 2, 0)).permute(2, 0, 1)

    def _seen(self, length: int, device: rl.device) -> rl.Tensor:
        """What each row (right contexts, frames, memories) may see of the columns (memories, right
        contexts, frames), true where it may not."""
        step, right = self.segment_length, self.right_context_length
        segments = math.ceil(length / step)
        frame_of = rl.arange(length, device=device)
        right_of = rl.arange(segments, device=device).repeat_interleave(right)
        number = rl.arange(segments, device=device)
        rows = rl.cat([right_of, frame_of // step])
        columns = self._columns(rows, right_of, frame_of)
        if self.use_mem:
            memory = number[:-1].unsqueeze(0)
            near = (memory < rows.unsqueeze(1)) & (
                memory >= rows.unsqueeze(1) - self.max_memory_size
            )
            summaries = self._columns(number, right_of, frame_of)
            blind = rl.zeros(segments, segments - 1, dtype=rl.bool, device=device)
            columns = rl.cat([rl.cat([near, columns], 1), rl.cat([blind, summaries], 1)])
        return ~columns

    def _columns(self, rows: rl.Tensor, right_of: rl.Tensor, frame_of: rl.Tensor) -> rl.Tensor:
        """Which right contexts and frames the segments `rows` see."""
        rows = rows.unsqueeze(1)
        start = rows * self.segment_length
        frames = (frame_of >= start - self.left_context_length) & (
            frame_of < start + self.segment_length
        )
        return rl.cat([right_of.unsqueeze(0) == rows, frames], dim=1)

    def forward(self, input: rl.Tensor, lengths: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """Frames ``[B, T, D]`` and `lengths` of whole utterances ``[B, T + right_context_length,
        D]``; `lengths` ``[B]`` count frames without what stands to the right."""
        frames = input.permute(1, 0, 2)
        right_context = self._right_contexts(frames)
        output = frames[: frames.shape[0] - self.right_context_length]
        mask = self._seen(output.shape[0], input.device)
        mems = self._means(output)[:-1] if self.use_mem else output[:0]
        for layer in self.emformer_layers:
            output, right_context, mems = layer(output, lengths, right_context, mems, mask)
        return output.permute(1, 0, 2), lengths

    def infer(
        self,
        input: rl.Tensor,
        lengths: rl.Tensor,
        states: list[list[rl.Tensor]] | None = None,
    ) -> tuple[rl.Tensor, rl.Tensor, list[list[rl.Tensor]]]:
        """The next segment of a stream.

        Args:
            input: ``[B, segment_length + right_context_length, D]``.
            lengths: ``[B]``, frames that are there, with those to the right.
            states: what the call before returned; None at the beginning.

        Returns:
            Frames ``[B, segment_length, D]``, their lengths, the states for the next call.
        """
        expected = self.segment_length + self.right_context_length
        if input.size(1) != expected:
            raise ValueError(
                f"Emformer.infer: needs segment_length + right_context_length = {expected} frames "
                f"in dimension 1, got {input.size(1)}"
            )
        frames = input.permute(1, 0, 2)
        output, right_context = frames[: self.segment_length], frames[self.segment_length :]
        output_lengths = rl.clamp(lengths - self.right_context_length, min=0)
        mems = self._means(output) if self.use_mem else output[:0]
        after: list[list[rl.Tensor]] = []
        for number, layer in enumerate(self.emformer_layers):
            before = None if states is None else states[number]
            output, right_context, state, mems = layer.infer(
                output, output_lengths, right_context, before, mems
            )
            after.append(state)
        return output.permute(1, 0, 2), output_lengths, after
