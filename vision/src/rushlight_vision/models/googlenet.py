"""GoogLeNet (Szegedy et al., Going deeper with convolutions, 2014)."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._inception_parts import (
    BasicConv2d,
    Branches,
    decided,
    from_minus_one,
)
from rushlight_vision.models._initialize import draw_truncated
from rushlight_vision.models._utils import _ovewrite_named_param, built, classifier

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "GoogLeNet_Weights", "_GoogLeNetOutputs", "googlenet"]

GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits2", "aux_logits1"])
GoogLeNetOutputs.__annotations__ = {
    "logits": rl.Tensor,
    "aux_logits2": rl.Tensor | None,
    "aux_logits1": rl.Tensor | None,
}
_GoogLeNetOutputs = GoogLeNetOutputs  # the older name

# Widths of the blocks: 1x1; 3x3 after 1x1; 5x5 after 1x1; 1x1 after pooling.
_WIDTHS = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}


class Inception(Branches):
    """Four ways through a block: convolutions of 1x1, of 3x3, of 5x5 (3x3 here), and pooling."""

    def __init__(
        self,
        in_channels: int,
        ch1x1: int,
        ch3x3red: int,
        ch3x3: int,
        ch5x5red: int,
        ch5x5: int,
        pool_proj: int,
        conv_block: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        self.branch1 = conv(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv(in_channels, ch3x3red, kernel_size=1),
            conv(ch3x3red, ch3x3, kernel_size=3, padding=1),
        )
        # The published weights were trained with 3x3 where the paper has 5x5.
        self.branch3 = nn.Sequential(
            conv(in_channels, ch5x5red, kernel_size=1),
            conv(ch5x5red, ch5x5, kernel_size=3, padding=1),
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            conv(in_channels, pool_proj, kernel_size=1),
        )

    def _forward(self, x: rl.Tensor) -> list[rl.Tensor]:
        return [self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)]


class InceptionAux(nn.Module):
    """Scores of the classes from maps in the middle of the network, for training."""

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        conv_block: Callable[..., nn.Module] | None = None,
        dropout: float = 0.7,
    ) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        self.conv = conv(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(128 * 4 * 4, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`)."""
        x = rl.flatten(self.conv(nn.functional.adaptive_avg_pool2d(x, (4, 4))), 1)
        return self.fc2(self.dropout(nn.functional.relu(self.fc1(x), inplace=True)))


class GoogLeNet(nn.Module):
    """Nine blocks of four branches.

    Input (N, 3, H, W) with sides of at least 15, output (N, `num_classes`); in training, with
    `aux_logits`, a :class:`GoogLeNetOutputs` with the scores of two classifiers more.

    Parameters
    ----------
    num_classes : int, default 1000
    aux_logits : bool, default True
    transform_input : bool, default False
        Images are normalised as of ImageNet and the weights want them from -1 to 1.
    init_weights : bool or None
        Draw weights as torchvision does; None is True with a FutureWarning.
    blocks : list of three callables, or None
        What stands for `BasicConv2d`, `Inception` and `InceptionAux`.
    dropout, dropout_aux : float, default 0.2 and 0.7
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        blocks: list[Callable[..., nn.Module]] | None = None,
        dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        blocks = [BasicConv2d, Inception, InceptionAux] if blocks is None else blocks
        if len(blocks) != 3:
            raise ValueError(f"blocks length should be 3 instead of {len(blocks)}")
        init_weights = decided(init_weights, "GoogleNet")
        conv, _, aux = blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        width = self._add_blocks(blocks[1])
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(width, num_classes)
        if init_weights:
            draw_truncated(self, 0.01)

    def _add_blocks(self, block: Callable[..., nn.Module]) -> int:
        """The nine blocks and the poolings between them; returns the last width."""
        width = 192
        for name, widths in _WIDTHS.items():
            if name == "4a":
                self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
            if name == "5a":
                self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
            setattr(self, f"inception{name}", block(width, *widths))
            width = widths[0] + widths[2] + widths[4] + widths[5]
        return width

    def _transform_input(self, x: rl.Tensor) -> rl.Tensor:
        return from_minus_one(x) if self.transform_input else x

    def _extra(self, head: nn.Module | None, x: rl.Tensor) -> rl.Tensor | None:
        """The scores of an auxiliary classifier, in training."""
        return head(x) if self.training and head is not None else None

    def _forward(self, x: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor | None, rl.Tensor | None]:
        x = self.maxpool1(self.conv1(x))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        x = self.maxpool3(self.inception3b(self.inception3a(x)))
        x = self.inception4a(x)
        first = self._extra(self.aux1, x)
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        second = self._extra(self.aux2, x)
        x = self.maxpool4(self.inception4e(x))
        x = self.inception5b(self.inception5a(x))
        x = self.dropout(rl.flatten(self.avgpool(x), 1))
        return self.fc(x), second, first

    def eager_outputs(
        self, x: rl.Tensor, aux2: rl.Tensor | None, aux1: rl.Tensor | None
    ) -> GoogLeNetOutputs | rl.Tensor:
        """All scores in training, with `aux_logits`; otherwise those of the last classifier."""
        return GoogLeNetOutputs(x, aux2, aux1) if self.training and self.aux_logits else x

    def forward(self, x: rl.Tensor) -> GoogLeNetOutputs | rl.Tensor:
        """Scores of the classes."""
        return self.eager_outputs(*self._forward(self._transform_input(x)))


class GoogLeNet_Weights(WeightsEnum):
    """Weights of :func:`googlenet`."""

    IMAGENET1K_V1 = published("GoogLeNet_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(GoogLeNet_Weights)
def googlenet(
    *, weights: GoogLeNet_Weights | None = None, progress: bool = True, **kwargs: Any
) -> GoogLeNet:
    """GoogLeNet; keyword arguments go to :class:`GoogLeNet`.

    With `weights` images are taken as normalised for ImageNet, and there are no auxiliary scores
    unless ``aux_logits=True`` (their classifiers were not trained).

    >>> model = googlenet(num_classes=10, init_weights=False)
    >>> model(rl.zeros(2, 3, 32, 32)).aux_logits1.shape
    rushlight.Size([2, 10])
    """
    if weights is None:
        return built(GoogLeNet, None, progress, **kwargs)
    wanted = kwargs.setdefault("aux_logits", False)
    kwargs.setdefault("transform_input", True)
    kwargs["aux_logits"] = True
    _ovewrite_named_param(kwargs, "init_weights", False)
    model = built(GoogLeNet, weights, progress, **kwargs)
    if wanted:
        warnings.warn(
            "auxiliary heads in the pretrained googlenet model are NOT pretrained, so make sure to "
            "train them",
            stacklevel=2,
        )
    else:
        model.aux_logits = False
        model.aux1 = model.aux2 = None
    return model
