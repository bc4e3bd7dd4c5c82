"""SSD (Liu et al., SSD: single shot multibox detector, 2016)."""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision import ops
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._downstream import on_backbone
from rushlight_vision.models.detection import _utils
from rushlight_vision.models.detection._construction import COCO_CLASSES, IMAGE_MEAN, IMAGE_STD
from rushlight_vision.models.detection._inputs import Target
from rushlight_vision.models.detection._one_stage import (
    OneStage,
    Tensors,
    all_levels,
    matched_boxes,
)
from rushlight_vision.models.detection.anchor_utils import DefaultBoxGenerator
from rushlight_vision.models.detection.backbone_utils import (
    _validate_trainable_layers,
    freeze_stages,
)
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.models.vgg import VGG, VGG16_Weights, vgg16

__all__ = ["SSD300_VGG16_Weights", "ssd300_vgg16"]


def _xavier_init(conv: nn.Module) -> None:
    """First weights of convolutions after Glorot and Bengio, 2010."""
    for layer in conv.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.constant_(layer.bias, 0.0)


class SSDHead(nn.Module):
    """Offsets and logits of all boxes.

    Parameters
    ----------
    in_channels : list of int
        Of every map.
    num_anchors : list of int
        Of a position of every map.
    num_classes : int
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__()
        self.classification_head = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x: Tensors) -> dict[str, rl.Tensor]:
        """``bbox_regression`` (N, boxes, 4) and ``cls_logits`` (N, boxes, C)."""
        return {
            "bbox_regression": self.regression_head(x),
            "cls_logits": self.classification_head(x),
        }


class SSDScoringHead(nn.Module):
    """A layer for every map, each of which gives `num_columns` numbers a box."""

    def __init__(self, module_list: nn.ModuleList, num_columns: int) -> None:
        super().__init__()
        self.module_list = module_list
        self.num_columns = num_columns

    def _get_result_from_module_list(self, x: rl.Tensor, idx: int) -> rl.Tensor:
        """What layer `idx`, counted from the end if negative, gives."""
        return self.module_list[idx](x)

    def forward(self, x: Tensors) -> rl.Tensor:
        """(N, boxes, `num_columns`) of all maps (N, C, H, W)."""
        results = [self._get_result_from_module_list(each, i) for i, each in enumerate(x)]
        return all_levels(results, self.num_columns)


def _layers(in_channels: list[int], outputs: list[int]) -> nn.ModuleList:
    pairs = zip(in_channels, outputs, strict=True)
    layers = nn.ModuleList(nn.Conv2d(wide, out, 3, padding=1) for wide, out in pairs)
    _xavier_init(layers)
    return layers


class SSDClassificationHead(SSDScoringHead):
    """Logits of all boxes."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        layers = _layers(in_channels, [num_classes * each for each in num_anchors])
        super().__init__(layers, num_classes)


class SSDRegressionHead(SSDScoringHead):
    """Offsets of all boxes."""

    def __init__(self, in_channels: list[int], num_anchors: list[int]) -> None:
        super().__init__(_layers(in_channels, [4 * each for each in num_anchors]), 4)


