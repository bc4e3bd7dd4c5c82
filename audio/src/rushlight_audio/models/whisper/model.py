"""Whisper (Radford et al., Robust speech recognition via large-scale weak supervision, 2022).

Names of parameters and their shapes are those of OpenAI's files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional

__all__ = ["ModelDimensions", "Whisper"]

LONGEST_PERIOD = 10000.0


@dataclass
class ModelDimensions:
    """Sizes of a :class:`Whisper`, under the names of OpenAI's files."""

    n_mels: int
    n_audio_ctx: int
    n_audio_state: int
    n_audio_head: int
    n_audio_layer: int
    n_vocab: int
    n_text_ctx: int
    n_text_state: int
    n_text_head: int
    n_text_layer: int


# Keys and values of a layer's attention to earlier tokens, and to the sound.
Cache = list[tuple[rl.Tensor, rl.Tensor]]


class MultiHeadAttention(nn.Module):
    """Attention whose keys have no bias."""

    def __init__(self, n_state: int, n_head: int):
        super().__init__()
        self.n_head = n_head
        self.query = nn.Linear(n_state, n_state)
        self.key = nn.Linear(n_state, n_state, bias=False)
        self.value = nn.Linear(n_state, n_state)
        self.out = nn.Linear(n_state, n_state)

    def _heads(self, x: rl.Tensor) -> rl.Tensor:
        return x.view(*x.shape[:2], self.n_head, -1).transpose(1, 2)

    def keys_and_values(self, x: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """What is attended to, ``[B, heads, T, D / heads]``, of ``[B, T, D]``."""
        return self._heads(self.key(x)), self._heads(self.value(x))

    def forward(
        self, x: rl.Tensor, known: tuple[rl.Tensor, rl.Tensor], causal: bool = False
    ) -> rl.Tensor:
        """``[B, T, D]`` of the same, attending to `known`, of which `causal` hides what comes
        after."""
        key, value = known
        query = self._heads(self.query(x))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class ResidualAttentionBlock(nn.Module):
    """Attention to itself, to the sound if `cross_attention`, and two layers."""

    def __init__(self, n_state: int, n_head: int, cross_attention: bool = False):
        super().__init__()
        self.attn = MultiHeadAttention(n_state, n_head)
        self.attn_ln = nn.LayerNorm(n_state)
        self.cross_attn = MultiHeadAttention(n_state, n_head) if cross_attention else None
        self.cross_attn_ln = nn.LayerNorm(n_state) if cross_attention else None
        self.mlp = nn.Sequential(
            nn.Linear(n_state, 4 * n_state), nn.GELU(), nn.Linear(4 * n_state, n_state)
        )
        self.mlp_ln = nn.LayerNorm(n_state)

    def forward(
        self,
        x: rl.Tensor,
        sound: tuple[rl.Tensor, rl.Tensor] | None = None,
        past: tuple[rl.Tensor, rl.Tensor] | None = None,
        causal: bool = False,
    ) -> tuple[rl.Tensor, tuple[rl.Tensor, rl.Tensor]]:
        """``[B, T, D]`` of the same, and keys and values of all tokens so far."""
        normed = self.attn_ln(x)
        known = self.attn.keys_and_values(normed)
        if past is not None:
            known = (rl.cat([past[0], known[0]], 2), rl.cat([past[1], known[1]], 2))
        x = x + self.attn(normed, known, causal and past is None)
        if self.cross_attn is not None and self.cross_attn_ln is not None and sound is not None:
            x = x + self.cross_attn(self.cross_attn_ln(x), sound)
        return x + self.mlp(self.mlp_ln(x)), known


def sinusoids(length: int, channels: int) -> rl.Tensor:
    """Positions ``[length, channels]``: sines of falling frequencies, then cosines."""
    step = math.log(LONGEST_PERIOD) / (channels // 2 - 1)
    frequencies = rl.exp(-step * rl.arange(channels // 2))
    angles = rl.arange(length).unsqueeze(1) * frequencies.unsqueeze(0)
    return rl.cat([angles.sin(), angles.cos()], dim=1)


class AudioEncoder(nn.Module):
    """Two convolutions, of which the second halves the length, and blocks."""

    def __init__(self, n_mels: int, n_ctx: int, n_state: int, n_head: int, n_layer: int):
        super().__init__()
        self.conv1 = nn.Conv1d(n_mels, n_state, kernel_size=3, padding=1)
        self.conv2 = nn.Conv1d(n_state, n_state, kernel_size=3, stride=2, padding=1)
        self.register_buffer("positional_embedding", sinusoids(n_ctx, n_state))
        self.blocks = nn.ModuleList(ResidualAttentionBlock(n_state, n_head) for _ in range(n_layer))
        self.ln_post = nn.LayerNorm(n_state)

    def forward(self, mel: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of log mel spectrograms ``[B, n_mels, 2 T]``."""
        x = functional.gelu(self.conv2(functional.gelu(self.conv1(mel)))).permute(0, 2, 1)
        if x.shape[1:] != self.positional_embedding.shape:
            raise ValueError(
                f"Whisper: expected spectrograms of {2 * len(self.positional_embedding)} frames, "
                f"got {mel.shape[-1]}; pad_or_trim the waveform first"
            )
        x = x + self.positional_embedding
        for block in self.blocks:
            x, _ = block(x)
        return self.ln_post(x)


class TextDecoder(nn.Module):
    """Blocks over tokens that attend to the sound; the embedding also makes the logits."""

    def __init__(self, n_vocab: int, n_ctx: int, n_state: int, n_head: int, n_layer: int):
        super().__init__()
        self.token_embedding = nn.Embedding(n_vocab, n_state)
        self.positional_embedding = nn.Parameter(0.01 * rl.randn(n_ctx, n_state))
        self.blocks = nn.ModuleList(
            ResidualAttentionBlock(n_state, n_head, cross_attention=True) for _ in range(n_layer)
        )
        self.ln = nn.LayerNorm(n_state)

    def sound(self, encoded: rl.Tensor) -> Cache:
        """Keys and values of the sound in every block."""
        return [block.cross_attn.keys_and_values(encoded) for block in self.blocks]

    def forward(
        self, tokens: rl.Tensor, sound: Cache, past: Cache | None = None
    ) -> tuple[rl.Tensor, Cache]:
        """Logits ``[B, U, n_vocab]`` of tokens ``[B, U]``, and what `past` of the next call is."""
        offset = 0 if past is None else past[0][0].shape[2]
        end = offset + tokens.shape[-1]
        if end > len(self.positional_embedding):
            raise ValueError(f"Whisper: at most {len(self.positional_embedding)} tokens, got {end}")
        x = self.token_embedding(tokens) + self.positional_embedding[offset:end]
        after: Cache = []
        for number, block in enumerate(self.blocks):
            before = None if past is None else past[number]
            x, known = block(x, sound[number], before, causal=True)
            after.append(known)
        return self.ln(x) @ self.token_embedding.weight.t(), after


class Whisper(nn.Module):
    """Tokens of speech.

    >>> dims = ModelDimensions(8, 10, 16, 2, 1, 30, 12, 16, 2, 1)
    >>> Whisper(dims)(rl.zeros(1, 8, 20), rl.tensor([[1, 2, 3]])).shape
    rushlight.Size([1, 3, 30])
    """

    def __init__(self, dims: ModelDimensions):
        super().__init__()
        self.dims = dims
        self.encoder = AudioEncoder(
            dims.n_mels,
            dims.n_audio_ctx,
            dims.n_audio_state,
            dims.n_audio_head,
            dims.n_audio_layer,
        )
        self.decoder = TextDecoder(
            dims.n_vocab,
            dims.n_text_ctx,
            dims.n_text_state,
            dims.n_text_head,
            dims.n_text_layer,
        )

    def embed_audio(self, mel: rl.Tensor) -> rl.Tensor:
        """Encodings ``[B, T, D]`` of log mel spectrograms ``[B, n_mels, 2 T]``."""
        return self.encoder(mel)

    def logits(self, tokens: rl.Tensor, audio_features: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, U, n_vocab]`` of what follows each of the tokens ``[B, U]``."""
        return self.decoder(tokens, self.decoder.sound(audio_features))[0]

    def forward(self, mel: rl.Tensor, tokens: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, U, n_vocab]`` of spectrograms and tokens."""
        return self.logits(tokens, self.encoder(mel))

    @property
    def is_multilingual(self) -> bool:
        """Whether its vocabulary has languages."""
        return self.dims.n_vocab >= 51865
