"""Residual networks (He et al., Deep residual learning for image recognition, 2015), ResNeXt (Xie
et al., Aggregated residual transformations for deep neural networks, 2016) and wide ones (Zagoruyko
and Komodakis, Wide residual networks, 2016).

Names of parameters and their shapes are torchvision's, so that state dicts go both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._initialize import draw
from rushlight_vision.models._utils import _ovewrite_named_param, built, classifier

__all__ = [
    "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights",
    "ResNeXt50_32X4D_Weights",
    "ResNet",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "Wide_ResNet101_2_Weights",
    "Wide_ResNet50_2_Weights",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "resnext50_32x4d",
    "wide_resnet101_2",
    "wide_resnet50_2",
]

Norm = Callable[[int], nn.Module]


def conv3x3(
    in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1
) -> nn.Conv2d:
    """A 3x3 convolution without bias that keeps the size but for `stride`."""
    return nn.Conv2d(
        in_planes,
        out_planes,
        kernel_size=3,
        stride=stride,
        padding=dilation,
        groups=groups,
        bias=False,
        dilation=dilation,
    )


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """A 1x1 convolution without bias."""
    return nn.Conv2d(in_planes, out_planes, kernel_size=1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and the input added to their result."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError(
                f"BasicBlock: only groups=1 and base_width=64; got {groups} and {base_width}"
            )
        if dilation > 1:
            raise NotImplementedError(
                f"BasicBlock: dilation {dilation}; use Bottleneck, which has dilation"
            )
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The block's result."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """A 1x1, a 3x3 (with the stride) and a 1x1 convolution, and the input added to their result."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The block's result."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """A residual network of `block`s, `layers` of them in each of the four stages.

    Input (N, 3, H, W), output (N, `num_classes`). `zero_init_residual` starts every block as the
    identity; `replace_stride_with_dilation` says for each of the last three stages whether it keeps
    the size and dilates its convolutions.
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        if len(layers) != 4:
            raise ValueError(f"ResNet: layers {layers!r}; expected four numbers")
        dilate = replace_stride_with_dilation
        dilate = [False, False, False] if dilate is None else list(dilate)
        if len(dilate) != 3:
            raise ValueError(
                f"ResNet: replace_stride_with_dilation {dilate!r}; expected None or three bools"
            )
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes = 64
        self.dilation = 1
        self.groups = groups
        self.base_width = width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize(zero_init_residual)

    def _initialize(self, zero_init_residual: bool) -> None:
        draw(self, linear=None)
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, Bottleneck) and module.bn3.weight is not None:
                    nn.init.constant_(module.bn3.weight, 0)
                elif isinstance(module, BasicBlock) and module.bn2.weight is not None:
                    nn.init.constant_(module.bn2.weight, 0)

    def _make_layer(
        self,
        block: type[BasicBlock | Bottleneck],
        planes: int,
        blocks: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        """One stage; its first block changes the number of channels and the size."""
        norm_layer = self._norm_layer
        first_dilation = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, planes * block.expansion, stride),
                norm_layer(planes * block.expansion),
            )
        shared = (self.groups, self.base_width)
        layers = [
            block(self.inplanes, planes, stride, downsample, *shared, first_dilation, norm_layer)
        ]
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes, 1, None, *shared, self.dilation, norm_layer))
        return nn.Sequential(*layers)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(rl.flatten(self.avgpool(x), 1))


def _resnet(
    block: type[BasicBlock | Bottleneck],
    layers: list[int],
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> ResNet:
    return built(ResNet, weights, progress, block, layers, **kwargs)


class ResNet18_Weights(WeightsEnum):
    """Weights of :func:`resnet18`."""

    IMAGENET1K_V1 = published("ResNet18_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class ResNet34_Weights(WeightsEnum):
    """Weights of :func:`resnet34`."""

    IMAGENET1K_V1 = published("ResNet34_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class ResNet50_Weights(WeightsEnum):
    """Weights of :func:`resnet50`."""

    IMAGENET1K_V1 = published("ResNet50_Weights.IMAGENET1K_V1")
    IMAGENET1K_V2 = published("ResNet50_Weights.IMAGENET1K_V2")
    DEFAULT = IMAGENET1K_V2


class ResNet101_Weights(WeightsEnum):
    """Weights of :func:`resnet101`."""

    IMAGENET1K_V1 = published("ResNet101_Weights.IMAGENET1K_V1")
    IMAGENET1K_V2 = published("ResNet101_Weights.IMAGENET1K_V2")
    DEFAULT = IMAGENET1K_V2


class ResNet152_Weights(WeightsEnum):
    """Weights of :func:`resnet152`."""

    IMAGENET1K_V1 = published("ResNet152_Weights.IMAGENET1K_V1")
    IMAGENET1K_V2 = published("ResNet152_Weights.IMAGENET1K_V2")
    DEFAULT = IMAGENET1K_V2


class ResNeXt50_32X4D_Weights(WeightsEnum):
    """Weights of :func:`resnext50_32x4d`."""

    IMAGENET1K_V1 = published("ResNeXt50_32X4D_Weights.IMAGENET1K_V1")
    IMAGENET1K_V2 = published("ResNeXt50_32X4D_Weights.IMAGENET1K_V2")
    DEFAULT = IMAGENET1K_V2


class ResNeXt101_32X8D_Weights(WeightsEnum):
    """Weights of :func:`resnext101_32x8d`."""

    IMAGENET1K_V1 = published("ResNeXt101_32X8D_Weights.IMAGENET1K_V1")
    IMAGENET1K_V2 = published("ResNeXt101_32X8D_Weights.IMAGENET1K_V2")
    DEFAULT = IMAGENET1K_V2


class ResNeXt101_64X4D_Weights(WeightsEnum):
    """Weights of :func:`resnext101_64x4d`."""

    IMAGENET1K_V1 = published("ResNeXt101_64X4D_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class Wide_ResNet50_2_Weights(WeightsEnum):
    """Weights of :func:`wide_resnet50_2`."""

    IMAGENET1K_V1 = published("Wide_ResNet50_2_Weights.IMAGENET1K_V1")
    IMAGENET1K_V2 = published("Wide_ResNet50_2_Weights.IMAGENET1K_V2")
    DEFAULT = IMAGENET1K_V2


class Wide_ResNet101_2_Weights(WeightsEnum):
    """Weights of :func:`wide_resnet101_2`."""

    IMAGENET1K_V1 = published("Wide_ResNet101_2_Weights.IMAGENET1K_V1")
    IMAGENET1K_V2 = published("Wide_ResNet101_2_Weights.IMAGENET1K_V2")
    DEFAULT = IMAGENET1K_V2


@classifier(ResNet18_Weights)
def resnet18(
    *, weights: ResNet18_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNet-18; keyword arguments go to :class:`ResNet`.

    >>> resnet18(num_classes=10)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 10])
    """
    return _resnet(BasicBlock, [2, 2, 2, 2], weights, progress, **kwargs)


