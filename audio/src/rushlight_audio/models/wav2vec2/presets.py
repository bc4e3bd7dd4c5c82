"""wav2vec 2.0, HuBERT and WavLM in the sizes of the papers.

The shares that are dropped in training, and the chance of a layer to be skipped, can be given; all
else is what the published weights were trained with.
"""

from __future__ import annotations

from typing import Any

from rushlight_audio.models.wav2vec2.network import (
    HuBERTPretrainModel,
    Wav2Vec2Model,
    hubert_pretrain_model,
    wav2vec2_model,
    wavlm_model,
)

__all__ = [
    "hubert_base",
    "hubert_large",
    "hubert_pretrain_base",
    "hubert_pretrain_large",
    "hubert_pretrain_xlarge",
    "hubert_xlarge",
    "wav2vec2_base",
    "wav2vec2_large",
    "wav2vec2_large_lv60k",
    "wav2vec2_xlsr_1b",
    "wav2vec2_xlsr_2b",
    "wav2vec2_xlsr_300m",
    "wavlm_base",
    "wavlm_large",
]

# Width, layers, heads, width inside of feed-forward steps.
SIZES = {
    "base": (768, 12, 12, 3072),
    "large": (1024, 24, 16, 4096),
    "xlarge": (1280, 48, 16, 5120),
    "widest": (1920, 48, 16, 7680),
}
BUCKETS: dict[str, Any] = {"encoder_num_buckets": 320, "encoder_max_distance": 800}
MASKS: dict[str, Any] = {
    "mask_selection": "static",
    "mask_other": 0.0,
    "mask_length": 10,
    "no_mask_overlap": False,
    "mask_min_space": 1,
    "mask_channel_selection": "static",
    "mask_channel_other": 0.0,
    "no_mask_channel_overlap": False,
    "mask_channel_min_space": 1,
    "skip_masked": False,
    "skip_nomask": False,
}


def _sized(size: str, mode: str, bias: bool, drops: tuple[float, ...]) -> dict[str, Any]:
    """Arguments of the builders for a size; `drops` are those of the projection, the attention,
    inside of and behind feed-forward steps, and of layers."""
    width, layers, heads, inner = SIZES[size]
    return {
        "extractor_mode": mode,
        "extractor_conv_layer_config": None,
        "extractor_conv_bias": bias,
        "encoder_embed_dim": width,
        "encoder_projection_dropout": drops[0],
        "encoder_pos_conv_kernel": 128,
        "encoder_pos_conv_groups": 16,
        "encoder_num_layers": layers,
        "encoder_num_heads": heads,
        "encoder_attention_dropout": drops[1],
        "encoder_ff_interm_features": inner,
        "encoder_ff_interm_dropout": drops[2],
        "encoder_dropout": drops[3],
        "encoder_layer_norm_first": mode == "layer_norm",
        "encoder_layer_drop": drops[4],
    }


