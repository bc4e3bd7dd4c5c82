"""Grad-CAM: where a network looks."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn


def grad_cam(
    model: nn.Module,
    layer: nn.Module,
    images: rl.Tensor,
    target: rl.Tensor | int | None = None,
) -> rl.Tensor:
    """How much each place of images speaks for a class (Selvaraju et al., "Grad-CAM", 2017).

    `layer` is a module of `model` that gives maps (N, C, h, w), usually the last one of
    convolutions; `target` is a class, one for each image, or None for the one the model says. Gives
    (N, H, W), 0 to 1, in the size of `images` (N, C, H, W). The model's mode, gradients and
    parameters stay as they are.

    >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    >>> grad_cam(model, model[0], rl.rand(4, 1, 8, 8)).shape
    rushlight.Size([4, 8, 8])

    """
    maps: list[Any] = []
    handle = layer.register_forward_hook(lambda module, given, result: maps.append(result))
    try:
        with rl.enable_grad():
            scores = model(images.detach().requires_grad_())
    finally:
        handle.remove()
    if len(maps) != 1 or maps[0].ndim != 4:
        shapes = [tuple(one.shape) for one in maps]
        raise ValueError(f"layer must give maps (N, C, h, w) once in a pass, got {shapes}")
    chosen = scores.argmax(1) if target is None else rl.as_tensor(target).expand(len(images))
    with rl.enable_grad():
        picked = scores.gather(1, chosen.to(scores.device)[:, None]).sum()
    (slopes,) = rl.autograd.grad(picked, maps[0])
    weights = slopes.mean((2, 3), keepdim=True)
    heat = (weights * maps[0].detach()).sum(1, keepdim=True).relu()
    heat = nn.functional.interpolate(heat, size=images.shape[-2:], mode="bilinear")[:, 0]
    return heat / heat.amax((1, 2), keepdim=True).clamp(min=1e-12)