@classifier(ResNet34_Weights)
def resnet34(
    *, weights: ResNet34_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNet-34; keyword arguments go to :class:`ResNet`."""
    return _resnet(BasicBlock, [3, 4, 6, 3], weights, progress, **kwargs)


@classifier(ResNet50_Weights)
def resnet50(
    *, weights: ResNet50_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNet-50; keyword arguments go to :class:`ResNet`."""
    return _resnet(Bottleneck, [3, 4, 6, 3], weights, progress, **kwargs)


@classifier(ResNet101_Weights)
def resnet101(
    *, weights: ResNet101_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNet-101; keyword arguments go to :class:`ResNet`."""
    return _resnet(Bottleneck, [3, 4, 23, 3], weights, progress, **kwargs)


@classifier(ResNet152_Weights)
def resnet152(
    *, weights: ResNet152_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNet-152; keyword arguments go to :class:`ResNet`."""
    return _resnet(Bottleneck, [3, 8, 36, 3], weights, progress, **kwargs)


@classifier(ResNeXt50_32X4D_Weights)
def resnext50_32x4d(
    *, weights: ResNeXt50_32X4D_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNeXt-50 with 32 groups of 4 channels; keyword arguments go to :class:`ResNet`."""
    _ovewrite_named_param(kwargs, "groups", 32)
    _ovewrite_named_param(kwargs, "width_per_group", 4)
    return _resnet(Bottleneck, [3, 4, 6, 3], weights, progress, **kwargs)


@classifier(ResNeXt101_32X8D_Weights)
def resnext101_32x8d(
    *, weights: ResNeXt101_32X8D_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNeXt-101 with 32 groups of 8 channels; keyword arguments go to :class:`ResNet`."""
    _ovewrite_named_param(kwargs, "groups", 32)
    _ovewrite_named_param(kwargs, "width_per_group", 8)
    return _resnet(Bottleneck, [3, 4, 23, 3], weights, progress, **kwargs)


@classifier(ResNeXt101_64X4D_Weights)
def resnext101_64x4d(
    *, weights: ResNeXt101_64X4D_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNeXt-101 with 64 groups of 4 channels; keyword arguments go to :class:`ResNet`."""
    _ovewrite_named_param(kwargs, "groups", 64)
    _ovewrite_named_param(kwargs, "width_per_group", 4)
    return _resnet(Bottleneck, [3, 4, 23, 3], weights, progress, **kwargs)


@classifier(Wide_ResNet50_2_Weights)
def wide_resnet50_2(
    *, weights: Wide_ResNet50_2_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNet-50 whose bottlenecks are twice as wide; keyword arguments go to :class:`ResNet`."""
    _ovewrite_named_param(kwargs, "width_per_group", 128)
    return _resnet(Bottleneck, [3, 4, 6, 3], weights, progress, **kwargs)


@classifier(Wide_ResNet101_2_Weights)
def wide_resnet101_2(
    *, weights: Wide_ResNet101_2_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ResNet:
    """ResNet-101 whose bottlenecks are twice as wide; keyword arguments go to :class:`ResNet`."""
    _ovewrite_named_param(kwargs, "width_per_group", 128)
    return _resnet(Bottleneck, [3, 4, 23, 3], weights, progress, **kwargs)
