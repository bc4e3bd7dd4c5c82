"""LeNet-5, the convolutional network for handwritten digits."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn

SIDE = 28


class LeNet5(nn.Module):
    """LeNet-5 (LeCun et al., 1998) as it is used today: ReLU and maximum pooling.

    Two convolutions of 5x5 (6 and 16 channels), each followed by ReLU and 2x2 pooling, then linear
    layers of 120, 84 and `num_classes`. Input (N, `in_channels`, 28, 28), output (N,
    `num_classes`).
    """

    def __init__(self, num_classes: int = 10, in_channels: int = 1) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(in_channels, 6, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, kernel_size=5),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Linear(16 * 5 * 5, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, num_classes),
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes."""
        if x.ndim != 4 or x.shape[-2:] != (SIDE, SIDE):
            raise ValueError(
                f"LeNet5: expected images of shape (N, C, {SIDE}, {SIDE}); got {tuple(x.shape)}"
            )
        return self.classifier(rl.flatten(self.features(x), 1))


def lenet(**kwargs: Any) -> LeNet5:
    """LeNet-5 with new weights; see `LeNet5`."""
    return LeNet5(**kwargs)