class SSD(OneStage):
    """SSD on a backbone.

    Parameters
    ----------
    backbone : Module
        Makes a dict of feature maps.
    anchor_generator : DefaultBoxGenerator
    size : (int, int)
        Width and height that all images get.
    num_classes : int
        With the background, which is class 0.
    image_mean, image_std : list of float or None
        Default: those of ImageNet.
    head : Module or None
    score_thresh, nms_thresh : float, default 0.01 and 0.45
    detections_per_img : int, default 200
    iou_thresh : float, default 0.5
        Overlap from which on a box is positive.
    topk_candidates : int, default 400
        Best boxes of each class that suppression looks at.
    positive_fraction : float, default 0.25
        The share of positive boxes among those that the loss of classes looks at.
    **kwargs
        Go to :class:`~rushlight_vision.models.detection.transform.GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        Where the backbone has another number of maps than `anchor_generator`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        anchor_generator: DefaultBoxGenerator,
        size: tuple[int, int],
        num_classes: int,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        head: nn.Module | None = None,
        score_thresh: float = 0.01,
        nms_thresh: float = 0.45,
        detections_per_img: int = 200,
        iou_thresh: float = 0.5,
        topk_candidates: int = 400,
        positive_fraction: float = 0.25,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.backbone: Any = backbone
        self.anchor_generator = anchor_generator
        self.box_coder = _utils.BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
        self.head: Any = self._made_head(size, num_classes) if head is None else head
        self.proposal_matcher = _utils.SSDMatcher(iou_thresh)
        mean, std = image_mean or IMAGE_MEAN, image_std or IMAGE_STD
        self.transform = GeneralizedRCNNTransform(
            min(size), max(size), mean, std, size_divisible=1, fixed_size=size, **kwargs
        )
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates
        self.neg_to_pos_ratio = (1.0 - positive_fraction) / positive_fraction

    def _made_head(self, size: tuple[int, int], num_classes: int) -> SSDHead:
        generator: Any = self.anchor_generator
        channels = getattr(self.backbone, "out_channels", None)
        if channels is None:
            channels = _utils.retrieve_out_channels(self.backbone, size)
        if len(channels) != len(generator.aspect_ratios):
            raise ValueError(
                f"The length of the output channels from the backbone ({len(channels)}) do not "
                "match the length of the anchor generator aspect ratios "
                f"({len(generator.aspect_ratios)})"
            )
        return SSDHead(channels, generator.num_anchors_per_location(), num_classes)

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, rl.Tensor],
        anchors: Tensors,
        matched_idxs: Tensors,
    ) -> dict[str, rl.Tensor]:
        """The losses ``bbox_regression`` and ``classification``, over the number of positive
        boxes; of negative ones the worst count."""
        offsets, logits = head_outputs["bbox_regression"], head_outputs["cls_logits"]
        rows = zip(targets, offsets.unbind(), anchors, matched_idxs, strict=True)
        parts = [self._image_loss(*each) for each in rows]
        labels = rl.stack([label for _, label in parts])
        losses = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        losses = losses.view(labels.shape)
        positive = labels > 0
        wanted = self.neg_to_pos_ratio * positive.sum(1, keepdim=True)
        order = rl.where(positive, -float("inf"), losses.detach()).sort(1, descending=True)[1]
        worst = order.sort(1)[1] < wanted
        count = max(1, int((rl.cat(matched_idxs) >= 0).sum()))
        return {
            "bbox_regression": rl.stack([loss for loss, _ in parts]).sum() / count,
            "classification": (losses[positive].sum() + losses[worst].sum()) / count,
        }

    def _image_loss(
        self, target: Target, offsets: rl.Tensor, anchors: rl.Tensor, matched: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """The loss of the boxes of an image, and labels (boxes,), 0 for background."""
        positive = rl.where(matched >= 0)[0]
        index = matched[positive]
        goal = self.box_coder.encode_single(target["boxes"][index], anchors[positive])
        labels = rl.zeros((len(offsets),), dtype=target["labels"].dtype, device=offsets.device)
        labels[positive] = target["labels"][index]
        return F.smooth_l1_loss(offsets[positive], goal, reduction="sum"), labels

    def postprocess_detections(
        self,
        head_outputs: dict[str, rl.Tensor],
        image_anchors: Tensors,
        image_shapes: list[tuple[int, int]],
    ) -> list[Target]:
        """The detections of each image."""
        scores = head_outputs["cls_logits"].softmax(dim=-1)
        offsets = head_outputs["bbox_regression"].unbind()
        rows = zip(offsets, scores.unbind(), image_anchors, image_shapes, strict=True)
        return [self._image_detections(*each) for each in rows]

    def _image_detections(
        self, offsets: rl.Tensor, scores: rl.Tensor, anchors: rl.Tensor, shape: tuple[int, int]
    ) -> Target:
        boxes = self.box_coder.decode_single(offsets, anchors)
        boxes = ops.clip_boxes_to_image(boxes, shape)
        columns = scores.t()[1:]  # of each class but the background
        columns = rl.where(columns > self.score_thresh, columns, -math.inf)
        best, order = columns.topk(_utils._topk_min(columns, self.topk_candidates, 1))
        found = best > self.score_thresh
        labels = rl.arange(1, scores.shape[1], device=scores.device)[:, None].expand_as(order)
        return self.suppressed(boxes[order[found]], best[found], labels[found])

    def compute_losses(
        self, targets: Any, outputs: Any, anchors: Tensors, features: Tensors
    ) -> dict[str, rl.Tensor]:
        """The losses of what the head says."""
        matched = matched_boxes(self.proposal_matcher, targets, anchors)
        return self.compute_loss(targets, outputs, anchors, matched)

    def detections(
        self, outputs: Any, anchors: Tensors, sizes: list[tuple[int, int]], features: Tensors
    ) -> list[Target]:
        """The detections of each image, in pixels of the batch."""
        return self.postprocess_detections(outputs, anchors, sizes)


def _blocks(highres: bool) -> nn.ModuleList:
    """The layers behind VGG's, each of which gives a map."""
    # channels before, between and after, and of the second convolution size, padding and stride
    rows = [(1024, 256, 512, 3, 1, 2), (512, 128, 256, 3, 1, 2)]
    rows += [(256, 128, 256, 3, 0, 1), (256, 128, 256, 3, 0, 1)]
    if highres:
        rows.append((256, 128, 256, 4, 0, 1))
    return nn.ModuleList(
        nn.Sequential(
            nn.Conv2d(before, between, kernel_size=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(between, after, kernel_size=kernel, padding=padding, stride=stride),
            nn.ReLU(inplace=True),
        )
        for before, between, after, kernel, padding, stride in rows
    )


class SSDFeatureExtractorVGG(nn.Module):
    """The maps of VGG and of some layers more.

    Parameters
    ----------
    backbone : Module
        The features of a VGG-16.
    highres : bool
        One map more, for images of 512 pixels.
    """

    def __init__(self, backbone: Any, highres: bool) -> None:
        super().__init__()
        layers = list(backbone)
        pools = [number for number, layer in enumerate(layers) if isinstance(layer, nn.MaxPool2d)]
        _, _, third, fourth, _ = pools
        layers[third].ceil_mode = True  # 300 pixels give 38 positions, as in the paper
        self.scale_weight = nn.Parameter(rl.ones(512) * 20)
        self.features = nn.Sequential(*layers[:fourth])
        extra = _blocks(highres)
        _xavier_init(extra)
        full = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=False),
            nn.Conv2d(512, 1024, kernel_size=3, padding=6, dilation=6),
            nn.ReLU(inplace=True),
            nn.Conv2d(1024, 1024, kernel_size=1),
            nn.ReLU(inplace=True),
        )
        _xavier_init(full)
        self.extra = nn.ModuleList([nn.Sequential(*layers[fourth:-1], full), *extra])

    def forward(self, x: rl.Tensor) -> dict[str, rl.Tensor]:
        """Maps by number, fine to coarse; the first is normalised along its channels."""
        x = self.features(x)
        maps = [self.scale_weight.view(1, -1, 1, 1) * F.normalize(x)]
        for block in self.extra:
            x = block(x)
            maps.append(x)
        return OrderedDict((str(number), each) for number, each in enumerate(maps))


