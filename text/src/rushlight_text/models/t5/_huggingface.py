"""T5's checkpoints of Hugging Face: sizes and names of parameters, translated to torchtext's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import rushlight as rl
from rushlight_text.models.t5.model import T5Conf

__all__ = ["conf_of", "renamed"]

_PARTS = {
    "SelfAttention.q.weight": "self_attn.q_proj_weight",
    "SelfAttention.k.weight": "self_attn.k_proj_weight",
    "SelfAttention.v.weight": "self_attn.v_proj_weight",
    "SelfAttention.o.weight": "self_attn.out_proj.weight",
    "SelfAttention.relative_attention_bias.weight": "self_attn.relative_attention_bias.weight",
    "EncDecAttention.q.weight": "cross_attn.q_proj_weight",
    "EncDecAttention.k.weight": "cross_attn.k_proj_weight",
    "EncDecAttention.v.weight": "cross_attn.v_proj_weight",
    "EncDecAttention.o.weight": "cross_attn.out_proj.weight",
    "DenseReluDense.wi.weight": "linear1.weight",
    "DenseReluDense.wi_0.weight": "linear1_0.weight",
    "DenseReluDense.wi_1.weight": "linear1_1.weight",
    "DenseReluDense.wo.weight": "linear2.weight",
}
# The norm before each sublayer, by the stack and the sublayer's place.
_NORMS = {
    ("encoder", "0"): "norm1.weight",
    ("encoder", "1"): "norm2.weight",
    ("decoder", "0"): "norm1.weight",
    ("decoder", "1"): "norm3.weight",
    ("decoder", "2"): "norm2.weight",
}
_BLOCK = re.compile(r"(encoder|decoder)\.block\.(\d+)\.layer\.(\d)\.(.*)")


def conf_of(
    config: Mapping[str, Any], weights: Mapping[str, rl.Tensor], encoder_only: bool
) -> T5Conf:
    """The sizes that a ``config.json`` names; a KeyError names what it lacks."""
    return T5Conf(
        encoder_only=encoder_only,
        linear_head="lm_head.weight" in weights and not encoder_only,
        embedding_dim=config["d_model"],
        qkv_dim=config.get("d_kv", 64),
        num_attention_heads=config["num_heads"],
        num_encoder_layers=config["num_layers"],
        num_decoder_layers=config.get("num_decoder_layers") or config["num_layers"],
        ffn_dimension=config["d_ff"],
        layer_norm_eps=config.get("layer_norm_epsilon", 1e-6),
        relative_attention_num_buckets=config.get("relative_attention_num_buckets", 32),
        relative_attention_max_distance=config.get("relative_attention_max_distance", 128),
        padding_idx=config.get("pad_token_id", 0),
        feed_forward_proj=config.get("feed_forward_proj"),
        vocab_size=config["vocab_size"],
    )


def renamed(conf: T5Conf, weights: Mapping[str, rl.Tensor]) -> dict[str, rl.Tensor]:
    """The state dict of a `T5Model` of these sizes."""
    table = weights["shared.weight"]
    found = {"token_embeddings.weight": table, "encoder.token_embeddings.weight": table}
    for key, value in weights.items():
        if conf.encoder_only and key.startswith("decoder."):
            continue
        if (new := _new_name(key)) is not None:
            found[new] = value
    if conf.linear_head:
        found["lm_head.weight"] = weights["lm_head.weight"]
    return found


def _new_name(key: str) -> str | None:
    if key in ("encoder.final_layer_norm.weight", "decoder.final_layer_norm.weight"):
        return key.replace("final_layer_norm", "norm")
    block = _BLOCK.fullmatch(key)
    if block is None:
        return None
    stack, layer, place, part = block.groups()
    name = _NORMS.get((stack, place)) if part == "layer_norm.weight" else _PARTS.get(part)
    return None if name is None else f"{stack}.layers.{layer}.{name}"
