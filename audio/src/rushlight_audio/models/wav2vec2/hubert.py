"""What HuBERT has beside the network in its pre-training (Hsu et al., HuBERT: self-supervised
speech representation learning by masked prediction of hidden units, 2021)."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio.models.wav2vec2.masks import mask_indices

__all__ = ["GradMultiply", "LogitGenerator", "MaskGenerator", "first_weights", "scale_gradient"]

TEMPERATURE = 0.1
DEVIATION = 0.02


class GradMultiply(rl.autograd.Function):
    """The same values; a gradient that is `scale` times as large."""

    @staticmethod
    def forward(ctx: Any, x: rl.Tensor, scale: float) -> rl.Tensor:
        """A copy of `x`."""
        ctx.scale = scale
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: rl.Tensor) -> tuple[rl.Tensor, None]:
        """The gradient times the scale."""
        return grad * ctx.scale, None


def scale_gradient(x: rl.Tensor, scale: float) -> rl.Tensor:
    """`x`, whose gradient is multiplied by `scale`."""
    return GradMultiply.apply(x, scale)


class MaskGenerator(nn.Module):
    """Put a learned vector in place of spans of frames, and zeros in place of spans of features."""

    def __init__(
        self,
        encoder_embed_dim: int,
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
    ):
        super().__init__()
        self.mask_prob = mask_prob
        self.mask_selection = mask_selection
        self.mask_other = mask_other
        self.mask_length = mask_length
        self.no_mask_overlap = no_mask_overlap
        self.mask_min_space = mask_min_space
        self.mask_channel_prob = mask_channel_prob
        self.mask_channel_selection = mask_channel_selection
        self.mask_channel_other = mask_channel_other
        self.mask_channel_length = mask_channel_length
        self.no_mask_channel_overlap = no_mask_channel_overlap
        self.mask_channel_min_space = mask_channel_min_space
        self.mask_embedding = nn.Parameter(rl.empty(encoder_embed_dim).uniform_())

    def forward(
        self, x: rl.Tensor, padding_mask: rl.Tensor | None
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """Masked features ``[B, T, D]`` and where frames are masked, ``[B, T]``."""
        batch, length, width = x.shape
        frames = None
        if self.mask_prob > 0:
            frames = mask_indices(
                (batch, length),
                padding_mask,
                self.mask_prob,
                self.mask_length,
                self.mask_selection,
                self.mask_other,
                min_masks=2,
                no_overlap=self.no_mask_overlap,
                min_space=self.mask_min_space,
            ).to(x.device)
            x = rl.where(frames.unsqueeze(2), self.mask_embedding, x)
        if self.mask_channel_prob > 0:
            channels = mask_indices(
                (batch, width),
                None,
                self.mask_channel_prob,
                self.mask_channel_length,
                self.mask_channel_selection,
                self.mask_channel_other,
                no_overlap=self.no_mask_channel_overlap,
                min_space=self.mask_channel_min_space,
            ).to(x.device)
            x = x.masked_fill(channels.unsqueeze(1), 0.0)
        return x, frames


def first_weights(model: nn.Module) -> None:
    """Draw the weights that pre-training begins with."""
    for layer in model.feature_extractor.conv_layers:
        nn.init.kaiming_normal_(layer.conv.weight)
    transformer = model.encoder.transformer
    conv = transformer.pos_conv_embed.conv
    # As in torchaudio the normalised weight keeps the values it has: only the numbers are drawn.
    rl.empty(conv.weight.shape).normal_()
    nn.init.zeros_(conv.bias)
    for layer in transformer.layers:
        for part in layer.attention.children():  # drawn twice, as in torchaudio
            nn.init.xavier_uniform_(part.weight)
    transformer.apply(_first_linear)


def _first_linear(module: nn.Module) -> None:
    """Small normal weights, without bias."""
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, mean=0.0, std=DEVIATION)
        nn.init.zeros_(module.bias)


def _logits(proj_x: rl.Tensor, target: rl.Tensor, embeddings: rl.Tensor) -> rl.Tensor:
    """Similarities ``[N, 1 + classes]`` of projected frames to their class and to all classes, the
    own one without a chance among these."""
    own = embeddings[target]
    others = embeddings.unsqueeze(1).expand(-1, proj_x.shape[0], -1)
    both = rl.cat([own.unsqueeze(0), others])
    scores = nn.functional.cosine_similarity(proj_x, both, dim=-1) / TEMPERATURE
    same = (own == others).all(-1)
    never = rl.cat([rl.zeros_like(same[:1]), same])
    return scores.masked_fill(never, -float("inf")).transpose(0, 1)


class LogitGenerator(nn.Module):
    """Logits of the classes of masked and of other frames."""

    def __init__(
        self,
        encoder_embed_dim: int,
        num_classes: int,
        final_dim: int,
        skip_masked: bool,
        skip_nomask: bool,
    ):
        super().__init__()
        self.label_embeddings = nn.Parameter(rl.empty(num_classes, final_dim).uniform_())
        self.final_proj = nn.Linear(encoder_embed_dim, final_dim)
        self.skip_masked = skip_masked
        self.skip_nomask = skip_nomask

    def forward(
        self, x: rl.Tensor, label: rl.Tensor, mask_m: rl.Tensor, mask_u: rl.Tensor
    ) -> tuple[rl.Tensor | None, rl.Tensor | None]:
        """Logits ``[N, 1 + classes]`` of frames ``[B, T, D]`` where `mask_m` is true and where
        `mask_u` is; None where they are skipped."""
        projected = self.final_proj(x)
        masked, other = (
            None if skip else _logits(projected[mask], label[mask], self.label_embeddings)
            for mask, skip in ((mask_m, self.skip_masked), (mask_u, self.skip_nomask))
        )
        return masked, other