def _vgg_extractor(backbone: VGG, highres: bool, trainable_layers: int) -> SSDFeatureExtractorVGG:
    """The maps of a VGG-16, of which the first stages are frozen."""
    features: Any = backbone.features
    pools = [number for number, layer in enumerate(features) if isinstance(layer, nn.MaxPool2d)]
    freeze_stages(features, [0, *pools[:-1]], trainable_layers)
    return SSDFeatureExtractorVGG(features, highres)


class SSD300_VGG16_Weights(WeightsEnum):
    """Weights of :func:`ssd300_vgg16`."""

    COCO_V1 = published("SSD300_VGG16_Weights.COCO_V1")
    DEFAULT = COCO_V1


def without_size(settings: dict[str, Any]) -> dict[str, Any]:
    """Warn of a size, which these models have already."""
    if "size" in settings:
        warnings.warn(
            "The size of the model is already fixed; ignoring the parameter.", stacklevel=4
        )
    return {name: value for name, value in settings.items() if name != "size"}


@on_backbone(
    SSD300_VGG16_Weights,
    VGG16_Weights,
    COCO_CLASSES,
    SSD300_VGG16_Weights.COCO_V1,
    VGG16_Weights.IMAGENET1K_FEATURES,
)
def ssd300_vgg16(
    *,
    weights: SSD300_VGG16_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: VGG16_Weights | None = VGG16_Weights.IMAGENET1K_FEATURES,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> SSD:
    """SSD on VGG-16 for images of 300 pixels.

    Parameters
    ----------
    weights : SSD300_VGG16_Weights or None
        Of the whole network.
    progress : bool, default True
        Show how far a download is.
    num_classes : int or None
        With the background; default: 91, or what `weights` have.
    weights_backbone : VGG16_Weights or None
        Of the backbone, where there are no `weights`.
    trainable_backbone_layers : int or None
        How many of the 5 stages of the backbone are trained; default 4, and all without weights.
    **kwargs
        Go to :class:`SSD`.
    """
    trained = weights is not None or weights_backbone is not None
    layers = _validate_trainable_layers(trained, trainable_backbone_layers, 5, 4)
    backbone = _vgg_extractor(vgg16(weights=weights_backbone, progress=progress), False, layers)
    generator = DefaultBoxGenerator(
        [[2], [2, 3], [2, 3], [2, 3], [2], [2]],
        scales=[0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05],
        steps=[8, 16, 32, 64, 100, 300],
    )
    settings: dict[str, Any] = {
        "image_mean": [0.48235, 0.45882, 0.40784],
        "image_std": [1.0 / 255.0] * 3,  # the backbone of Caffe takes bytes
        **without_size(kwargs),
    }
    return SSD(backbone, generator, (300, 300), num_classes or 0, **settings)
