"""ShuffleNetV2 (Ma et al., ShuffleNet V2: practical guidelines for efficient CNN architecture
design, 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import built, classifier

__all__ = [
    "ShuffleNetV2",
    "ShuffleNet_V2_X0_5_Weights",
    "ShuffleNet_V2_X1_0_Weights",
    "ShuffleNet_V2_X1_5_Weights",
    "ShuffleNet_V2_X2_0_Weights",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]


def channel_shuffle(x: rl.Tensor, groups: int) -> rl.Tensor:
    """The channels (N, C, H, W) with those of the groups taken in turn.

    >>> channel_shuffle(rl.arange(6.0).reshape(1, 6, 1, 1), 2).flatten()
    tensor([0., 3., 1., 4., 2., 5.])
    """
    n, channels, height, width = x.size()
    x = x.view(n, groups, channels // groups, height, width)
    return x.transpose(1, 2).contiguous().view(n, channels, height, width)


def _narrow(before: int, after: int) -> list[nn.Module]:
    """A convolution of 1x1, normalisation and ReLU."""
    conv = nn.Conv2d(before, after, kernel_size=1, bias=False)
    return [conv, nn.BatchNorm2d(after), nn.ReLU(inplace=True)]


class InvertedResidual(nn.Module):
    """Half of the channels filtered and the other half as they are, or both filtered to half the
    size with `stride` 2; then the channels are shuffled."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError(f"illegal stride value {stride}: from 1 to 3 expected")
        if stride == 1 and inp != oup // 2 * 2:
            raise ValueError(
                f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values. If "
                "stride == 1 then inp should be equal to oup // 2 << 1."
            )
        self.stride = stride
        half = oup // 2
        self.branch1 = nn.Sequential()
        if stride > 1:
            self.branch1 = nn.Sequential(*self._filter(inp, stride), *_narrow(inp, half))
        before = inp if stride > 1 else half
        self.branch2 = nn.Sequential(
            *_narrow(before, half), *self._filter(half, stride), *_narrow(half, half)
        )

    @classmethod
    def _filter(cls, channels: int, stride: int) -> list[nn.Module]:
        conv = cls.depthwise_conv(channels, channels, kernel_size=3, stride=stride, padding=1)
        return [conv, nn.BatchNorm2d(channels)]

    @staticmethod
    def depthwise_conv(
        i: int, o: int, kernel_size: int, stride: int = 1, padding: int = 0, bias: bool = False
    ) -> nn.Conv2d:
        """A convolution of each of `i` channels by itself."""
        return nn.Conv2d(i, o, kernel_size, stride, padding, bias=bias, groups=i)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The block's result."""
        if self.stride == 1:
            kept, rest = x.chunk(2, dim=1)
            out = rl.cat((kept, self.branch2(rest)), dim=1)
        else:
            out = rl.cat((self.branch1(x), self.branch2(x)), dim=1)
        return channel_shuffle(out, 2)


class ShuffleNetV2(nn.Module):
    """Three stages of shuffled blocks between two convolutions, and a linear layer.

    `stages_repeats` are the blocks of the three stages, `stages_out_channels` the widths of the
    first convolution, of the stages and of the last convolution. Input (N, 3, H, W), output
    (N, `num_classes`).
    """

    def __init__(
        self,
        stages_repeats: list[int],
        stages_out_channels: list[int],
        num_classes: int = 1000,
        inverted_residual: Callable[..., nn.Module] = InvertedResidual,
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        self._stage_out_channels = stages_out_channels
        width, *widths, last = stages_out_channels
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, width, kernel_size=3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
        )
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for number, (count, after) in enumerate(zip(stages_repeats, widths, strict=True), 2):
            blocks = [inverted_residual(width, after, 2)]
            blocks += [inverted_residual(after, after, 1) for _ in range(count - 1)]
            setattr(self, f"stage{number}", nn.Sequential(*blocks))
            width = after
        self.conv5 = nn.Sequential(*_narrow(width, last))
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes: of the mean over the maps."""
        x = self.maxpool(self.conv1(x))
        x = self.stage4(self.stage3(self.stage2(x)))
        return self.fc(self.conv5(x).mean([2, 3]))


def _shufflenetv2(
    weights: WeightsEnum | None, progress: bool, *args: Any, **kwargs: Any
) -> ShuffleNetV2:
    return built(ShuffleNetV2, weights, progress, *args, **kwargs)


class ShuffleNet_V2_X0_5_Weights(WeightsEnum):
    """Weights of :func:`shufflenet_v2_x0_5`."""

    IMAGENET1K_V1 = published("ShuffleNet_V2_X0_5_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X1_0_Weights(WeightsEnum):
    """Weights of :func:`shufflenet_v2_x1_0`."""

    IMAGENET1K_V1 = published("ShuffleNet_V2_X1_0_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X1_5_Weights(WeightsEnum):
    """Weights of :func:`shufflenet_v2_x1_5`."""

    IMAGENET1K_V1 = published("ShuffleNet_V2_X1_5_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X2_0_Weights(WeightsEnum):
    """Weights of :func:`shufflenet_v2_x2_0`."""

    IMAGENET1K_V1 = published("ShuffleNet_V2_X2_0_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(ShuffleNet_V2_X0_5_Weights)
def shufflenet_v2_x0_5(
    *, weights: ShuffleNet_V2_X0_5_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ShuffleNetV2:
    """ShuffleNetV2 with half the widths; keyword arguments go to :class:`ShuffleNetV2`.

    >>> shufflenet_v2_x0_5(num_classes=10)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 10])
    """
    return _shufflenetv2(weights, progress, [4, 8, 4], [24, 48, 96, 192, 1024], **kwargs)


@classifier(ShuffleNet_V2_X1_0_Weights)
def shufflenet_v2_x1_0(
    *, weights: ShuffleNet_V2_X1_0_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ShuffleNetV2:
    """ShuffleNetV2 with the widths of the paper; keyword arguments go to :class:`ShuffleNetV2`."""
    return _shufflenetv2(weights, progress, [4, 8, 4], [24, 116, 232, 464, 1024], **kwargs)


@classifier(ShuffleNet_V2_X1_5_Weights)
def shufflenet_v2_x1_5(
    *, weights: ShuffleNet_V2_X1_5_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ShuffleNetV2:
    """ShuffleNetV2 with 1.5 times the widths; keyword arguments go to :class:`ShuffleNetV2`."""
    return _shufflenetv2(weights, progress, [4, 8, 4], [24, 176, 352, 704, 1024], **kwargs)


@classifier(ShuffleNet_V2_X2_0_Weights)
def shufflenet_v2_x2_0(
    *, weights: ShuffleNet_V2_X2_0_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ShuffleNetV2:
    """ShuffleNetV2 with twice the widths; keyword arguments go to :class:`ShuffleNetV2`."""
    return _shufflenetv2(weights, progress, [4, 8, 4], [24, 244, 488, 976, 2048], **kwargs)
