"""First weights that several families draw in the same way."""

from __future__ import annotations

from collections.abc import Callable

from rushlight import nn

_NORMS = (nn.BatchNorm2d, nn.GroupNorm)


def _normal(layer: nn.Linear) -> None:
    nn.init.normal_(layer.weight, 0, 0.01)


def draw(
    model: nn.Module,
    linear: Callable[[nn.Linear], object] | None = _normal,
    conv_bias: bool = True,
) -> None:
    """Convolutions after He et al., 2015, by what goes out of them; normalisation as the identity;
    `linear` draws the weights of linear layers, which stay as they are without. Biases are zero,
    those of convolutions unless ``conv_bias=False``."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
            if not conv_bias:
                continue
        elif isinstance(module, _NORMS):
            nn.init.ones_(module.weight)
        elif linear is not None and isinstance(module, nn.Linear):
            linear(module)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def draw_truncated(model: nn.Module, std: float) -> None:
    """Convolutions and linear layers from a normal distribution cut at -2 and 2, whose deviation is
    `std` or the layer's own ``stddev``; normalisation as the identity."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            deviation = float(getattr(module, "stddev", std))
            nn.init.trunc_normal_(module.weight, mean=0.0, std=deviation, a=-2, b=2)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)


def draw_perceptron(layers: nn.Module) -> None:
    """Linear layers of a transformer's block: weights after Glorot and Bengio, 2010, biases next to
    zero."""
    for module in layers.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=1e-6)
