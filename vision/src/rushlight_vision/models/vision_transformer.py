"""Vision transformers (Dosovitskiy et al., An image is worth 16x16 words: transformers for image
recognition at scale, 2020)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import _ovewrite_named_param, built, classifier
from rushlight_vision.models._vit_parts import LAYER_NORM, Encoder, EncoderBlock, MLPBlock
from rushlight_vision.ops.misc import Conv2dNormActivation

__all__ = [
    "ConvStemConfig",
    "Encoder",
    "EncoderBlock",
    "MLPBlock",
    "ViT_B_16_Weights",
    "ViT_B_32_Weights",
    "ViT_H_14_Weights",
    "ViT_L_16_Weights",
    "ViT_L_32_Weights",
    "VisionTransformer",
    "interpolate_embeddings",
    "vit_b_16",
    "vit_b_32",
    "vit_h_14",
    "vit_l_16",
    "vit_l_32",
]


class ConvStemConfig(NamedTuple):
    """One convolution of those that may stand for the cut into patches."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Callable[..., nn.Module] = nn.BatchNorm2d
    activation_layer: Callable[..., nn.Module] = nn.ReLU


class VisionTransformer(nn.Module):
    """Images cut into patches, which a transformer sees as a sequence.

    Parameters
    ----------
    image_size, patch_size : int
        Sides in pixels; the second divides the first.
    num_layers, num_heads, hidden_dim, mlp_dim : int
        Of the encoder.
    dropout, attention_dropout : float, default 0.0
    num_classes : int, default 1000
    representation_size : int or None
        Width of one linear layer more before the last.
    norm_layer : callable, default `nn.LayerNorm` with ``eps=1e-6``
    conv_stem_configs : list of ConvStemConfig, or None
        Convolutions that stand for the cut into patches.
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Callable[..., nn.Module] = LAYER_NORM,
        conv_stem_configs: list[ConvStemConfig] | None = None,
    ) -> None:
        super().__init__()
        if image_size % patch_size != 0:
            raise AssertionError("Input shape indivisible by patch size!")
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.mlp_dim = mlp_dim
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.num_classes = num_classes
        self.representation_size = representation_size
        self.norm_layer = norm_layer
        self.conv_proj = self._patches(conv_stem_configs)
        self.class_token = nn.Parameter(rl.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(
            self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout,
            attention_dropout, norm_layer,
        )  # fmt: skip
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._initialize()

    def _patches(self, configs: list[ConvStemConfig] | None) -> nn.Module:
        """What makes vectors of pixels."""
        side = self.patch_size
        if configs is None:
            return nn.Conv2d(3, self.hidden_dim, kernel_size=side, stride=side)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        channels = 3
        for number, row in enumerate(configs):
            layers[f"conv_bn_relu_{number}"] = Conv2dNormActivation(
                channels, row.out_channels, kernel_size=row.kernel_size, stride=row.stride,
                norm_layer=row.norm_layer, activation_layer=row.activation_layer,
            )  # fmt: skip
            channels = row.out_channels
        layers["conv_last"] = nn.Conv2d(channels, self.hidden_dim, kernel_size=1)
        return nn.Sequential(layers)

    def _initialize(self) -> None:
        conv = self.conv_proj
        if isinstance(conv, nn.Conv2d):
            fan_in = conv.in_channels * conv.kernel_size[0] * conv.kernel_size[1]
            nn.init.trunc_normal_(conv.weight, std=(1 / fan_in) ** 0.5)
        else:
            conv = conv.conv_last
            nn.init.normal_(conv.weight, mean=0.0, std=(2.0 / conv.out_channels) ** 0.5)
        nn.init.zeros_(cast(rl.Tensor, conv.bias))
        if self.representation_size is not None:
            before = self.heads.pre_logits
            nn.init.trunc_normal_(before.weight, std=(1 / before.in_features) ** 0.5)
            nn.init.zeros_(before.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x: rl.Tensor) -> rl.Tensor:
        """The patches (N, L, `hidden_dim`) of images (N, 3, H, W)."""
        n, _, h, w = x.shape
        side, wanted = self.patch_size, self.image_size
        rl._assert(h == wanted, f"Wrong image height! Expected {wanted} but got {h}!")
        rl._assert(w == wanted, f"Wrong image width! Expected {wanted} but got {w}!")
        rows, columns = h // side, w // side
        return self.conv_proj(x).reshape(n, self.hidden_dim, rows * columns).permute(0, 2, 1)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`) of images (N, 3, `image_size`, `image_size`)."""
        x = self._process_input(x)
        n = x.shape[0]
        token = self.class_token.expand(n, -1, -1)
        x = self.encoder(rl.cat([token, x], dim=1))
        return self.heads(x[:, 0])


