"""The blocks of Inception v3, by the letters of its published names."""

from __future__ import annotations

from collections.abc import Callable

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._inception_parts import BasicConv2d, Branches

Conv = Callable[..., nn.Module] | None


def _mean(x: rl.Tensor) -> rl.Tensor:
    """Every pixel's mean with its neighbours."""
    return nn.functional.avg_pool2d(x, kernel_size=3, stride=1, padding=1)


class InceptionA(Branches):
    """Convolutions of 1x1, of 5x5, twice of 3x3, and mean pooling."""

    def __init__(self, in_channels: int, pool_features: int, conv_block: Conv = None) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        self.branch1x1 = conv(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = conv(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = conv(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, padding=1)
        self.branch_pool = conv(in_channels, pool_features, kernel_size=1)

    def _forward(self, x: rl.Tensor) -> list[rl.Tensor]:
        return [
            self.branch1x1(x),
            self.branch5x5_2(self.branch5x5_1(x)),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool(_mean(x)),
        ]


class InceptionB(Branches):
    """Half the size: a convolution of 3x3, two of them, and pooling."""

    def __init__(self, in_channels: int, conv_block: Conv = None) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        self.branch3x3 = conv(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, stride=2)

    def _forward(self, x: rl.Tensor) -> list[rl.Tensor]:
        return [
            self.branch3x3(x),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            nn.functional.max_pool2d(x, kernel_size=3, stride=2),
        ]


class InceptionC(Branches):
    """Convolutions of 7x7 as pairs of 1x7 and 7x1, one pair and two, 1x1, and mean pooling."""

    def __init__(self, in_channels: int, channels_7x7: int, conv_block: Conv = None) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        c7 = channels_7x7
        row = {"kernel_size": (1, 7), "padding": (0, 3)}
        column = {name: value[::-1] for name, value in row.items()}
        self.branch1x1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = conv(in_channels, c7, kernel_size=1)
        self.branch7x7_2 = conv(c7, c7, **row)
        self.branch7x7_3 = conv(c7, 192, **column)
        self.branch7x7dbl_1 = conv(in_channels, c7, kernel_size=1)
        self.branch7x7dbl_2 = conv(c7, c7, **column)
        self.branch7x7dbl_3 = conv(c7, c7, **row)
        self.branch7x7dbl_4 = conv(c7, c7, **column)
        self.branch7x7dbl_5 = conv(c7, 192, **row)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def _forward(self, x: rl.Tensor) -> list[rl.Tensor]:
        narrow = self.branch1x1(x)
        single = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        return [narrow, single, double, self.branch_pool(_mean(x))]


class InceptionD(Branches):
    """Half the size: a convolution of 3x3, one after a pair of 1x7 and 7x1, and pooling."""

    def __init__(self, in_channels: int, conv_block: Conv = None) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        self.branch3x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = conv(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = conv(192, 192, kernel_size=(1, 7), padding=(0, 3))
        self.branch7x7x3_3 = conv(192, 192, kernel_size=(7, 1), padding=(3, 0))
        self.branch7x7x3_4 = conv(192, 192, kernel_size=3, stride=2)

    def _forward(self, x: rl.Tensor) -> list[rl.Tensor]:
        narrow = self.branch3x3_2(self.branch3x3_1(x))
        wide = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        wide = self.branch7x7x3_4(wide)
        return [narrow, wide, nn.functional.max_pool2d(x, kernel_size=3, stride=2)]


class InceptionE(Branches):
    """Convolutions of 1x3 and 3x1 side by side, after 1x1 and after 3x3, 1x1, and mean pooling."""

    def __init__(self, in_channels: int, conv_block: Conv = None) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        self.branch1x1 = conv(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = conv(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = conv(384, 384, kernel_size=(1, 3), padding=(0, 1))
        self.branch3x3_2b = conv(384, 384, kernel_size=(3, 1), padding=(1, 0))
        self.branch3x3dbl_1 = conv(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = conv(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = conv(384, 384, kernel_size=(1, 3), padding=(0, 1))
        self.branch3x3dbl_3b = conv(384, 384, kernel_size=(3, 1), padding=(1, 0))
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def _forward(self, x: rl.Tensor) -> list[rl.Tensor]:
        narrow = self.branch1x1(x)
        single = self.branch3x3_1(x)
        single = rl.cat([self.branch3x3_2a(single), self.branch3x3_2b(single)], 1)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        double = rl.cat([self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double)], 1)
        return [narrow, single, double, self.branch_pool(_mean(x))]


class InceptionAux(nn.Module):
    """Scores of the classes from maps in the middle of the network, for training."""

    def __init__(self, in_channels: int, num_classes: int, conv_block: Conv = None) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        self.conv0 = conv(in_channels, 128, kernel_size=1)
        self.conv1 = conv(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`) of maps of at least 17 x 17."""
        x = self.conv1(self.conv0(nn.functional.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(rl.flatten(nn.functional.adaptive_avg_pool2d(x, (1, 1)), 1))