def wav2vec2_base(
    encoder_projection_dropout: float = 0.1,
    encoder_attention_dropout: float = 0.1,
    encoder_ff_interm_dropout: float = 0.1,
    encoder_dropout: float = 0.1,
    encoder_layer_drop: float = 0.1,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """wav2vec 2.0 "base" of the paper: 12 layers of width 768."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("base", "group_norm", False, drops)
    return wav2vec2_model(**sizes, aux_num_out=aux_num_out)


def wav2vec2_large(
    encoder_projection_dropout: float = 0.1,
    encoder_attention_dropout: float = 0.1,
    encoder_ff_interm_dropout: float = 0.1,
    encoder_dropout: float = 0.1,
    encoder_layer_drop: float = 0.1,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """wav2vec 2.0 "large" of the paper: 24 layers of width 1024."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("large", "group_norm", False, drops)
    return wav2vec2_model(**sizes, aux_num_out=aux_num_out)


def wav2vec2_large_lv60k(
    encoder_projection_dropout: float = 0.1,
    encoder_attention_dropout: float = 0.0,
    encoder_ff_interm_dropout: float = 0.1,
    encoder_dropout: float = 0.0,
    encoder_layer_drop: float = 0.1,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """wav2vec 2.0 "large" as trained on 60,000 hours: layer normalization first."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("large", "layer_norm", True, drops)
    return wav2vec2_model(**sizes, aux_num_out=aux_num_out)


def hubert_base(
    encoder_projection_dropout: float = 0.1,
    encoder_attention_dropout: float = 0.1,
    encoder_ff_interm_dropout: float = 0.0,
    encoder_dropout: float = 0.1,
    encoder_layer_drop: float = 0.05,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """HuBERT "base": 12 layers of width 768."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("base", "group_norm", False, drops)
    return wav2vec2_model(**sizes, aux_num_out=aux_num_out)


def hubert_large(
    encoder_projection_dropout: float = 0.0,
    encoder_attention_dropout: float = 0.0,
    encoder_ff_interm_dropout: float = 0.0,
    encoder_dropout: float = 0.0,
    encoder_layer_drop: float = 0.0,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """HuBERT "large": 24 layers of width 1024."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("large", "layer_norm", False, drops)
    return wav2vec2_model(**sizes, aux_num_out=aux_num_out)


def hubert_xlarge(
    encoder_projection_dropout: float = 0.0,
    encoder_attention_dropout: float = 0.0,
    encoder_ff_interm_dropout: float = 0.0,
    encoder_dropout: float = 0.0,
    encoder_layer_drop: float = 0.0,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """HuBERT "extra large": 48 layers of width 1280."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("xlarge", "layer_norm", False, drops)
    return wav2vec2_model(**sizes, aux_num_out=aux_num_out)


def wav2vec2_xlsr_300m(
    encoder_projection_dropout: float = 0.0,
    encoder_attention_dropout: float = 0.0,
    encoder_ff_interm_dropout: float = 0.0,
    encoder_dropout: float = 0.0,
    encoder_layer_drop: float = 0.0,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """XLS-R of 300 million parameters (Babu et al., 2021)."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("large", "layer_norm", True, drops)
    return wav2vec2_model(**sizes, aux_num_out=aux_num_out)


def wav2vec2_xlsr_1b(
    encoder_projection_dropout: float = 0.1,
    encoder_attention_dropout: float = 0.0,
    encoder_ff_interm_dropout: float = 0.0,
    encoder_dropout: float = 0.0,
    encoder_layer_drop: float = 0.0,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """XLS-R of 1 billion parameters (Babu et al., 2021)."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("xlarge", "layer_norm", True, drops)
    return wav2vec2_model(**sizes, aux_num_out=aux_num_out)


def wav2vec2_xlsr_2b(
    encoder_projection_dropout: float = 0.1,
    encoder_attention_dropout: float = 0.0,
    encoder_ff_interm_dropout: float = 0.0,
    encoder_dropout: float = 0.0,
    encoder_layer_drop: float = 0.0,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """XLS-R of 2 billion parameters (Babu et al., 2021)."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("widest", "layer_norm", True, drops)
    return wav2vec2_model(**sizes, aux_num_out=aux_num_out)


def wavlm_base(
    encoder_projection_dropout: float = 0.1,
    encoder_attention_dropout: float = 0.1,
    encoder_ff_interm_dropout: float = 0.1,
    encoder_dropout: float = 0.1,
    encoder_layer_drop: float = 0.1,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """WavLM "base": 12 layers of width 768."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("base", "group_norm", False, drops)
    return wavlm_model(**sizes, **BUCKETS, aux_num_out=aux_num_out)


def wavlm_large(
    encoder_projection_dropout: float = 0.1,
    encoder_attention_dropout: float = 0.1,
    encoder_ff_interm_dropout: float = 0.0,
    encoder_dropout: float = 0.1,
    encoder_layer_drop: float = 0.1,
    aux_num_out: int | None = None,
) -> Wav2Vec2Model:
    """WavLM "large": 24 layers of width 1024."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("large", "layer_norm", False, drops)
    return wavlm_model(**sizes, **BUCKETS, aux_num_out=aux_num_out)


def hubert_pretrain_base(
    encoder_projection_dropout: float = 0.1,
    encoder_attention_dropout: float = 0.1,
    encoder_ff_interm_dropout: float = 0.0,
    encoder_dropout: float = 0.1,
    encoder_layer_drop: float = 0.05,
    mask_prob: float = 0.8,
    mask_channel_prob: float = 0.0,
    mask_channel_length: int = 10,
    feature_grad_mult: float | None = 0.1,
    num_classes: int = 100,
) -> HuBERTPretrainModel:
    """HuBERT "base" for pre-training; 100 classes in the first round, 500 in the second.

    The arguments are those of :func:`hubert_pretrain_model`.
    """
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("base", "group_norm", False, drops)
    return hubert_pretrain_model(
        **sizes,
        **MASKS,
        mask_prob=mask_prob,
        mask_channel_prob=mask_channel_prob,
        mask_channel_length=mask_channel_length,
        num_classes=num_classes,
        final_dim=256,
        feature_grad_mult=feature_grad_mult,
    )


def hubert_pretrain_large(
    encoder_projection_dropout: float = 0.0,
    encoder_attention_dropout: float = 0.0,
    encoder_ff_interm_dropout: float = 0.0,
    encoder_dropout: float = 0.0,
    encoder_layer_drop: float = 0.0,
    mask_prob: float = 0.8,
    mask_channel_prob: float = 0.0,
    mask_channel_length: int = 10,
    feature_grad_mult: float | None = None,
) -> HuBERTPretrainModel:
    """HuBERT "large" for pre-training; arguments of :func:`hubert_pretrain_model`."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("large", "layer_norm", False, drops)
    return hubert_pretrain_model(
        **sizes,
        **MASKS,
        mask_prob=mask_prob,
        mask_channel_prob=mask_channel_prob,
        mask_channel_length=mask_channel_length,
        num_classes=500,
        final_dim=768,
        feature_grad_mult=feature_grad_mult,
    )


def hubert_pretrain_xlarge(
    encoder_projection_dropout: float = 0.0,
    encoder_attention_dropout: float = 0.0,
    encoder_ff_interm_dropout: float = 0.0,
    encoder_dropout: float = 0.0,
    encoder_layer_drop: float = 0.0,
    mask_prob: float = 0.8,
    mask_channel_prob: float = 0.0,
    mask_channel_length: int = 10,
    feature_grad_mult: float | None = None,
) -> HuBERTPretrainModel:
    """HuBERT "extra large" for pre-training; arguments of :func:`hubert_pretrain_model`."""
    drops = (
        encoder_projection_dropout,
        encoder_attention_dropout,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_drop,
    )
    sizes = _sized("xlarge", "layer_norm", False, drops)
    return hubert_pretrain_model(
        **sizes,
        **MASKS,
        mask_prob=mask_prob,
        mask_channel_prob=mask_channel_prob,
        mask_channel_length=mask_channel_length,
        num_classes=500,
        final_dim=1024,
        feature_grad_mult=feature_grad_mult,
    )
