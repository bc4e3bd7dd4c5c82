"""Networks of videos that no builder makes: small multiscale transformers of both versions, and a
residual network of bottlenecks."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import trained
from measured import SEED, Arrays


def _blocks(mvit: Any, widths: list[tuple[int, int]], pooled: bool) -> list[Any]:
    """Three blocks, the second of which halves the size."""
    plain, kernel = ([1, 1, 1], [3, 3, 3]) if pooled else ([], [])
    halves = [plain, [1, 2, 2], plain]
    kernels = [kernel, [3, 3, 3], kernel]
    kept = [[1, 4, 4], [1, 2, 2], [1, 2, 2]]
    rows = zip(widths, kernels, halves, kept, strict=True)
    return [
        mvit.MSBlockConfig(2, *width, each, [3, 3, 3], stride, key)
        for width, each, stride, key in rows
    ]


def _first(models: Any) -> Any:
    mvit = importlib.import_module(f"{models.__name__}.video.mvit")
    setting = _blocks(mvit, [(16, 32), (32, 48), (48, 48)], pooled=False)
    return mvit.MViT(
        (48, 48), 6, setting, residual_pool=False, residual_with_cls_embed=False,
        rel_pos_embed=False, proj_after_attn=False, stochastic_depth_prob=0.3, num_classes=5,
    )  # fmt: skip


def _second(models: Any) -> Any:
    mvit = importlib.import_module(f"{models.__name__}.video.mvit")
    setting = _blocks(mvit, [(16, 16), (16, 32), (32, 32)], pooled=True)
    return mvit.MViT(
        (48, 48), 6, setting, residual_pool=True, residual_with_cls_embed=True,
        rel_pos_embed=True, proj_after_attn=True, attention_dropout=0.1, num_classes=5,
    )  # fmt: skip


def _bottlenecks(models: Any) -> Any:
    resnet = importlib.import_module(f"{models.__name__}.video.resnet")
    makers = [resnet.Conv3DSimple, resnet.Conv2Plus1D, *[resnet.Conv3DNoTemporal] * 2]
    return resnet.VideoResNet(resnet.Bottleneck, makers, [1] * 4, resnet.BasicStem, num_classes=5)


PARTS: dict[str, Callable[[Any], Any]] = {
    "first mvit": _first,
    "second mvit": _second,
    "bottlenecks": _bottlenecks,
}
NAMES = tuple(PARTS)


def measure(torch: Any, models: Any, name: str) -> Arrays:
    """What is compared of a network."""
    torch.manual_seed(SEED)
    return trained.compared(torch, PARTS[name](models), name, (2, 3, 6, 48, 48))
