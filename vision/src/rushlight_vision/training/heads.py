"""New last layers for trained networks, for other classes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from rushlight import nn
from rushlight_vision.models.detection import FCOS, FasterRCNN, RetinaNet
from rushlight_vision.models.detection.faster_rcnn import FastRCNNPredictor
from rushlight_vision.models.detection.mask_rcnn import MaskRCNNPredictor
from rushlight_vision.models.detection.ssd import SSD
from rushlight_vision.models.segmentation import LRASPP

PRIOR = 0.01  # chance of a class that a new head of a one-stage detector begins with


def replace_head(model: nn.Module, task: str, count: int) -> tuple[str, ...]:
    """Give a model new last layers for `count` classes, in place; the names of these layers.

    Classification and similarity: the last linear layer (or convolution, if there is none), and
    those of auxiliary classifiers. Segmentation: the last convolutions of ``classifier`` and
    ``aux_classifier``. Detection: what scores boxes, and masks, in Faster and Mask R-CNN,
    RetinaNet, FCOS and SSD.

    Raises ValueError if there is no such layer, NotImplementedError for other detectors.
    """
    if task == "detection":
        return _detection(model, count)
    names = _segmentation(model) if task == "segmentation" else _classification(model)
    for name in names:
        _put(model, name, _alike(model.get_submodule(name), count))
    return tuple(names)


def _named(model: nn.Module, kind: type[nn.Module]) -> list[str]:
    return [name for name, each in model.named_modules() if isinstance(each, kind)]


def _put(model: nn.Module, name: str, layer: nn.Module) -> None:
    """Put a layer under a name with dots."""
    parent, _, last = name.rpartition(".")
    home = model.get_submodule(parent) if parent else model
    home.add_module(last, layer)


def _alike(old: Any, count: int) -> nn.Module:
    """A new layer like an old one, with other outputs."""
    options = {"bias": old.bias is not None, "device": old.weight.device, "dtype": old.weight.dtype}
    if isinstance(old, nn.Linear):
        return nn.Linear(old.in_features, count, **options)
    sizes = old.kernel_size, old.stride, old.padding
    return nn.Conv2d(old.in_channels, count, *sizes, **options)


def _classification(model: nn.Module) -> list[str]:
    names = _named(model, nn.Linear) or _named(model, nn.Conv2d)
    if not names:
        raise ValueError(f"{type(model).__name__} has no linear layer or convolution to replace")
    auxiliary = [name for name in names if name.lower().startswith("aux")]
    main = [name for name in names if name not in auxiliary]
    last: dict[str, str] = {name.split(".")[0]: name for name in auxiliary}  # of each classifier
    return [*last.values(), main[-1]]


def _segmentation(model: nn.Module) -> Iterable[str]:
    if isinstance(model, LRASPP):
        return ["classifier.low_classifier", "classifier.high_classifier"]
    found = []
    for part in ("classifier", "aux_classifier"):
        head = getattr(model, part, None)
        if isinstance(head, nn.Module):
            names = _named(head, nn.Conv2d)
            found += [f"{part}.{names[-1]}".rstrip(".")] if names else []
    if not found:
        raise ValueError(f"{type(model).__name__} has no `classifier` with a convolution")
    return found


def _detection(model: nn.Module, count: int) -> tuple[str, ...]:
    if isinstance(model, FasterRCNN):
        return _regions(model, count)
    if isinstance(model, (RetinaNet, FCOS)):
        head: Any = model.head.classification_head
        head.cls_logits = _alike(head.cls_logits, head.num_anchors * count)
        nn.init.normal_(head.cls_logits.weight, std=0.01)
        nn.init.constant_(head.cls_logits.bias, -math.log((1 - PRIOR) / PRIOR))
        head.num_classes = count
        return ("head.classification_head.cls_logits",)
    if isinstance(model, SSD):
        return _boxes_of_maps(model, count)
    raise NotImplementedError(
        f"{type(model).__name__} is no Faster or Mask R-CNN, RetinaNet, FCOS or SSD; replace its "
        "head yourself and use training.fit"
    )


def _regions(model: Any, count: int) -> tuple[str, ...]:
    heads = model.roi_heads
    scores = heads.box_predictor.cls_score
    heads.box_predictor = FastRCNNPredictor(scores.in_features, count).to(scores.weight)
    if getattr(heads, "mask_predictor", None) is None:
        return ("roi_heads.box_predictor",)
    first = heads.mask_predictor.conv5_mask
    masks = MaskRCNNPredictor(first.in_channels, first.out_channels, count)
    heads.mask_predictor = masks.to(first.weight)
    return "roi_heads.box_predictor", "roi_heads.mask_predictor"


def _boxes_of_maps(model: Any, count: int) -> tuple[str, ...]:
    """New scores for every map of an SSD."""
    head, names = model.head.classification_head, []
    for number, each in enumerate(head.module_list):
        name = ".".join(filter(None, [f"module_list.{number}", _named(each, nn.Conv2d)[-1]]))
        old = head.get_submodule(name)
        _put(head, name, _alike(old, old.out_channels // head.num_columns * count))
        names.append(f"head.classification_head.{name}")
    head.num_columns = count
    return tuple(names)
