"""Residual networks of videos (Tran et al., A closer look at spatiotemporal convolutions for action
recognition, 2018)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import built, classifier

__all__ = [
    "MC3_18_Weights",
    "R2Plus1D_18_Weights",
    "R3D_18_Weights",
    "VideoResNet",
    "mc3_18",
    "r2plus1d_18",
    "r3d_18",
]

KINETICS = "KINETICS400_V1"


class Conv3DSimple(nn.Conv3d):
    """A 3x3x3 convolution without bias; `midplanes` is not looked at."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        midplanes: int | None = None,
        stride: int = 1,
        padding: int = 1,
    ) -> None:
        super().__init__(in_planes, out_planes, 3, stride=stride, padding=padding, bias=False)

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """The steps of a 1x1x1 convolution beside this one."""
        return stride, stride, stride


class Conv2Plus1D(nn.Sequential):
    """A convolution of frames, then one along time, with `midplanes` channels between."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        midplanes: int,
        stride: int = 1,
        padding: int = 1,
    ) -> None:
        super().__init__(
            nn.Conv3d(
                in_planes, midplanes, (1, 3, 3), stride=(1, stride, stride),
                padding=(0, padding, padding), bias=False,
            ),
            nn.BatchNorm3d(midplanes),
            nn.ReLU(inplace=True),
            nn.Conv3d(
                midplanes, out_planes, (3, 1, 1), stride=(stride, 1, 1), padding=(padding, 0, 0),
                bias=False,
            ),
        )  # fmt: skip

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """The steps of a 1x1x1 convolution beside this one."""
        return stride, stride, stride


class Conv3DNoTemporal(nn.Conv3d):
    """A 3x3 convolution of frames without bias; `midplanes` is not looked at."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        midplanes: int | None = None,
        stride: int = 1,
        padding: int = 1,
    ) -> None:
        super().__init__(
            in_planes, out_planes, (1, 3, 3), stride=(1, stride, stride),
            padding=(0, padding, padding), bias=False,
        )  # fmt: skip

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """The steps of a 1x1x1 convolution beside this one."""
        return 1, stride, stride


class BasicBlock(nn.Module):
    """Two convolutions and the input added to their result."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Callable[..., nn.Module],
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        super().__init__()
        between = _between(inplanes, planes)
        self.conv1 = nn.Sequential(
            conv_builder(inplanes, planes, between, stride),
            nn.BatchNorm3d(planes),
            nn.ReLU(inplace=True),
        )
        self.conv2 = nn.Sequential(conv_builder(planes, planes, between), nn.BatchNorm3d(planes))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The block's result."""
        out = self.conv2(self.conv1(x))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


def _between(inplanes: int, planes: int) -> int:
    """The width between two factors that gives as many weights as a 3x3x3 convolution."""
    return (inplanes * planes * 27) // (inplanes * 9 + 3 * planes)


class Bottleneck(nn.Module):
    """A 1x1x1, a wide and a 1x1x1 convolution, and the input added to their result."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Callable[..., nn.Module],
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        super().__init__()
        between, wide = _between(inplanes, planes), planes * self.expansion
        self.conv1 = nn.Sequential(
            nn.Conv3d(inplanes, planes, kernel_size=1, bias=False),
            nn.BatchNorm3d(planes),
            nn.ReLU(inplace=True),
        )
        self.conv2 = nn.Sequential(
            conv_builder(planes, planes, between, stride),
            nn.BatchNorm3d(planes),
            nn.ReLU(inplace=True),
        )
        self.conv3 = nn.Sequential(
            nn.Conv3d(planes, wide, kernel_size=1, bias=False), nn.BatchNorm3d(wide)
        )
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The block's result."""
        out = self.conv3(self.conv2(self.conv1(x)))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class BasicStem(nn.Sequential):
    """A 3x7x7 convolution, normalisation and activation."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv3d(3, 64, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3), bias=False),
            nn.BatchNorm3d(64),
            nn.ReLU(inplace=True),
        )


class R2Plus1dStem(nn.Sequential):
    """A 7x7 convolution of frames and one along time, each with normalisation and activation."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv3d(3, 45, (1, 7, 7), stride=(1, 2, 2), padding=(0, 3, 3), bias=False),
            nn.BatchNorm3d(45),
            nn.ReLU(inplace=True),
            nn.Conv3d(45, 64, (3, 1, 1), stride=(1, 1, 1), padding=(1, 0, 0), bias=False),
            nn.BatchNorm3d(64),
            nn.ReLU(inplace=True),
        )


