"""wav2vec 2.0 (Baevski et al., wav2vec 2.0: a framework for self-supervised learning of speech
representations, 2020), HuBERT (Hsu et al., 2021) and WavLM (Chen et al., 2021).

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio.models._lengths import padding_mask
from rushlight_audio.models.wav2vec2 import components
from rushlight_audio.models.wav2vec2.hubert import (
    LogitGenerator,
    MaskGenerator,
    first_weights,
    scale_gradient,
)
from rushlight_audio.models.wav2vec2.wavlm_attention import WavLMSelfAttention

__all__ = [
    "HuBERTPretrainModel",
    "Wav2Vec2Model",
    "hubert_pretrain_model",
    "wav2vec2_model",
    "wavlm_model",
]

Layers = list[tuple[int, int, int]]

# Channels, kernel and stride of each convolution: 20 ms at 16 kHz.
EXTRACTOR: Layers = [(512, 10, 5)] + [(512, 3, 2)] * 4 + [(512, 2, 2)] * 2


class Wav2Vec2Model(nn.Module):
    """An encoder of waveforms, with a layer for tokens if it was trained to recognise them.

    Args:
        feature_extractor: makes features of frames.
        encoder: makes encodings of them.
        aux: makes logits of tokens of these; None where there is none.
    """

    def __init__(
        self, feature_extractor: nn.Module, encoder: nn.Module, aux: nn.Module | None = None
    ):
        super().__init__()
        self.feature_extractor = feature_extractor
        self.encoder = encoder
        self.aux = aux

    def extract_features(
        self,
        waveforms: rl.Tensor,
        lengths: rl.Tensor | None = None,
        num_layers: int | None = None,
    ) -> tuple[list[rl.Tensor], rl.Tensor | None]:
        """What the layers of the transformer made.

        Args:
            waveforms: ``[B, T]``.
            lengths: ``[B]``; without them all of each waveform counts.
            num_layers: the first layers alone; all by default.

        Returns:
            One tensor ``[B, T', D]`` for each layer, and lengths in frames where `lengths` are
            given.
        """
        x, lengths = self.feature_extractor(waveforms, lengths)
        return self.encoder.extract_features(x, lengths, num_layers), lengths

    def forward(
        self, waveforms: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """Logits of tokens ``[B, T', tokens]``, or encodings ``[B, T', D]`` of a network without
        tokens, and lengths in frames where `lengths` ``[B]`` are given."""
        x, lengths = self.feature_extractor(waveforms, lengths)
        x = self.encoder(x, lengths)
        return (x if self.aux is None else self.aux(x)), lengths


class HuBERTPretrainModel(nn.Module):
    """The network that predicts classes of masked frames.

    Args:
        wav2vec2: the encoder.
        mask_generator: masks features.
        logit_generator: logits of classes of masked and other frames.
        feature_grad_mult: factor of the gradient that reaches the convolutions; None: 1.
    """

    def __init__(
        self,
        wav2vec2: Wav2Vec2Model,
        mask_generator: nn.Module,
        logit_generator: nn.Module,
        feature_grad_mult: float | None,
    ):
        super().__init__()
        self.wav2vec2 = wav2vec2
        self.mask_generator = mask_generator
        self.logit_generator = logit_generator
        if feature_grad_mult is not None and not 0.0 < feature_grad_mult < 1.0:
            raise ValueError(
                f"HuBERTPretrainModel(): feature_grad_mult={feature_grad_mult} is not between 0 "
                "and 1"
            )
        self.feature_grad_mult = feature_grad_mult

    def forward(
        self,
        waveforms: rl.Tensor,
        labels: rl.Tensor,
        audio_lengths: rl.Tensor | None = None,
    ) -> tuple[rl.Tensor | None, rl.Tensor | None, rl.Tensor]:
        """Logits of masked frames, of other frames, and the mean square of the features.

        Args:
            waveforms: ``[B, T]``.
            labels: classes of frames ``[B, T']``.
            audio_lengths: ``[B]``.
        """
        model = self.wav2vec2
        x, lengths = model.feature_extractor(waveforms, audio_lengths)
        if self.feature_grad_mult is not None and self.feature_grad_mult < 1.0:
            x = scale_gradient(x, self.feature_grad_mult)
        penalty = x.float().pow(2).mean()
        padding = None if lengths is None else padding_mask(lengths, x.shape[1])
        x, attention_mask = model.encoder._preprocess(x, lengths)
        x, mask = self.mask_generator(x, padding)
        x = model.encoder.transformer(x, attention_mask=attention_mask)
        if x.shape[1] != labels.shape[1]:
            raise ValueError(
                f"HuBERTPretrainModel: {labels.shape[1]} labels for {x.shape[1]} frames"
            )
        shown = rl.ones_like(mask) if padding is None else ~padding
        masked, other = self.logit_generator(x, labels, shown & mask, shown & ~mask)
        return masked, other, penalty


def _model(layers: Layers | None, mode: str, bias: bool, encoder: Any, aux: int | None) -> Any:
    """The network; `encoder` makes its encoder from the features' width."""
    layers = EXTRACTOR if layers is None else layers
    extractor = components._get_feature_extractor(mode, layers, bias)
    made = encoder(layers[-1][0])
    width = made.feature_projection.projection.out_features
    return Wav2Vec2Model(extractor, made, None if aux is None else nn.Linear(width, aux))


def wav2vec2_model(
    extractor_mode: str,
    extractor_conv_layer_config: Layers | None,
    extractor_conv_bias: bool,
    encoder_embed_dim: int,
    encoder_projection_dropout: float,
    encoder_pos_conv_kernel: int,
    encoder_pos_conv_groups: int,
    encoder_num_layers: int,
    encoder_num_heads: int,
    encoder_attention_dropout: float,
    encoder_ff_interm_features: int,
    encoder_ff_interm_dropout: float,
    encoder_dropout: float,
    encoder_layer_norm_first: bool,
    encoder_layer_drop: float,
    aux_num_out: int | None,
) -> Wav2Vec2Model:
    """A wav2vec 2.0 or HuBERT of these sizes.

    Args:
        extractor_mode: ``"group_norm"`` or ``"layer_norm"``.
        extractor_conv_layer_config: (channels, kernel, stride) of convolutions; None: the seven of
            the paper.
        extractor_conv_bias: convolutions have a bias.
        encoder_embed_dim: width D.
        encoder_projection_dropout: share of projected features dropped.
        encoder_pos_conv_kernel: kernel of the convolution for positions.
        encoder_pos_conv_groups: its groups.
        encoder_num_layers: layers of the transformer.
        encoder_num_heads: heads.
        encoder_attention_dropout: share of weights of the attention dropped.
        encoder_ff_interm_features: width inside of feed-forward steps.
        encoder_ff_interm_dropout: share dropped inside of them.
        encoder_dropout: share dropped behind attention and feed-forward steps.
        encoder_layer_norm_first: layers normalise what they are given, not what they make.
        encoder_layer_drop: chance of a layer to be skipped in training.
        aux_num_out: tokens; None for a network without them.

    >>> model = wav2vec2_model("group_norm", [(8, 10, 5), (8, 3, 2)], False, 12, 0.1, 4, 2, 1, 2,
    ...                        0.1, 16, 0.1, 0.1, False, 0.1, 5)
    >>> model(rl.zeros(1, 400))[0].shape
    rushlight.Size([1, 39, 5])
    """

    def encoder(width: int) -> nn.Module:
        return components._get_encoder(
            in_features=width,
            embed_dim=encoder_embed_dim,
            dropout_input=encoder_projection_dropout,
            pos_conv_kernel=encoder_pos_conv_kernel,
            pos_conv_groups=encoder_pos_conv_groups,
            num_layers=encoder_num_layers,
            num_heads=encoder_num_heads,
            attention_dropout=encoder_attention_dropout,
            ff_interm_features=encoder_ff_interm_features,
            ff_interm_dropout=encoder_ff_interm_dropout,
            dropout=encoder_dropout,
            layer_norm_first=encoder_layer_norm_first,
            layer_drop=encoder_layer_drop,
        )

    layers, bias = extractor_conv_layer_config, extractor_conv_bias
    return _model(layers, extractor_mode, bias, encoder, aux_num_out)


def wavlm_model(
    extractor_mode: str,
    extractor_conv_layer_config: Layers | None,
    extractor_conv_bias: bool,
    encoder_embed_dim: int,
    encoder_projection_dropout: float,
    encoder_pos_conv_kernel: int,
    encoder_pos_conv_groups: int,
    encoder_num_layers: int,
    encoder_num_heads: int,
    encoder_num_buckets: int,
    encoder_max_distance: int,
    encoder_attention_dropout: float,
    encoder_ff_interm_features: int,
    encoder_ff_interm_dropout: float,
    encoder_dropout: float,
    encoder_layer_norm_first: bool,
    encoder_layer_drop: float,
    aux_num_out: int | None,
) -> Wav2Vec2Model:
    """A WavLM of these sizes: :func:`wav2vec2_model`'s arguments, and

    Args:
        encoder_num_buckets: rows of the table of relative positions.
        encoder_max_distance: from which on all positions share a row.
    """

    def attention(number: int) -> nn.Module:
        return WavLMSelfAttention(
            embed_dim=encoder_embed_dim,
            num_heads=encoder_num_heads,
            num_buckets=encoder_num_buckets,
            dropout=encoder_attention_dropout,
            has_relative_attention_bias=number == 0,
            max_distance=encoder_max_distance,
        )

    def encoder(width: int) -> nn.Module:
        return components._get_encoder(
            in_features=width,
            embed_dim=encoder_embed_dim,
            dropout_input=encoder_projection_dropout,
            pos_conv_kernel=encoder_pos_conv_kernel,
            pos_conv_groups=encoder_pos_conv_groups,
            num_layers=encoder_num_layers,
            num_heads=encoder_num_heads,
            attention_dropout=encoder_attention_dropout,
            ff_interm_features=encoder_ff_interm_features,
            ff_interm_dropout=encoder_ff_interm_dropout,
            dropout=encoder_dropout,
            layer_norm_first=encoder_layer_norm_first,
            layer_drop=encoder_layer_drop,
            make_attention=attention,
        )

    layers, bias = extractor_conv_layer_config, extractor_conv_bias
    return _model(layers, extractor_mode, bias, encoder, aux_num_out)


def hubert_pretrain_model(
    extractor_mode: str,
    extractor_conv_layer_config: Layers | None,
    extractor_conv_bias: bool,
    encoder_embed_dim: int,
    encoder_projection_dropout: float,
    encoder_pos_conv_kernel: int,
    encoder_pos_conv_groups: int,
    encoder_num_layers: int,
    encoder_num_heads: int,
    encoder_attention_dropout: float,
    encoder_ff_interm_features: int,
    encoder_ff_interm_dropout: float,
    encoder_dropout: float,
    encoder_layer_norm_first: bool,
    encoder_layer_drop: float,
    mask_prob: float,
    mask_selection: str,
    mask_other: float,
    mask_length: int,
    no_mask_overlap: bool,
    mask_min_space: int,
    mask_channel_prob: float,
    mask_channel_selection: str,
    mask_channel_other: float,
    mask_channel_length: int,
    no_mask_channel_overlap: bool,
    mask_channel_min_space: int,
    skip_masked: bool,
    skip_nomask: bool,
    num_classes: int,
    final_dim: int,
    feature_grad_mult: float | None,
) -> HuBERTPretrainModel:
    """A HuBERT for pre-training: :func:`wav2vec2_model`'s arguments, and

    Args:
        mask_prob: chance of a frame to be in a masked span.
        mask_selection: lengths of spans: ``"static"``, ``"uniform"`` or ``"normal"``.
        mask_other: second parameter of the lengths.
        mask_length: frames of a span.
        no_mask_overlap: spans do not overlap.
        mask_min_space: frames between spans that do not overlap.
        mask_channel_prob: the same for spans of features, which become zero.
        mask_channel_selection: see `mask_selection`.
        mask_channel_other: see `mask_other`.
        mask_channel_length: see `mask_length`.
        no_mask_channel_overlap: see `no_mask_overlap`.
        mask_channel_min_space: see `mask_min_space`.
        skip_masked: no logits of masked frames.
        skip_nomask: no logits of other frames.
        num_classes: classes of frames.
        final_dim: width in which frames and classes are compared.
        feature_grad_mult: factor of the gradient that reaches the convolutions.
    """
    encoder = wav2vec2_model(
        extractor_mode,
        extractor_conv_layer_config,
        extractor_conv_bias,
        encoder_embed_dim,
        encoder_projection_dropout,
        encoder_pos_conv_kernel,
        encoder_pos_conv_groups,
        encoder_num_layers,
        encoder_num_heads,
        encoder_attention_dropout,
        encoder_ff_interm_features,
        encoder_ff_interm_dropout,
        encoder_dropout,
        encoder_layer_norm_first,
        encoder_layer_drop,
        aux_num_out=None,
    )
    mask_generator = MaskGenerator(
        encoder_embed_dim,
        mask_prob,
        mask_selection,
        mask_other,
        mask_length,
        no_mask_overlap,
        mask_min_space,
        mask_channel_prob,
        mask_channel_selection,
        mask_channel_other,
        mask_channel_length,
        no_mask_channel_overlap,
        mask_channel_min_space,
    )
    logits = LogitGenerator(encoder_embed_dim, num_classes, final_dim, skip_masked, skip_nomask)
    first_weights(encoder)
    return HuBERTPretrainModel(encoder, mask_generator, logits, feature_grad_mult)
