"""What GoogLeNet and Inception v3 share."""

from __future__ import annotations

import warnings
from typing import Any

import rushlight as rl
from rushlight import nn

# Mean and deviation of ImageNet's channels, by which images of most models are normalised; the
# weights of these two networks come from one whose images went from -1 to 1.
_MEAN = (0.485, 0.456, 0.406)
_STD = (0.229, 0.224, 0.225)


class BasicConv2d(nn.Module):
    """A convolution without bias, batch normalisation and ReLU."""

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The maps (N, `out_channels`, H, W)."""
        return nn.functional.relu(self.bn(self.conv(x)), inplace=True)


class Branches(nn.Module):
    """Several ways through a block, whose maps stand one after the other in the result."""

    def _forward(self, x: rl.Tensor) -> list[rl.Tensor]:
        raise NotImplementedError(f"{type(self).__name__}: _forward gives the maps of the branches")

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The maps of all branches."""
        return rl.cat(self._forward(x), 1)


def from_minus_one(x: rl.Tensor) -> rl.Tensor:
    """Images (N, 3, H, W) normalised as of ImageNet, scaled to -1 ... 1 instead."""
    scaled = [x[:, i : i + 1] * (_STD[i] / 0.5) + (_MEAN[i] - 0.5) / 0.5 for i in range(len(_MEAN))]
    return rl.cat(scaled, 1)


def decided(init_weights: bool | None, name: str) -> bool:
    """Whether to draw weights of the family's own: yes, with a warning, if it was not said."""
    if init_weights is None:
        warnings.warn(
            f"The default weight initialization of {name} will be changed in future releases of "
            "torchvision. If you wish to keep the old behavior (which leads to long initialization "
            "times due to scipy/scipy#11299), please set init_weights=True.",
            FutureWarning,
            stacklevel=4,
        )
        return True
    return init_weights