class VideoResNet(nn.Module):
    """A residual network of videos.

    Parameters
    ----------
    block : class
        `BasicBlock` or `Bottleneck`.
    conv_makers : sequence of class
        The convolutions of each of the four stages.
    layers : list of int
        Blocks of each stage.
    stem : callable
        Makes the first layers.
    num_classes : int, default 400
    zero_init_residual : bool, default False
        Start every bottleneck as the identity.

    Input (N, 3, T, H, W), output (N, `num_classes`).
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        conv_makers: Sequence[Any],
        layers: list[int],
        stem: Callable[..., nn.Module],
        num_classes: int = 400,
        zero_init_residual: bool = False,
    ) -> None:
        super().__init__()
        self.inplanes = 64
        self.stem = stem()
        self.layer1 = self._make_layer(block, conv_makers[0], 64, layers[0], stride=1)
        self.layer2 = self._make_layer(block, conv_makers[1], 128, layers[1], stride=2)
        self.layer3 = self._make_layer(block, conv_makers[2], 256, layers[2], stride=2)
        self.layer4 = self._make_layer(block, conv_makers[3], 512, layers[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        _draw(self)
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, Bottleneck):
                    nn.init.zeros_(module.conv3[1].weight)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes."""
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        return self.fc(self.avgpool(x).flatten(1))

    def _make_layer(
        self,
        block: type[BasicBlock | Bottleneck],
        conv_builder: Any,
        planes: int,
        blocks: int,
        stride: int = 1,
    ) -> nn.Sequential:
        """One stage; its first block changes the number of channels and the size."""
        downsample, wide = None, planes * block.expansion
        if stride != 1 or self.inplanes != wide:
            steps = conv_builder.get_downsample_stride(stride)
            downsample = nn.Sequential(
                nn.Conv3d(self.inplanes, wide, kernel_size=1, stride=steps, bias=False),
                nn.BatchNorm3d(wide),
            )
        layers = [block(self.inplanes, planes, conv_builder, stride, downsample)]
        self.inplanes = wide
        layers += [block(wide, planes, conv_builder) for _ in range(1, blocks)]
        return nn.Sequential(*layers)


def _draw(model: nn.Module) -> None:
    """First weights: convolutions after He et al., 2015; small linear ones."""
    for module in model.modules():
        if isinstance(module, nn.Conv3d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.BatchNorm3d):
            nn.init.ones_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 0.01)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def _video_resnet(
    block: type[BasicBlock | Bottleneck],
    conv_makers: Sequence[Any],
    layers: list[int],
    stem: Callable[..., nn.Module],
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> VideoResNet:
    return built(VideoResNet, weights, progress, block, conv_makers, layers, stem, **kwargs)


class R3D_18_Weights(WeightsEnum):
    """Weights of :func:`r3d_18`."""

    KINETICS400_V1 = published("R3D_18_Weights.KINETICS400_V1")
    DEFAULT = KINETICS400_V1


class MC3_18_Weights(WeightsEnum):
    """Weights of :func:`mc3_18`."""

    KINETICS400_V1 = published("MC3_18_Weights.KINETICS400_V1")
    DEFAULT = KINETICS400_V1


class R2Plus1D_18_Weights(WeightsEnum):
    """Weights of :func:`r2plus1d_18`."""

    KINETICS400_V1 = published("R2Plus1D_18_Weights.KINETICS400_V1")
    DEFAULT = KINETICS400_V1


@classifier(R3D_18_Weights, KINETICS)
def r3d_18(
    *, weights: R3D_18_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VideoResNet:
    """A network of 18 layers with 3x3x3 convolutions; keyword arguments go to
    :class:`VideoResNet`.

    >>> r3d_18(num_classes=5)(rl.zeros(1, 3, 4, 32, 32)).shape
    rushlight.Size([1, 5])
    """
    makers = [Conv3DSimple] * 4
    return _video_resnet(BasicBlock, makers, [2, 2, 2, 2], BasicStem, weights, progress, **kwargs)


@classifier(MC3_18_Weights, KINETICS)
def mc3_18(
    *, weights: MC3_18_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VideoResNet:
    """A network of 18 layers that looks along time at its beginning alone; keyword arguments go to
    :class:`VideoResNet`."""
    makers = [Conv3DSimple, *[Conv3DNoTemporal] * 3]
    return _video_resnet(BasicBlock, makers, [2, 2, 2, 2], BasicStem, weights, progress, **kwargs)


@classifier(R2Plus1D_18_Weights, KINETICS)
def r2plus1d_18(
    *, weights: R2Plus1D_18_Weights | None = None, progress: bool = True, **kwargs: Any
) -> VideoResNet:
    """A network of 18 layers that looks at frames and along time by turns; keyword arguments go to
    :class:`VideoResNet`."""
    makers = [Conv2Plus1D] * 4
    return _video_resnet(
        BasicBlock, makers, [2, 2, 2, 2], R2Plus1dStem, weights, progress, **kwargs
    )