def _vision_transformer(
    patch_size: int,
    num_layers: int,
    num_heads: int,
    hidden_dim: int,
    mlp_dim: int,
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> VisionTransformer:
    if weights is not None:
        _ovewrite_named_param(kwargs, "image_size", weights.meta["min_size"][0])
    shape = (kwargs.pop("image_size", 224), patch_size, num_layers, num_heads, hidden_dim, mlp_dim)
    return built(VisionTransformer, weights, progress, *shape, **kwargs)


def interpolate_embeddings(
    image_size: int,
    patch_size: int,
    model_state: OrderedDict[str, rl.Tensor],
    interpolation_mode: str = "bicubic",
    reset_heads: bool = False,
) -> OrderedDict[str, rl.Tensor]:
    """The state of a network for images of another size.

    What was learnt about positions is resampled to the patches of `image_size`; with `reset_heads`
    the last layers are left out of the state. Raises ValueError for a state of another form.
    """
    name = "encoder.pos_embedding"
    n, length, width = model_state[name].shape
    if n != 1:
        raise ValueError(f"Unexpected position embedding shape: {model_state[name].shape}")
    side = image_size // patch_size
    if side**2 + 1 == length:
        return model_state
    before = round((length - 1) ** 0.5)
    if before**2 != length - 1:
        raise ValueError(f"seq_length is not a perfect square! Instead got {length - 1}")
    token, grid = model_state[name][:, :1], model_state[name][:, 1:]
    grid = grid.permute(0, 2, 1).reshape(1, width, before, before)
    grid = nn.functional.interpolate(grid, size=side, mode=interpolation_mode, align_corners=True)
    grid = grid.reshape(1, width, side * side).permute(0, 2, 1)
    model_state[name] = rl.cat([token, grid], dim=1)
    if not reset_heads:
        return model_state
    kept = [(key, value) for key, value in model_state.items() if not key.startswith("heads")]
    return OrderedDict(kept)


class ViT_B_16_Weights(WeightsEnum):
    """Weights of :func:`vit_b_16`."""

    IMAGENET1K_V1 = published("ViT_B_16_Weights.IMAGENET1K_V1")
    IMAGENET1K_SWAG_E2E_V1 = published("ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1")
    IMAGENET1K_SWAG_LINEAR_V1 = published("ViT_B_16_Weights.IMAGENET1K_SWAG_LINEAR_V1")
    DEFAULT = IMAGENET1K_V1


class ViT_B_32_Weights(WeightsEnum):
    """Weights of :func:`vit_b_32`."""

    IMAGENET1K_V1 = published("ViT_B_32_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class ViT_L_16_Weights(WeightsEnum):
    """Weights of :func:`vit_l_16`."""

    IMAGENET1K_V1 = published("ViT_L_16_Weights.IMAGENET1K_V1")
    IMAGENET1K_SWAG_E2E_V1 = published("ViT_L_16_Weights.IMAGENET1K_SWAG_E2E_V1")
    IMAGENET1K_SWAG_LINEAR_V1 = published("ViT_L_16_Weights.IMAGENET1K_SWAG_LINEAR_V1")
    DEFAULT = IMAGENET1K_V1


class ViT_L_32_Weights(WeightsEnum):
    """Weights of :func:`vit_l_32`."""

    IMAGENET1K_V1 = published("ViT_L_32_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class ViT_H_14_Weights(WeightsEnum):
    """Weights of :func:`vit_h_14`."""

    IMAGENET1K_SWAG_E2E_V1 = published("ViT_H_14_Weights.IMAGENET1K_SWAG_E2E_V1")
    IMAGENET1K_SWAG_LINEAR_V1 = published("ViT_H_14_Weights.IMAGENET1K_SWAG_LINEAR_V1")
    DEFAULT = IMAGENET1K_SWAG_E2E_V1


@classifier(ViT_B_16_Weights)
def vit_b_16(
    *, weights: ViT_B_16_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VisionTransformer:
    """The base transformer with patches of 16x16; keyword arguments, and ``image_size``, go to
    :class:`VisionTransformer`."""
    return _vision_transformer(16, 12, 12, 768, 3072, weights, progress, **kwargs)


@classifier(ViT_B_32_Weights)
def vit_b_32(
    *, weights: ViT_B_32_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VisionTransformer:
    """The base transformer with patches of 32x32; keyword arguments, and ``image_size``, go to
    :class:`VisionTransformer`.

    >>> vit_b_32(num_classes=10, image_size=64)(rl.zeros(2, 3, 64, 64)).shape
    rushlight.Size([2, 10])
    """
    return _vision_transformer(32, 12, 12, 768, 3072, weights, progress, **kwargs)


@classifier(ViT_L_16_Weights)
def vit_l_16(
    *, weights: ViT_L_16_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VisionTransformer:
    """The large transformer with patches of 16x16; keyword arguments, and ``image_size``, go to
    :class:`VisionTransformer`."""
    return _vision_transformer(16, 24, 16, 1024, 4096, weights, progress, **kwargs)


@classifier(ViT_L_32_Weights)
def vit_l_32(
    *, weights: ViT_L_32_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VisionTransformer:
    """The large transformer with patches of 32x32; keyword arguments, and ``image_size``, go to
    :class:`VisionTransformer`."""
    return _vision_transformer(32, 24, 16, 1024, 4096, weights, progress, **kwargs)


@classifier(ViT_H_14_Weights)
def vit_h_14(
    *, weights: ViT_H_14_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VisionTransformer:
    """The huge transformer with patches of 14x14; keyword arguments, and ``image_size``, go to
    :class:`VisionTransformer`."""
    return _vision_transformer(14, 32, 16, 1280, 5120, weights, progress, **kwargs)
