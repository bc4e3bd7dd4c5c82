"""Heads of Faster R-CNN: what looks at regions, and what says which class and which box."""

from __future__ import annotations

from collections.abc import Callable

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.ops.misc import Conv2dNormActivation


class TwoMLPHead(nn.Module):
    """Two linear layers of `representation_size` on flattened regions of `in_channels` numbers."""

    def __init__(self, in_channels: int, representation_size: int) -> None:
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """(N, `representation_size`) of regions (N, C, H, W)."""
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(start_dim=1)))))


class FastRCNNConvFCHead(nn.Sequential):
    """Convolutions and linear layers on regions of `input_size` (C, H, W)."""

    def __init__(
        self,
        input_size: tuple[int, int, int],
        conv_layers: list[int],
        fc_layers: list[int],
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        channels, height, width = input_size
        layers: list[nn.Module] = []
        for wide in conv_layers:
            layers.append(Conv2dNormActivation(channels, wide, norm_layer=norm_layer))
            channels = wide
        layers.append(nn.Flatten())
        channels *= height * width
        for wide in fc_layers:
            layers += [nn.Linear(channels, wide), nn.ReLU(inplace=True)]
            channels = wide
        super().__init__(*layers)
        draw_convolutions(self)


def draw_convolutions(head: nn.Module) -> None:
    """First weights of convolutions after He et al., 2015, by what goes out of them."""
    for layer in head.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class FastRCNNPredictor(nn.Module):
    """Logits of `num_classes`, background first, and offsets of a box for each.

    >>> logits, offsets = FastRCNNPredictor(8, 3)(rl.zeros(5, 8))
    >>> logits.shape, offsets.shape
    (rushlight.Size([5, 3]), rushlight.Size([5, 12]))
    """

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """Logits (N, C) and offsets (N, C * 4) of regions (N, `in_channels`)."""
        if x.ndim == 4 and tuple(x.shape[2:]) != (1, 1):
            raise AssertionError(
                f"x has the wrong shape, expecting the last two dimensions to be [1,1] instead of "
                f"{list(x.shape[2:])}"
            )
        x = x.flatten(start_dim=1)
        return self.cls_score(x), self.bbox_pred(x)
