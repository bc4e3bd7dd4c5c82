"""Whisper's weights in OpenAI's files and in folders of Hugging Face."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight.serialization import safetensors
from rushlight_audio.models.whisper.model import ModelDimensions, Whisper

__all__ = ["load_whisper"]

# From Hugging Face's names to OpenAI's, in this order.
NAMES = {
    r"^model\.": "",
    r"\.layers\.": ".blocks.",
    r"\.self_attn_layer_norm\.": ".attn_ln.",
    r"\.self_attn\.": ".attn.",
    r"\.encoder_attn_layer_norm\.": ".cross_attn_ln.",
    r"\.encoder_attn\.": ".cross_attn.",
    r"\.q_proj\.": ".query.",
    r"\.k_proj\.": ".key.",
    r"\.v_proj\.": ".value.",
    r"\.out_proj\.": ".out.",
    r"\.fc1\.": ".mlp.0.",
    r"\.fc2\.": ".mlp.2.",
    r"\.final_layer_norm\.": ".mlp_ln.",
    r"^encoder\.layer_norm\.": "encoder.ln_post.",
    r"^decoder\.layer_norm\.": "decoder.ln.",
    r"\.embed_positions\.weight$": ".positional_embedding",
    r"\.embed_tokens\.": ".token_embedding.",
}
SIZES = {
    "n_mels": "num_mel_bins",
    "n_audio_ctx": "max_source_positions",
    "n_audio_state": "d_model",
    "n_audio_head": "encoder_attention_heads",
    "n_audio_layer": "encoder_layers",
    "n_vocab": "vocab_size",
    "n_text_ctx": "max_target_positions",
    "n_text_state": "d_model",
    "n_text_head": "decoder_attention_heads",
    "n_text_layer": "decoder_layers",
}


def load_whisper(path: str | os.PathLike[str]) -> Whisper:
    """The network in a file of OpenAI (``base.pt``) or in a folder of Hugging Face with
    ``config.json`` and ``model.safetensors`` or ``pytorch_model.bin``, for evaluation, in float32.

    Raises FileNotFoundError where a file is missing and ValueError where it has no Whisper.
    """
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"load_whisper: there is no {place}")
    dims, state = _folder(place) if place.is_dir() else _file(place)
    model = Whisper(ModelDimensions(**dims))
    model.load_state_dict({key: value.float() for key, value in state.items()})
    return model.eval()


def _file(path: Path) -> tuple[dict[str, int], dict[str, Any]]:
    """Sizes and weights of a file of OpenAI."""
    checkpoint = rl.load(str(path), map_location="cpu", weights_only=True)
    if not isinstance(checkpoint, dict) or not {"dims", "model_state_dict"} <= set(checkpoint):
        raise ValueError(f"{path} has no Whisper: it lacks dims or model_state_dict")
    return checkpoint["dims"], checkpoint["model_state_dict"]


def _folder(folder: Path) -> tuple[dict[str, int], dict[str, Any]]:
    """Sizes and weights in a folder of Hugging Face."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") != "whisper":
        raise ValueError(f"{folder} has no Whisper: model_type is {config.get('model_type')!r}")
    tensors = folder / "model.safetensors"
    if tensors.is_file():
        state = safetensors.load_file(str(tensors))
    else:
        pickled = str(folder / "pytorch_model.bin")
        state = rl.load(pickled, map_location="cpu", weights_only=True)
    found = {}
    for key, value in state.items():
        if key == "proj_out.weight":  # the embedding once more
            continue
        for pattern, new in NAMES.items():
            key = re.sub(pattern, new, key)
        found[key] = value
    return {name: config[key] for name, key in SIZES.items()}, found
