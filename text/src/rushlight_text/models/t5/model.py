"""T5: configuration and model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_text.models.t5.modules import T5Decoder, T5Encoder

__all__ = ["T5Conf", "T5Model"]


@dataclass
class T5Conf:
    """The sizes of a T5; the defaults are T5 base's.

    `feed_forward_proj`, such as ``"relu"`` or ``"gated-gelu"``, sets `activation` and
    `is_gated_act`; anything else of that form is a ValueError. Dropout acts only with `training`.
    """

    encoder_only: bool = False
    linear_head: bool = False
    embedding_dim: int = 768
    qkv_dim: int = 64
    num_attention_heads: int = 12
    num_encoder_layers: int = 12
    num_decoder_layers: int = 12
    ffn_dimension: int = 3072
    dropout: float = 0.1
    activation: str | Callable[[rl.Tensor], rl.Tensor] = "relu"
    layer_norm_eps: float = 1e-6
    relative_attention_num_buckets: int = 32
    relative_attention_max_distance: int = 128
    padding_idx: int = 0
    max_seq_len: int = 512
    vocab_size: int = 32128
    training: bool = False
    feed_forward_proj: str | None = None
    is_gated_act: bool = False

    def __post_init__(self) -> None:
        if not self.feed_forward_proj:
            return
        *gate, self.activation = self.feed_forward_proj.split("-")
        if gate not in ([], ["gated"]):
            raise ValueError(
                f"`feed_forward_proj`: {self.feed_forward_proj} is not of the form `gated-NAME` or "
                "`NAME`, such as 'gated-gelu' or 'relu'"
            )
        self.is_gated_act = bool(gate)
        if self.feed_forward_proj == "gated-gelu":
            self.activation = "gelu_new"  # the name stands for GELU by tanh in T5 1.1

    def stack(self) -> dict[str, Any]:
        """The options of both stacks."""
        return {
            "d_model": self.embedding_dim,
            "nhead": self.num_attention_heads,
            "dim_feedforward": self.ffn_dimension,
            "qkv_dim": self.qkv_dim,
            "dropout": self.dropout if self.training else 0.0,
            "activation": self.activation,
            "is_gated_act": self.is_gated_act,
            "layer_norm_eps": self.layer_norm_eps,
            "relative_attention_num_buckets": self.relative_attention_num_buckets,
            "relative_attention_max_distance": self.relative_attention_max_distance,
        }


class T5Model(nn.Module):
    """Encoder, decoder unless ``config.encoder_only``, logits with ``config.linear_head``.

    Args:
        config: the sizes.
        freeze: parameters need no gradient.
        device, dtype: of the parameters.

    Example
    -------
    >>> sizes = dict(embedding_dim=8, qkv_dim=4, num_attention_heads=2, ffn_dimension=16)
    >>> config = T5Conf(vocab_size=20, num_encoder_layers=1, num_decoder_layers=1, **sizes)
    >>> T5Model(config)(rl.tensor([[5, 6, 1]]))["decoder_output"].shape
    rushlight.Size([1, 1, 8])
    """

    def __init__(
        self,
        config: T5Conf,
        freeze: bool = False,
        device: rl.device | None = None,
        dtype: rl.dtype | None = None,
    ):
        super().__init__()
        if not isinstance(config, T5Conf):
            raise AssertionError(f"T5Model(): config must be a T5Conf, not {type(config).__name__}")
        self.config = config
        self.embedding_dim, self.encoder_only = config.embedding_dim, config.encoder_only
        self.linear_head, self.padding_idx = config.linear_head, config.padding_idx
        self.token_embeddings = nn.Embedding(
            config.vocab_size, config.embedding_dim, config.padding_idx
        )
        self.encoder = T5Encoder(config.num_encoder_layers, self.token_embeddings, **config.stack())
        self.decoder = (
            None if config.encoder_only else T5Decoder(config.num_decoder_layers, **config.stack())
        )
        self.lm_head = (
            nn.Linear(config.embedding_dim, config.vocab_size, bias=False)
            if config.linear_head
            else None
        )
        self.train(config.training)
        self.to(device=device, dtype=dtype)
        self.requires_grad_(not freeze)

    def get_encoder(self) -> T5Encoder:
        """The encoder."""
        return self.encoder

    def get_decoder(self) -> T5Decoder | None:
        """The decoder, or None with a warning."""
        if self.decoder is None:
            warnings.warn("Decoder is not set on this model.", stacklevel=2)
        return self.decoder

    def prepare_inputs_for_generation(
        self,
        input_ids: rl.Tensor,
        encoder_outputs: dict | None = None,
        encoder_padding_mask: rl.Tensor | None = None,
        past: list | None = None,
        return_past_key_values: bool = True,
        model_kwargs: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The arguments of the next step of decoding; with a `past` only the last ids are new."""
        if model_kwargs is None:
            if encoder_outputs is None:
                raise AssertionError("pass encoder_outputs or model_kwargs")
            model_kwargs = {
                "encoder_outputs": encoder_outputs,
                "encoder_padding_mask": encoder_padding_mask,
                "past_key_values": past,
                "return_past_key_values": return_past_key_values,
            }
        elif model_kwargs.get("past") is not None:
            past = model_kwargs["past"]
        model_kwargs["decoder_tokens"] = input_ids if past is None else input_ids[:, -1:]
        return model_kwargs

    def forward(
        self,
        encoder_tokens: rl.Tensor | None = None,
        decoder_tokens: rl.Tensor | None = None,
        encoder_mask: rl.Tensor | None = None,
        decoder_mask: rl.Tensor | None = None,
        encoder_padding_mask: rl.Tensor | None = None,
        decoder_padding_mask: rl.Tensor | None = None,
        encoder_outputs: dict | None = None,
        past_key_values: list | None = None,
        return_past_key_values: bool = False,
    ) -> dict:
        """Outputs of both stacks in one dict.

        Args:
            encoder_tokens: ids ``[B, S]``, unless there are `encoder_outputs`.
            decoder_tokens: ids ``[B, T]``; default: padding alone, with which decoding begins.
            encoder_mask, decoder_mask: ``[S, S]``, ``[T, T]``.
            encoder_padding_mask, decoder_padding_mask: True at padding; default: by the ids.
            encoder_outputs: of a call before.
            past_key_values, return_past_key_values: as of :class:`T5Decoder`.
        """
        found: dict[str, Any] = dict.fromkeys(_KEYS)
        if encoder_outputs is None:
            if encoder_tokens is None:
                raise AssertionError("pass encoder_tokens or encoder_outputs")
            if encoder_padding_mask is None:
                encoder_padding_mask = encoder_tokens.eq(self.padding_idx)
            encoder_outputs = self.encoder(encoder_tokens, encoder_mask, encoder_padding_mask)
            found |= encoder_outputs
        if self.decoder is None:
            return found
        memory = encoder_outputs["encoder_output"]
        if decoder_tokens is None:
            decoder_tokens = rl.full((memory.shape[0], 1), self.padding_idx, device=memory.device)
        if decoder_padding_mask is None:
            decoder_padding_mask = rl.eq(decoder_tokens, self.padding_idx)
            decoder_padding_mask[:, 0] = False  # padding begins every sequence
        outputs = self.decoder(
            self.token_embeddings(decoder_tokens),
            memory,
            decoder_mask,
            encoder_mask,
            decoder_padding_mask,
            encoder_padding_mask,
            past_key_values,
            return_past_key_values,
        )
        if self.lm_head is not None:
            scaled = outputs["decoder_output"] * self.embedding_dim**-0.5
            outputs["decoder_output"] = self.lm_head(scaled)
        return found | outputs


_KEYS = (
    "encoder_output encoder_hidden_states encoder_sa_scores encoder_ca_scores decoder_output "
    "decoder_hidden_states decoder_sa_scores decoder_ca_scores past_key_values"
).split()
