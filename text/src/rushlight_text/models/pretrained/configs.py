"""Configurations: the defaults of each kind of model, sizes by name, reading and writing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rushlight_text.models.pretrained._parts import Config

__all__ = ["PRESETS", "config", "read_config"]

_BERT: dict[str, Any] = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
_ROBERTA = _BERT | {
    "vocab_size": 50265,
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
_LLAMA: dict[str, Any] = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "rms_norm_eps": 1e-6,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "tie_word_embeddings": False,
}
_BART: dict[str, Any] = {
    "vocab_size": 50265,
    "max_position_embeddings": 1024,
    "encoder_layers": 12,
    "encoder_ffn_dim": 4096,
    "encoder_attention_heads": 16,
    "decoder_layers": 12,
    "decoder_ffn_dim": 4096,
    "decoder_attention_heads": 16,
    "activation_function": "gelu",
    "d_model": 1024,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "init_std": 0.02,
    "scale_embedding": False,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}

# What a configuration that does not say so means, by `model_type`.
DEFAULTS: dict[str, dict[str, Any]] = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA | {"vocab_size": 250002},
    "camembert": _ROBERTA | {"vocab_size": 30522},
    "electra": _BERT
    | {"embedding_size": 128, "hidden_size": 256, "intermediate_size": 1024}
    | {"num_attention_heads": 4},
    "distilbert": {
        "vocab_size": 30522,
        "max_position_embeddings": 512,
        "n_layers": 6,
        "n_heads": 12,
        "dim": 768,
        "hidden_dim": 3072,
        "dropout": 0.1,
        "attention_dropout": 0.1,
        "activation": "gelu",
        "initializer_range": 0.02,
        "qa_dropout": 0.1,
        "seq_classif_dropout": 0.2,
        "pad_token_id": 0,
    },
    "gpt2": {
        "vocab_size": 50257,
        "n_positions": 1024,
        "n_embd": 768,
        "n_layer": 12,
        "n_head": 12,
        "activation_function": "gelu_new",
        "resid_pdrop": 0.1,
        "embd_pdrop": 0.1,
        "attn_pdrop": 0.1,
        "layer_norm_epsilon": 1e-5,
        "initializer_range": 0.02,
        "bos_token_id": 50256,
        "eos_token_id": 50256,
    },
    "llama": _LLAMA,
    "mistral": _LLAMA
    | {"intermediate_size": 14336, "num_key_value_heads": 8, "sliding_window": 4096},
    "qwen2": _LLAMA
    | {"vocab_size": 151936, "intermediate_size": 22016, "use_sliding_window": False},
    "t5": {
        "vocab_size": 32128,
        "d_model": 512,
        "d_kv": 64,
        "d_ff": 2048,
        "num_layers": 6,
        "num_heads": 8,
        "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 128,
        "dropout_rate": 0.1,
        "layer_norm_epsilon": 1e-6,
        "initializer_factor": 1.0,
        "feed_forward_proj": "relu",
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
    },
    "bart": _BART,
    "marian": _BART
    | {
        "vocab_size": 58101,
        "scale_embedding": True,
        "activation_function": "swish",
        "d_model": 512,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "encoder_attention_heads": 8,
        "decoder_attention_heads": 8,
        "encoder_ffn_dim": 2048,
        "decoder_ffn_dim": 2048,
        "max_position_embeddings": 512,
        "pad_token_id": 58100,
        "eos_token_id": 0,
        "decoder_start_token_id": 58100,
    },
}

_LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}

# The sizes of well-known models, as of their published configurations.
PRESETS: dict[str, dict[str, Any]] = {
    "bert-base-uncased": {"model_type": "bert"},
    "bert-base-cased": {"model_type": "bert", "vocab_size": 28996},
    "bert-large-uncased": {
        "model_type": "bert",
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
    },
    "all-MiniLM-L6-v2": {
        "model_type": "bert",
        "hidden_size": 384,
        "num_hidden_layers": 6,
        "intermediate_size": 1536,
    },
    "roberta-base": {"model_type": "roberta"},
    "xlm-roberta-base": {"model_type": "xlm-roberta"},
    "distilbert-base-uncased": {"model_type": "distilbert"},
    "electra-small-discriminator": {"model_type": "electra"},
    "gpt2": {"model_type": "gpt2"},
    "gpt2-medium": {"model_type": "gpt2", "n_embd": 1024, "n_layer": 24, "n_head": 16},
    "Llama-3.2-1B": {
        "model_type": "llama",
        "vocab_size": 128256,
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "rms_norm_eps": 1e-5,
        "rope_parameters": _LLAMA3,
        "tie_word_embeddings": True,
        "bos_token_id": 128000,
        "eos_token_id": 128001,
    },
    "t5-small": {"model_type": "t5"},
    "flan-t5-small": {
        "model_type": "t5",
        "d_ff": 1024,
        "num_layers": 8,
        "num_heads": 6,
        "feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": False,
    },
    "bart-base": {
        "model_type": "bart",
        "d_model": 768,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "encoder_attention_heads": 12,
        "decoder_attention_heads": 12,
        "encoder_ffn_dim": 3072,
        "decoder_ffn_dim": 3072,
    },
    "opus-mt-en-de": {"model_type": "marian"},
}


def config(given: str | Mapping[str, Any], **changes: Any) -> Config:
    """A whole configuration: of a name in `PRESETS`, or of entries with ``model_type``.

    Args:
        given: the name or the entries; entries that are not there have the kind's defaults.
        changes: entries that win.

    Raises:
        ValueError: an unknown name, or entries without ``model_type``.
        NotImplementedError: a kind of model that is not there.

    >>> config("gpt2", n_layer=2).n_layer
    2
    """
    if isinstance(given, str):
        if given not in PRESETS:
            raise ValueError(f"config(): no sizes are called {given!r}; known: {sorted(PRESETS)}")
        given = PRESETS[given]
    entries = {**given, **changes}
    kind = entries.get("model_type")
    if kind is None:
        raise ValueError("config(): the entry 'model_type' is missing")
    if kind not in DEFAULTS:
        raise NotImplementedError(
            f"models of type {kind!r} are not there; known are {sorted(DEFAULTS)}"
        )
    whole = Config(DEFAULTS[kind] | entries)
    labels = whole.get("id2label")
    whole["num_labels"] = whole.get("num_labels") or (len(labels) if labels else 2)
    return whole


def read_config(folder: str | os.PathLike, **changes: Any) -> Config:
    """The configuration of a folder's ``config.json``.

    Raises FileNotFoundError without one, ValueError where it is not JSON.
    """
    path = Path(folder) / "config.json"
    if not path.is_file():
        raise FileNotFoundError(f"no configuration: {str(path)!r}")
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from error
    if not isinstance(entries, dict):
        raise ValueError(f"{path}: must hold one JSON object")
    return config({k: v for k, v in entries.items() if v is not None}, **changes)
