"""One layer of an Emformer: attention over memories, right context and frames, and a feed-forward
step. Frames come first: T, B, D."""

from __future__ import annotations

import math
from typing import NamedTuple

import rushlight as rl
from rushlight import nn
from rushlight_audio.models._lengths import padding_mask

__all__ = ["EmformerLayer"]

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}
MEMORY_LIMIT = 10.0


class Given(NamedTuple):
    """What attention computes with: frames, those to their right, means of segments, memories, and
    keys and values of frames to the left of a stream's segment."""

    utterance: rl.Tensor
    right_context: rl.Tensor
    summary: rl.Tensor
    mems: rl.Tensor
    left_key: rl.Tensor | None = None
    left_value: rl.Tensor | None = None


class _EmformerAttention(nn.Module):
    """Attention of frames, right contexts and means over frames, right contexts and memories."""

    def __init__(
        self,
        input_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        weight_init_gain: float | None = None,
        tanh_on_mem: bool = False,
        negative_inf: float = -1e8,
    ):
        super().__init__()
        if input_dim % num_heads:
            raise ValueError(
                f"Emformer(): input_dim={input_dim} is no multiple of num_heads={num_heads}"
            )
        self.input_dim = input_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.tanh_on_mem = tanh_on_mem
        self.negative_inf = negative_inf
        self.scaling = (input_dim // num_heads) ** -0.5
        self.emb_to_key_value = nn.Linear(input_dim, 2 * input_dim, bias=True)
        self.emb_to_query = nn.Linear(input_dim, input_dim, bias=True)
        self.out_proj = nn.Linear(input_dim, input_dim, bias=True)
        if weight_init_gain:
            nn.init.xavier_uniform_(self.emb_to_key_value.weight, gain=weight_init_gain)
            nn.init.xavier_uniform_(self.emb_to_query.weight, gain=weight_init_gain)

    def _heads(self, frames: rl.Tensor) -> rl.Tensor:
        """``[B, heads, T, D / heads]``."""
        length, batch, _ = frames.shape
        return frames.reshape(length, batch, self.num_heads, -1).permute(1, 2, 0, 3)

    def _padding(self, given: Given, lengths: rl.Tensor, columns: int) -> rl.Tensor | None:
        """The columns of each row of the batch behind the end of its utterance."""
        if given.utterance.shape[1] == 1:
            return None
        return padding_mask(lengths.add(columns - int(lengths.max())), columns)

    def attend(
        self, given: Given, lengths: rl.Tensor, mask: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor, rl.Tensor]:
        """Right contexts and frames, memories, and keys and values of all columns but those of
        frames to the left."""
        query = self.emb_to_query(rl.cat([given.right_context, given.utterance, given.summary]))
        columns = rl.cat([given.mems, given.right_context, given.utterance])
        own_key, own_value = self.emb_to_key_value(columns).chunk(2, dim=2)
        key, value = own_key, own_value
        if given.left_key is not None and given.left_value is not None:
            first = given.mems.shape[0] + given.right_context.shape[0]
            key = rl.cat([key[:first], given.left_key, key[first:]])
            value = rl.cat([value[:first], given.left_value, value[first:]])
        scores = (self._heads(query) * self.scaling) @ self._heads(key).transpose(2, 3)
        scores = scores.masked_fill(mask, self.negative_inf)
        padding = self._padding(given, lengths, key.shape[0])
        if padding is not None:
            scores = scores.masked_fill(padding[:, None, None, :], self.negative_inf)
        shares = nn.functional.dropout(rl.softmax(scores, -1), self.dropout, self.training)
        mixed = (shares @ self._heads(value)).permute(2, 0, 1, 3).reshape(query.shape)
        rows = query.shape[0] - given.summary.shape[0]
        output = self.out_proj(mixed)
        memory = output[rows:]
        kept = memory.tanh() if self.tanh_on_mem else memory.clamp(-MEMORY_LIMIT, MEMORY_LIMIT)
        return output[:rows], kept, own_key, own_value

    def forward(
        self, given: Given, lengths: rl.Tensor, mask: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """Right contexts and frames, and memories for the next layer, of whole utterances."""
        output, mems, _, _ = self.attend(given, lengths, mask)
        return output, mems[:-1]

    def infer(
        self, given: Given, lengths: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor, rl.Tensor]:
        """The same of one segment, and its keys and values."""
        first = given.mems.shape[0] + given.right_context.shape[0]
        length = given.utterance.shape[0]
        left = 0 if given.left_key is None else given.left_key.shape[0]
        rows = given.right_context.shape[0] + length + given.summary.shape[0]
        mask = rl.zeros(rows, first + left + length, dtype=rl.bool, device=lengths.device)
        mask[-1, : given.mems.shape[0]] = True  # a mean of frames sees no memory
        output, mems, key, value = self.attend(given, lengths, mask)
        return output, mems, key[first:], value[first:]


class EmformerLayer(nn.Module):
    """Attention and a feed-forward step, both beside the way past them."""

    def __init__(
        self,
        input_dim: int,
        num_heads: int,
        ffn_dim: int,
        segment_length: int,
        dropout: float = 0.0,
        activation: str = "relu",
        left_context_length: int = 0,
        max_memory_size: int = 0,
        weight_init_gain: float | None = None,
        tanh_on_mem: bool = False,
        negative_inf: float = -1e8,
    ):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"Emformer(): activation is one of {', '.join(ACTIVATIONS)}, got {activation!r}"
            )
        self.attention = _EmformerAttention(
            input_dim, num_heads, dropout, weight_init_gain, tanh_on_mem, negative_inf
        )
        self.dropout = nn.Dropout(dropout)
        self.memory_op = nn.AvgPool1d(segment_length, stride=segment_length, ceil_mode=True)
        self.pos_ff = nn.Sequential(
            nn.LayerNorm(input_dim),
            nn.Linear(input_dim, ffn_dim),
            ACTIVATIONS[activation](),
            nn.Dropout(dropout),
            nn.Linear(ffn_dim, input_dim),
            nn.Dropout(dropout),
        )
        self.layer_norm_input = nn.LayerNorm(input_dim)
        self.layer_norm_output = nn.LayerNorm(input_dim)
        self.left_context_length = left_context_length
        self.segment_length = segment_length
        self.max_memory_size = max_memory_size
        self.input_dim = input_dim
        self.use_mem = max_memory_size > 0

    def _means(self, frames: rl.Tensor) -> rl.Tensor:
        """The mean of each segment, ``[S, B, D]`` of frames ``[T, B, D]``."""
        return self.memory_op(frames.permute(1, 2, 0)).permute(2, 0, 1)

    def _given(
        self, utterance: rl.Tensor, right_context: rl.Tensor, mems: rl.Tensor, stream: bool
    ) -> Given:
        """Normalised frames and what goes with them; a segment of a stream has one mean."""
        both = self.layer_norm_input(rl.cat([right_context, utterance]))
        right, frames = both[: right_context.shape[0]], both[right_context.shape[0] :]
        summary = self._means(frames) if self.use_mem else frames[:0]
        return Given(frames, right, summary[:1] if stream else summary, mems)

    def _finished(
        self, attended: rl.Tensor, utterance: rl.Tensor, right_context: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """Frames and right contexts behind the feed-forward step."""
        both = self.dropout(attended) + rl.cat([right_context, utterance])
        both = self.layer_norm_output(self.pos_ff(both) + both)
        return both[right_context.shape[0] :], both[: right_context.shape[0]]

    def forward(
        self,
        utterance: rl.Tensor,
        lengths: rl.Tensor,
        right_context: rl.Tensor,
        mems: rl.Tensor,
        attention_mask: rl.Tensor,
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """Frames, right contexts and memories of whole utterances."""
        given = self._given(utterance, right_context, mems, stream=False)
        attended, after = self.attention(given, lengths, attention_mask)
        output, right = self._finished(attended, utterance, right_context)
        return output, right, after

    def infer(
        self,
        utterance: rl.Tensor,
        lengths: rl.Tensor,
        right_context: rl.Tensor,
        state: list[rl.Tensor] | None,
        mems: rl.Tensor,
    ) -> tuple[rl.Tensor, rl.Tensor, list[rl.Tensor], rl.Tensor]:
        """Frames, right context, state and memories of a segment."""
        if state is None:
            state = self._first_state(utterance)
        past_mems, left_key, left_value = self._past(state)
        given = self._given(utterance, right_context, past_mems, stream=True)
        given = given._replace(left_key=left_key, left_value=left_value)
        attended, after, key, value = self.attention.infer(given, lengths)
        state = self._next_state(state, key, value, mems, utterance.shape[0])
        output, right = self._finished(attended, utterance, right_context)
        return output, right, state, after

    def _first_state(self, utterance: rl.Tensor) -> list[rl.Tensor]:
        """Memories, keys, values and how many frames there were: none."""
        batch = utterance.shape[1]
        left = (self.left_context_length, batch, self.input_dim)
        return [
            utterance.new_zeros(self.max_memory_size, batch, self.input_dim),
            utterance.new_zeros(left),
            utterance.new_zeros(left),
            rl.zeros(1, batch, dtype=rl.int32, device=utterance.device),
        ]

    def _past(self, state: list[rl.Tensor]) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """What of the state is of frames that were there."""
        frames = int(state[3][0, 0])
        mems = min(self.max_memory_size, math.ceil(frames / self.segment_length))
        left = min(self.left_context_length, frames)
        return (
            state[0][self.max_memory_size - mems :],
            state[1][self.left_context_length - left :],
            state[2][self.left_context_length - left :],
        )

    def _next_state(
        self,
        state: list[rl.Tensor],
        key: rl.Tensor,
        value: rl.Tensor,
        mems: rl.Tensor,
        frames: int,
    ) -> list[rl.Tensor]:
        """The newest memories, keys and values, as many as are kept."""
        kept = [rl.cat(pair) for pair in ((state[0], mems), (state[1], key), (state[2], value))]
        sizes = (self.max_memory_size, self.left_context_length, self.left_context_length)
        newest = [each[each.shape[0] - size :] for each, size in zip(kept, sizes, strict=True)]
        return [*newest, state[3].add(frames)]
