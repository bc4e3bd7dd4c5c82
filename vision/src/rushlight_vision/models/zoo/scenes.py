"""Small networks for several shapes in one picture: a detector and one that segments."""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision import ops
from rushlight_vision.models._utils import built
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.faster_rcnn import (
    FasterRCNN,
    FastRCNNPredictor,
    TwoMLPHead,
)
from rushlight_vision.models.segmentation.fcn import FCN
from rushlight_vision.models.zoo._layers import SmallPicture, block
from rushlight_vision.models.zoo._packaged import PackagedWeights, packaged, zoo_model

WIDTH = 64
SIDE = 96
CLASSES = 6  # background, square, disc, triangle, ring, cross


def _body(stride: int) -> nn.Sequential:
    """Six convolutions; maps of 64 channels with one position for every `stride` pixels."""
    return nn.Sequential(
        block(3, 16, 2),
        block(16, 32, 2),
        block(32, WIDTH, stride // 4),
        *(block(WIDTH, WIDTH) for _ in range(3)),
    )


def _detector(num_classes: int = CLASSES, **kwargs: Any) -> FasterRCNN:
    body: Any = _body(8)
    body.out_channels = WIDTH
    settings = {
        "min_size": SIDE, "max_size": SIDE,
        "rpn_anchor_generator": AnchorGenerator(((16, 24, 34),), ((1.0,),)),
        "rpn_pre_nms_top_n_train": 200, "rpn_post_nms_top_n_train": 100,
        "rpn_pre_nms_top_n_test": 100, "rpn_post_nms_top_n_test": 50,
        "rpn_batch_size_per_image": 64, "box_batch_size_per_image": 48,
        "box_roi_pool": ops.MultiScaleRoIAlign(["0"], 5, 2),
        "box_head": TwoMLPHead(WIDTH * 25, 96),
        "box_predictor": FastRCNNPredictor(96, num_classes),
    }  # fmt: skip
    return FasterRCNN(body, **{**settings, **kwargs})


class _Maps(nn.Module):
    """A network's result as the map ``"out"``."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: rl.Tensor) -> dict[str, rl.Tensor]:
        return OrderedDict(out=self.body(x))


def _segmenter(num_classes: int = CLASSES) -> FCN:
    head = nn.Sequential(*(block(WIDTH, WIDTH) for _ in range(2)), nn.Conv2d(WIDTH, num_classes, 1))
    return FCN(_Maps(_body(4)), head)


class Shapes_Detector_Weights(PackagedWeights):
    """Weights of :func:`shapes_detector`."""

    SHAPES_V1 = packaged("shapes_detector", functools.partial(SmallPicture, channels=3))
    DEFAULT = SHAPES_V1


@zoo_model(Shapes_Detector_Weights)
def shapes_detector(
    *, weights: Shapes_Detector_Weights | None = None, progress: bool = True, **kwargs: Any
) -> FasterRCNN:
    """A small Faster R-CNN for shapes of 16 to 40 pixels in pictures of 96 x 96; `num_classes` (6,
    the background included) and arguments of :class:`FasterRCNN`.

    Images of other sizes are resized so that the shorter side has 96 pixels, the longer no more.

    >>> found = shapes_detector().eval()([rl.zeros(3, 96, 96)])[0]
    >>> sorted(found)
    ['boxes', 'labels', 'scores']
    """
    return built(_detector, weights, progress, **kwargs)


class Shapes_Segmenter_Weights(PackagedWeights):
    """Weights of :func:`shapes_segmenter`."""

    SHAPES_V1 = packaged("shapes_segmenter", functools.partial(SmallPicture, channels=3))
    DEFAULT = SHAPES_V1


@zoo_model(Shapes_Segmenter_Weights)
def shapes_segmenter(
    *, weights: Shapes_Segmenter_Weights | None = None, progress: bool = True, **kwargs: Any
) -> FCN:
    """The class of every pixel of pictures of shapes; `num_classes` counts the background.

    >>> shapes_segmenter().eval()(rl.zeros(1, 3, 96, 96))["out"].shape
    rushlight.Size([1, 6, 96, 96])
    """
    return built(_segmenter, weights, progress, **kwargs)
