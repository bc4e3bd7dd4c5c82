"""MNASNet (Tan et al., MnasNet: platform-aware neural architecture search for mobile, 2018)."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._initialize import draw
from rushlight_vision.models._utils import built, classifier

__all__ = [
    "MNASNet",
    "MNASNet0_5_Weights",
    "MNASNet0_75_Weights",
    "MNASNet1_0_Weights",
    "MNASNet1_3_Weights",
    "mnasnet0_5",
    "mnasnet0_75",
    "mnasnet1_0",
    "mnasnet1_3",
]

_BN_MOMENTUM = 1 - 0.9997  # of the paper, whose momentum is that of what is kept
_WIDTHS = (32, 16, 24, 40, 80, 96, 192, 320)
# Kernel size, stride, expansion and blocks of the stacks.
_STACKS = ((3, 2, 3, 3), (5, 2, 3, 3), (5, 2, 6, 3), (3, 1, 6, 2), (5, 2, 6, 4), (3, 1, 6, 1))


def _convolved(
    before: int, after: int, kernel_size: int, momentum: float, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    """A convolution, normalisation and ReLU."""
    conv = nn.Conv2d(
        before, after, kernel_size, stride, kernel_size // 2, groups=groups, bias=False
    )
    return [conv, nn.BatchNorm2d(after, momentum=momentum), nn.ReLU(inplace=True)]


class _InvertedResidual(nn.Module):
    """Wider by 1x1, filtered channel by channel, narrow again by 1x1 without activation."""

    def __init__(
        self,
        in_ch: int,
        out_ch: int,
        kernel_size: int,
        stride: int,
        expansion_factor: int,
        bn_momentum: float = 0.1,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        if kernel_size not in (3, 5):
            raise ValueError(f"kernel_size should be 3 or 5 instead of {kernel_size}")
        between = in_ch * expansion_factor
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            *_convolved(in_ch, between, 1, bn_momentum),
            *_convolved(between, between, kernel_size, bn_momentum, stride, groups=between),
            *_convolved(between, out_ch, 1, bn_momentum)[:2],
        )

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """The block's result, with the input added where it has the same shape."""
        return self.layers(input) + input if self.apply_residual else self.layers(input)


def _stack(
    in_ch: int,
    out_ch: int,
    kernel_size: int,
    stride: int,
    exp_factor: int,
    repeats: int,
    bn_momentum: float,
) -> nn.Sequential:
    """Blocks of which the first changes width and size."""
    if repeats < 1:
        raise ValueError(f"repeats should be >= 1, instead got {repeats}")
    block = partial(_InvertedResidual, expansion_factor=exp_factor, bn_momentum=bn_momentum)
    first = block(in_ch, out_ch, kernel_size, stride)
    rest = [block(out_ch, out_ch, kernel_size, 1) for _ in range(1, repeats)]
    return nn.Sequential(first, *rest)


