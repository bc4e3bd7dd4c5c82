"""What several operators on boxes share: checks, layouts of regions, computing dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import rushlight as rl
from rushlight import nn

Boxes = rl.Tensor | list[rl.Tensor] | tuple[rl.Tensor, ...]


def pair(value: Any) -> tuple[Any, Any]:
    """Height and width of a number or of a sequence of two."""
    if isinstance(value, Sequence):
        height, width = value
        return height, width
    return value, value


def check_roi_boxes_shape(boxes: Boxes) -> None:
    """Raise `AssertionError` unless boxes are (K, 5), or a list of (L, 4) for each image."""
    if isinstance(boxes, (list, tuple)):
        for number, each in enumerate(boxes):
            if each.ndim != 2 or each.shape[1] != 4:
                raise AssertionError(
                    f"boxes: expected a list of tensors (L, 4); boxes[{number}] has shape "
                    f"{tuple(each.shape)}"
                )
    elif not isinstance(boxes, rl.Tensor):
        raise AssertionError(
            f"boxes: expected a tensor (K, 5) or a list of tensors (L, 4), got "
            f"{type(boxes).__name__}"
        )
    elif boxes.ndim != 2 or boxes.shape[1] != 5:
        raise AssertionError(f"boxes: expected a tensor (K, 5), got {tuple(boxes.shape)}")


def convert_boxes_to_roi_format(boxes: Sequence[rl.Tensor]) -> rl.Tensor:
    """Boxes (L, 4) of each image as regions (K, 5), the number of the image in front.

    >>> convert_boxes_to_roi_format([rl.tensor([[0.0, 1.0, 2.0, 3.0]])])
    tensor([[0., 0., 1., 2., 3.]])
    """
    numbers = [rl.full_like(each[:, :1], image) for image, each in enumerate(boxes)]
    return rl.cat([rl.cat(numbers, dim=0), rl.cat(list(boxes), dim=0)], dim=1)


def regions(boxes: Boxes) -> rl.Tensor:
    """Checked regions (K, 5): number of the image, x1, y1, x2, y2."""
    check_roi_boxes_shape(boxes)
    return boxes if isinstance(boxes, rl.Tensor) else convert_boxes_to_roi_format(boxes)


def split_normalization_params(
    model: nn.Module, norm_classes: Iterable[type] | None = None
) -> tuple[list[rl.Tensor], list[rl.Tensor]]:
    """Parameters of normalisation layers, and all others, of those that require gradients.

    `norm_classes` are the layers that count; by default the batch, instance, layer, group and local
    response normalisations of `nn`. Raises `ValueError` for a class that is not a module.
    """
    layers = tuple(norm_classes or _norm_classes())
    for layer in layers:
        if not issubclass(layer, nn.Module):
            raise ValueError(f"norm_classes: {layer} is not a subclass of nn.Module")
    norms: list[rl.Tensor] = []
    others: list[rl.Tensor] = []
    for module in model.modules():
        leaf = next(module.children(), None) is None
        found = norms if leaf and isinstance(module, layers) else others
        found.extend(each for each in module.parameters(recurse=leaf) if each.requires_grad)
    return norms, others


def _norm_classes() -> tuple[type, ...]:
    batch = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
    instance = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
    return (*batch, *instance, nn.LayerNorm, nn.GroupNorm, nn.LocalResponseNorm)


def _upcast(t: rl.Tensor) -> rl.Tensor:
    """At least 32 bits, so that products do not overflow."""
    if t.is_floating_point():
        return t if t.dtype in (rl.float32, rl.float64) else t.float()
    return t if t.dtype in (rl.int32, rl.int64) else t.int()


def _upcast_non_float(t: rl.Tensor) -> rl.Tensor:
    """float32 unless it is float32 or float64."""
    return t if t.dtype in (rl.float32, rl.float64) else t.float()


def reduced(name: str, loss: rl.Tensor, reduction: str) -> rl.Tensor:
    """A loss as `reduction` says; the mean of nothing is 0."""
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction == "mean":
        return loss.mean() if loss.numel() > 0 else 0.0 * loss.sum()
    raise ValueError(f"{name}: reduction must be 'none', 'mean' or 'sum', got {reduction!r}")


def _loss_inter_union(boxes1: rl.Tensor, boxes2: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
    """Areas of the intersection and of the union of each pair of boxes (..., 4)."""
    left, top, right, bottom = boxes1.unbind(dim=-1)
    left2, top2, right2, bottom2 = boxes2.unbind(dim=-1)
    width = rl.min(right, right2) - rl.max(left, left2)
    height = rl.min(bottom, bottom2) - rl.max(top, top2)
    inter = rl.where((width > 0) & (height > 0), width * height, 0.0)
    areas = (right - left) * (bottom - top) + (right2 - left2) * (bottom2 - top2)
    return inter, areas - inter


def _hull_sides(boxes1: rl.Tensor, boxes2: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
    """Width and height of the smallest box around each pair of boxes (..., 4)."""
    left, top, right, bottom = boxes1.unbind(dim=-1)
    left2, top2, right2, bottom2 = boxes2.unbind(dim=-1)
    width = rl.max(right, right2) - rl.min(left, left2)
    return width, rl.max(bottom, bottom2) - rl.min(top, top2)


def described(module: nn.Module, *names: str) -> str:
    """The representation of a layer that has settings alone."""
    settings = ", ".join(f"{name}={getattr(module, name)}" for name in names)
    return f"{type(module).__name__}({settings})"


def channel_groups(name: str, images: rl.Tensor, size: tuple[int, int]) -> int:
    """Bins of a region, each of which has channels of its own."""
    parts = size[0] * size[1]
    if images.shape[1] % parts:
        raise RuntimeError(
            f"{name}: the channels of the input must be a multiple of the {size[0]} x {size[1]} "
            f"bins, got {images.shape[1]}"
        )
    return parts
