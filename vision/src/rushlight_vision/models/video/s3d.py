"""S3D (Xie et al., Rethinking spatiotemporal feature learning: speed-accuracy trade-offs in video
classification, 2018)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import built, classifier
from rushlight_vision.ops.misc import Conv3dNormActivation

__all__ = ["S3D", "S3D_Weights", "s3d"]

Norm = Callable[..., nn.Module]

# Widths of the blocks: channels before, those of the first branch, of the second and third between
# and after, and of the last. None stands for the pooling between stages.
_BLOCKS = (
    (192, 64, 96, 128, 16, 32, 32),
    (256, 128, 128, 192, 32, 96, 64),
    None,
    (480, 192, 96, 208, 16, 48, 64),
    (512, 160, 112, 224, 24, 64, 64),
    (512, 128, 128, 256, 24, 64, 64),
    (512, 112, 144, 288, 32, 64, 64),
    (528, 256, 160, 320, 32, 128, 128),
    None,
    (832, 256, 160, 320, 32, 128, 128),
    (832, 384, 192, 384, 48, 128, 128),
)


class TemporalSeparableConv(nn.Sequential):
    """A convolution of frames and one along time, each with normalisation and activation."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        kernel_size: int,
        stride: int,
        padding: int,
        norm_layer: Norm,
    ) -> None:
        side, step, pad = kernel_size, stride, padding
        super().__init__(
            Conv3dNormActivation(
                in_planes, out_planes, (1, side, side), stride=(1, step, step),
                padding=(0, pad, pad), bias=False, norm_layer=norm_layer,
            ),
            Conv3dNormActivation(
                out_planes, out_planes, (side, 1, 1), stride=(step, 1, 1), padding=(pad, 0, 0),
                bias=False, norm_layer=norm_layer,
            ),
        )  # fmt: skip


class SepInceptionBlock3D(nn.Module):
    """Four branches side by side: none, two with separable convolutions, one with pooling.

    The arguments are widths: before the block, of the first branch, between and after of the second
    and third, and of the last.
    """

    def __init__(
        self,
        in_planes: int,
        b0_out: int,
        b1_mid: int,
        b1_out: int,
        b2_mid: int,
        b2_out: int,
        b3_out: int,
        norm_layer: Norm,
    ) -> None:
        super().__init__()
        narrow = partial(Conv3dNormActivation, kernel_size=1, stride=1, norm_layer=norm_layer)
        self.branch0 = narrow(in_planes, b0_out)
        self.branch1 = nn.Sequential(
            narrow(in_planes, b1_mid), TemporalSeparableConv(b1_mid, b1_out, 3, 1, 1, norm_layer)
        )
        self.branch2 = nn.Sequential(
            narrow(in_planes, b2_mid), TemporalSeparableConv(b2_mid, b2_out, 3, 1, 1, norm_layer)
        )
        self.branch3 = nn.Sequential(
            nn.MaxPool3d(kernel_size=(3, 3, 3), stride=1, padding=1), narrow(in_planes, b3_out)
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """What all branches give, along the channels."""
        branches = (self.branch0, self.branch1, self.branch2, self.branch3)
        return rl.cat([branch(x) for branch in branches], 1)


def _frames_pool() -> nn.MaxPool3d:
    return nn.MaxPool3d(kernel_size=(1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1))


class S3D(nn.Module):
    """Inception of videos with separable convolutions.

    Parameters
    ----------
    num_classes : int, default 400
    dropout : float, default 0.2
    norm_layer : callable or None
        Default: `nn.BatchNorm3d` with ``eps=0.001`` and ``momentum=0.001``.

    Input (N, 3, T, H, W), at least 14 frames of 224 pixels; output (N, `num_classes`).
    """

    def __init__(
        self, num_classes: int = 400, dropout: float = 0.2, norm_layer: Norm | None = None
    ) -> None:
        super().__init__()
        norm: Norm = partial(nn.BatchNorm3d, eps=0.001, momentum=0.001)
        norm = norm if norm_layer is None else norm_layer
        pools = iter(
            (
                nn.MaxPool3d(kernel_size=(3, 3, 3), stride=(2, 2, 2), padding=(1, 1, 1)),
                nn.MaxPool3d(kernel_size=(2, 2, 2), stride=(2, 2, 2)),
            )
        )
        self.features = nn.Sequential(
            TemporalSeparableConv(3, 64, 7, 2, 3, norm),
            _frames_pool(),
            Conv3dNormActivation(64, 64, kernel_size=1, stride=1, norm_layer=norm),
            TemporalSeparableConv(64, 192, 3, 1, 1, norm),
            _frames_pool(),
            *(
                next(pools) if each is None else SepInceptionBlock3D(*each, norm)
                for each in _BLOCKS
            ),
        )
        self.avgpool = nn.AvgPool3d(kernel_size=(2, 7, 7), stride=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Conv3d(1024, num_classes, kernel_size=1, stride=1, bias=True),
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes."""
        return self.classifier(self.avgpool(self.features(x))).mean(dim=(2, 3, 4))


class S3D_Weights(WeightsEnum):
    """Weights of :func:`s3d`."""

    KINETICS400_V1 = published("S3D_Weights.KINETICS400_V1")
    DEFAULT = KINETICS400_V1


@classifier(S3D_Weights, "KINETICS400_V1")
def s3d(*, weights: S3D_Weights | None = None, progress: bool = True, **kwargs: Any) -> S3D:
    """S3D; keyword arguments go to :class:`S3D`."""
    return built(S3D, weights, progress, **kwargs)