def _round_to_multiple_of(val: float, divisor: int, round_up_bias: float = 0.9) -> int:
    """The multiple of `divisor` next to `val`, at least `round_up_bias` of it."""
    if not 0.0 < round_up_bias < 1.0:
        raise ValueError(
            f"round_up_bias should be greater than 0.0 and smaller than 1.0, got {round_up_bias}"
        )
    rounded = max(divisor, int(val + divisor / 2) // divisor * divisor)
    return rounded if rounded >= round_up_bias * val else rounded + divisor


def _get_depths(alpha: float) -> list[int]:
    """The widths of the stages, times `alpha`."""
    return [_round_to_multiple_of(width * alpha, 8) for width in _WIDTHS]


def _stem(widths: list[int]) -> list[nn.Module]:
    """What comes before the stacks, from images to the second of `widths`."""
    first, second = widths[:2]
    return [
        *_convolved(3, first, 3, _BN_MOMENTUM, stride=2),
        *_convolved(first, first, 3, _BN_MOMENTUM, groups=first),
        *_convolved(first, second, 1, _BN_MOMENTUM)[:2],
    ]


class MNASNet(nn.Module):
    """Stacks of inverted residuals and a linear layer; all widths times `alpha`.

    Input (N, 3, H, W), output (N, `num_classes`).
    """

    # Version 1 did not scale the widths before the stacks.
    _version = 2

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha = alpha
        self.num_classes = num_classes
        widths = _get_depths(alpha)
        layers = _stem(widths)
        for before, after, shape in zip(widths[1:], widths[2:], _STACKS, strict=False):
            layers.append(_stack(before, after, *shape, _BN_MOMENTUM))
        layers += _convolved(widths[-1], 1280, 1, _BN_MOMENTUM)
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes)
        )
        draw(self, _draw_linear)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes: of the mean over the maps."""
        return self.classifier(self.layers(x).mean([2, 3]))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Take a state of version 1, too: become a network of that version."""
        version = local_metadata.get("version")
        if version not in (1, 2):
            raise ValueError(f"version should be set to 1 or 2 instead of {version}")
        if version == 1 and self.alpha != 1.0:
            widths = _get_depths(self.alpha)
            stem = [*_stem([32, 16]), _stack(16, widths[2], *_STACKS[0], _BN_MOMENTUM)]
            for number, layer in enumerate(stem):
                self.layers[number] = layer
            self._version = 1
            warnings.warn(
                "MNASNet: the state is of version 1, which is narrower at its beginning or wider; "
                "the network was changed to that version and saves as such",
                stacklevel=2,
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def _draw_linear(layer: nn.Linear) -> None:
    nn.init.kaiming_uniform_(layer.weight, mode="fan_out", nonlinearity="sigmoid")


def _mnasnet(alpha: float, weights: WeightsEnum | None, progress: bool, **kwargs: Any) -> MNASNet:
    return built(MNASNet, weights, progress, alpha, **kwargs)


class MNASNet0_5_Weights(WeightsEnum):
    """Weights of :func:`mnasnet0_5`."""

    IMAGENET1K_V1 = published("MNASNet0_5_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class MNASNet0_75_Weights(WeightsEnum):
    """Weights of :func:`mnasnet0_75`."""

    IMAGENET1K_V1 = published("MNASNet0_75_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class MNASNet1_0_Weights(WeightsEnum):
    """Weights of :func:`mnasnet1_0`."""

    IMAGENET1K_V1 = published("MNASNet1_0_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class MNASNet1_3_Weights(WeightsEnum):
    """Weights of :func:`mnasnet1_3`."""

    IMAGENET1K_V1 = published("MNASNet1_3_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(MNASNet0_5_Weights)
def mnasnet0_5(
    *, weights: MNASNet0_5_Weights | None = None, progress: bool = True, **kwargs: Any
) -> MNASNet:
    """MNASNet with half the widths; keyword arguments go to :class:`MNASNet`.

    >>> mnasnet0_5(num_classes=10)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 10])
    """
    return _mnasnet(0.5, weights, progress, **kwargs)


@classifier(MNASNet0_75_Weights)
def mnasnet0_75(
    *, weights: MNASNet0_75_Weights | None = None, progress: bool = True, **kwargs: Any
) -> MNASNet:
    """MNASNet with 0.75 times the widths; keyword arguments go to :class:`MNASNet`."""
    return _mnasnet(0.75, weights, progress, **kwargs)


@classifier(MNASNet1_0_Weights)
def mnasnet1_0(
    *, weights: MNASNet1_0_Weights | None = None, progress: bool = True, **kwargs: Any
) -> MNASNet:
    """MNASNet of the paper; keyword arguments go to :class:`MNASNet`."""
    return _mnasnet(1.0, weights, progress, **kwargs)


@classifier(MNASNet1_3_Weights)
def mnasnet1_3(
    *, weights: MNASNet1_3_Weights | None = None, progress: bool = True, **kwargs: Any
) -> MNASNet:
    """MNASNet with 1.3 times the widths; keyword arguments go to :class:`MNASNet`."""
    return _mnasnet(1.3, weights, progress, **kwargs)
