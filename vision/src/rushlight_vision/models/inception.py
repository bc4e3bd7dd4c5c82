"""Inception v3 (Szegedy et al., Rethinking the Inception architecture for computer vision,
2015)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._inception_blocks import (
    BasicConv2d,
    InceptionA,
    InceptionAux,
    InceptionB,
    InceptionC,
    InceptionD,
    InceptionE,
)
from rushlight_vision.models._inception_parts import decided, from_minus_one
from rushlight_vision.models._initialize import draw_truncated
from rushlight_vision.models._utils import _ovewrite_named_param, built, classifier

__all__ = [
    "BasicConv2d",
    "Inception3",
    "InceptionA",
    "InceptionAux",
    "InceptionB",
    "InceptionC",
    "InceptionD",
    "InceptionE",
    "InceptionOutputs",
    "Inception_V3_Weights",
    "_InceptionOutputs",
    "inception_v3",
]

InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])
InceptionOutputs.__annotations__ = {"logits": rl.Tensor, "aux_logits": rl.Tensor | None}
_InceptionOutputs = InceptionOutputs  # the older name

_BLOCKS: list[Callable[..., nn.Module]] = [
    BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux,
]  # fmt: skip
_AFTER_STEM = [
    *("Mixed_5b", "Mixed_5c", "Mixed_5d"),
    *("Mixed_6a", "Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"),
]


class Inception3(nn.Module):
    """Eleven blocks with several branches.

    Input (N, 3, H, W) with sides of at least 75, output (N, `num_classes`); in training, with
    `aux_logits`, an :class:`InceptionOutputs` with the scores of one classifier more, which needs
    sides of at least 299.

    Parameters
    ----------
    num_classes : int, default 1000
    aux_logits : bool, default True
    transform_input : bool, default False
        Images are normalised as of ImageNet and the weights want them from -1 to 1.
    inception_blocks : list of seven callables, or None
        What stands for `BasicConv2d`, `InceptionA` to `InceptionE` and `InceptionAux`.
    init_weights : bool or None
        Draw weights as torchvision does; None is True with a FutureWarning.
    dropout : float, default 0.5
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: list[Callable[..., nn.Module]] | None = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        blocks = _BLOCKS if inception_blocks is None else inception_blocks
        init_weights = decided(init_weights, "inception_v3")
        if len(blocks) != 7:
            raise ValueError(f"length of inception_blocks should be 7 instead of {len(blocks)}")
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self._add_stem(blocks[0])
        self._add_blocks(blocks, num_classes)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights:
            draw_truncated(self, 0.1)

    def _add_stem(self, conv: Callable[..., nn.Module]) -> None:
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)

    def _add_blocks(self, blocks: list[Callable[..., nn.Module]], num_classes: int) -> None:
        _, a, b, c, d, e, aux = blocks
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b = c(768, channels_7x7=128)
        self.Mixed_6c = c(768, channels_7x7=160)
        self.Mixed_6d = c(768, channels_7x7=160)
        self.Mixed_6e = c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if self.aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)

    def _transform_input(self, x: rl.Tensor) -> rl.Tensor:
        return from_minus_one(x) if self.transform_input else x

    def _forward(self, x: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor | None]:
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(self.maxpool1(x)))
        x = self.maxpool2(x)
        for name in _AFTER_STEM:
            x = getattr(self, name)(x)
        aux = self.AuxLogits(x) if self.AuxLogits is not None and self.training else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        x = rl.flatten(self.dropout(self.avgpool(x)), 1)
        return self.fc(x), aux

    def eager_outputs(self, x: rl.Tensor, aux: rl.Tensor | None) -> InceptionOutputs | rl.Tensor:
        """Both scores in training, with `aux_logits`; otherwise those of the last classifier."""
        return InceptionOutputs(x, aux) if self.training and self.aux_logits else x

    def forward(self, x: rl.Tensor) -> InceptionOutputs | rl.Tensor:
        """Scores of the classes."""
        return self.eager_outputs(*self._forward(self._transform_input(x)))


class Inception_V3_Weights(WeightsEnum):
    """Weights of :func:`inception_v3`."""

    IMAGENET1K_V1 = published("Inception_V3_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(Inception_V3_Weights)
def inception_v3(
    *, weights: Inception_V3_Weights | None = None, progress: bool = True, **kwargs: Any
) -> Inception3:
    """Inception v3; keyword arguments go to :class:`Inception3`.

    With `weights` images are taken as normalised for ImageNet.

    >>> model = inception_v3(num_classes=10, init_weights=False).eval()
    >>> model(rl.zeros(2, 3, 75, 75)).shape
    rushlight.Size([2, 10])
    """
    if weights is None:
        return built(Inception3, None, progress, **kwargs)
    kwargs.setdefault("transform_input", True)
    _ovewrite_named_param(kwargs, "aux_logits", True)
    _ovewrite_named_param(kwargs, "init_weights", False)
    return built(Inception3, weights, progress, **kwargs)
