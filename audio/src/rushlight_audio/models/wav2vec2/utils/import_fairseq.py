"""wav2vec 2.0 and HuBERT of fairseq."""

from __future__ import annotations

import re
from typing import Any

import rushlight as rl
from rushlight_audio.models.wav2vec2.network import Wav2Vec2Model, wav2vec2_model
from rushlight_audio.models.wav2vec2.utils._arrays import as_tensor, renamed

__all__ = ["import_fairseq_model"]

# In this order: what stands first is looked for first.
NAMES = {
    r"^(w2v_encoder\.)?w2v_model\.": "",
    r"^w2v_encoder\.proj\.": "aux.",
    r"^proj\.": "aux.",
    r"^layer_norm\.": "encoder.feature_projection.layer_norm.",
    r"^post_extract_proj\.": "encoder.feature_projection.projection.",
    r"^encoder\.": "encoder.transformer.",
    r"^(feature_extractor\.conv_layers\.\d+)\.0\.": r"\1.conv.",
    r"^(feature_extractor\.conv_layers\.\d+)\.2\.(1\.)?": r"\1.layer_norm.",
}
PARTS = {
    ".pos_conv.0.weight_g": ".pos_conv_embed.conv.parametrizations.weight.original0",
    ".pos_conv.0.weight_v": ".pos_conv_embed.conv.parametrizations.weight.original1",
    ".pos_conv.0.parametrizations": ".pos_conv_embed.conv.parametrizations",
    ".pos_conv.0.bias": ".pos_conv_embed.conv.bias",
    ".self_attn_layer_norm.": ".layer_norm.",
    ".self_attn.": ".attention.",
    ".fc1.": ".feed_forward.intermediate_dense.",
    ".fc2.": ".feed_forward.output_dense.",
}
OURS = ("feature_extractor.", "encoder.", "aux.")


def import_fairseq_model(original: Any) -> Wav2Vec2Model:
    """The network of fairseq as ours, with its weights.

    Args:
        original: a ``Wav2Vec2Model`` or ``HubertModel``, or one with tokens: ``Wav2VecEncoder``,
            ``Wav2VecCtc``, ``HubertEncoder``, ``HubertCtc``.

    Raises:
        ValueError: it is another kind of network.
    """
    outer = getattr(original, "w2v_encoder", original)
    network = getattr(outer, "w2v_model", outer)
    for name in ("feature_extractor", "post_extract_proj", "encoder"):
        if not hasattr(network, name):
            raise ValueError(
                "import_fairseq_model: expected a wav2vec 2.0 or HuBERT of fairseq, got "
                f"{type(original).__name__}, which has no {name}"
            )
    head = getattr(outer, "proj", None)
    model = wav2vec2_model(**_sizes(network), aux_num_out=_rows(head))
    model.load_state_dict(_state(original.state_dict()))
    return model.eval()


def _rows(head: Any) -> int | None:
    """How many tokens the layer for them has."""
    return None if head is None else head.weight.shape[0]


def _sizes(network: Any) -> dict[str, Any]:
    """The arguments of our builder."""
    blocks = network.feature_extractor.conv_layers
    convolutions = [block[0] for block in blocks]
    encoder = network.encoder
    layer, position = encoder.layers[0], encoder.pos_conv[0]
    # With group normalization the second block has no norm at all.
    grouped = len(blocks) > 1 and len(list(blocks[1])) == 3
    return {
        "extractor_mode": "group_norm" if grouped else "layer_norm",
        "extractor_conv_layer_config": [
            (each.out_channels, each.kernel_size[0], each.stride[0]) for each in convolutions
        ],
        "extractor_conv_bias": convolutions[0].bias is not None,
        "encoder_embed_dim": network.post_extract_proj.out_features,
        "encoder_projection_dropout": network.dropout_input.p,
        "encoder_pos_conv_kernel": position.kernel_size[0],
        "encoder_pos_conv_groups": position.groups,
        "encoder_num_layers": len(encoder.layers),
        "encoder_num_heads": layer.self_attn.num_heads,
        "encoder_attention_dropout": layer.self_attn.dropout_module.p,
        "encoder_ff_interm_features": layer.fc1.out_features,
        "encoder_ff_interm_dropout": layer.dropout2.p,
        "encoder_dropout": layer.dropout3.p,
        "encoder_layer_norm_first": layer.layer_norm_first,
        "encoder_layer_drop": encoder.layerdrop,
    }


def _state(state: Any) -> dict[str, rl.Tensor]:
    """Weights under our names; what only pre-training has is left out."""
    found = {}
    for key, value in state.items():
        name = key
        for pattern, new in NAMES.items():
            name = re.sub(pattern, new, name)
            if name.startswith("aux.") or name.startswith("encoder.feature_projection."):
                break
        name = renamed(name, PARTS)
        if name.startswith(OURS):
            found[name] = as_tensor(value)
    return found
