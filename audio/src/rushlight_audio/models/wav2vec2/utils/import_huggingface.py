"""wav2vec 2.0, HuBERT and WavLM of Hugging Face's transformers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight.serialization import safetensors
from rushlight_audio.models.wav2vec2.network import Wav2Vec2Model, wav2vec2_model, wavlm_model
from rushlight_audio.models.wav2vec2.utils._arrays import as_tensor, renamed

__all__ = ["import_huggingface_model"]

KINDS = ("wav2vec2", "hubert", "wavlm")
FILES = ("model.safetensors", "pytorch_model.bin")
PREFIXES = {
    "feature_projection.": "encoder.feature_projection.",
    "encoder.": "encoder.transformer.",
    "feature_extractor.": "feature_extractor.",
}
# Older files have weight normalization under the names of before parametrizations.
NORMALISED = {
    ".conv.weight_g": ".conv.parametrizations.weight.original0",
    ".conv.weight_v": ".conv.parametrizations.weight.original1",
}
PARTS = ("q_proj", "k_proj", "v_proj")


def import_huggingface_model(original: Any) -> Wav2Vec2Model:
    """The network of transformers as ours, with its weights.

    Args:
        original: a folder with ``config.json`` and ``model.safetensors`` or ``pytorch_model.bin``,
            or a ``Wav2Vec2Model``, ``HubertModel``, ``WavLMModel`` or one of them ``ForCTC``.

    Raises:
        FileNotFoundError: the folder lacks a file.
        ValueError: it is another kind of network.
    """
    if isinstance(original, (str, os.PathLike)):
        config, state = _folder(Path(original))
    else:
        config, state = original.config.to_dict(), original.state_dict()
    kind = config.get("model_type")
    if kind not in KINDS:
        raise ValueError(
            f"import_huggingface_model: model_type {kind!r} is none of {', '.join(KINDS)}"
        )
    head = state.get("lm_head.weight")
    model = _model(kind, config, None if head is None else head.shape[0])
    model.load_state_dict(_state(kind, state))
    return model.eval()


def _folder(folder: Path) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Settings and weights in a folder."""
    config = folder / "config.json"
    if not config.is_file():
        raise FileNotFoundError(f"import_huggingface_model: there is no {config}")
    for name in FILES:
        path = folder / name
        if not path.is_file():
            continue
        if path.suffix == ".safetensors":
            state = safetensors.load_file(str(path))
        else:
            state = rl.load(str(path), map_location="cpu", weights_only=True)
        return json.loads(config.read_text(encoding="utf-8")), state
    raise FileNotFoundError(f"import_huggingface_model: {folder} has none of {', '.join(FILES)}")


def _model(kind: str, config: dict[str, Any], tokens: int | None) -> Wav2Vec2Model:
    """A network of the sizes that `config` gives."""
    norm = config["feat_extract_norm"]
    layers = zip(config["conv_dim"], config["conv_kernel"], config["conv_stride"], strict=True)
    sizes = {
        "extractor_mode": "group_norm" if norm == "group" else "layer_norm",
        "extractor_conv_layer_config": list(layers),
        "extractor_conv_bias": config["conv_bias"],
        "encoder_embed_dim": config["hidden_size"],
        "encoder_projection_dropout": config["feat_proj_dropout"],
        "encoder_pos_conv_kernel": config["num_conv_pos_embeddings"],
        "encoder_pos_conv_groups": config["num_conv_pos_embedding_groups"],
        "encoder_num_layers": config["num_hidden_layers"],
        "encoder_num_heads": config["num_attention_heads"],
        "encoder_attention_dropout": config["attention_dropout"],
        "encoder_ff_interm_features": config["intermediate_size"],
        "encoder_ff_interm_dropout": config["activation_dropout"],
        "encoder_dropout": config["hidden_dropout"],
        "encoder_layer_norm_first": config["do_stable_layer_norm"],
        "encoder_layer_drop": config["layerdrop"],
        "aux_num_out": tokens,
    }
    if kind != "wavlm":
        return wav2vec2_model(**sizes)
    return wavlm_model(
        **sizes,
        encoder_num_buckets=config["num_buckets"],
        encoder_max_distance=config["max_bucket_distance"],
    )


def _state(kind: str, state: Mapping[str, Any]) -> dict[str, rl.Tensor]:
    """Weights under our names; what only pre-training has is left out."""
    found: dict[str, rl.Tensor] = {}
    for key, value in state.items():
        name = key.removeprefix(f"{kind}.")
        if key.startswith("lm_head."):
            found[key.replace("lm_head", "aux")] = as_tensor(value)
            continue
        own = next((PREFIXES[p] + name[len(p) :] for p in PREFIXES if name.startswith(p)), None)
        if own is not None:
            found[renamed(own, NORMALISED)] = as_tensor(value)
    return _joined(found) if kind == "wavlm" else found


def _joined(state: dict[str, rl.Tensor]) -> dict[str, rl.Tensor]:
    """The three projections of each attention of WavLM as one."""
    found = dict(state)
    for key in state:
        base, _, end = key.rpartition("q_proj.")
        if not base:
            continue
        parts = [found.pop(f"{base}{part}.{end}") for part in PARTS]
        found[f"{base}attention.in_proj_{end}"] = rl.cat(parts)
        found[f"{base}attention.out_proj.{end}"] = found.pop(f"{base}out_proj.{end}")
    return found
