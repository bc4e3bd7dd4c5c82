"""Detectors of two stages: boxes that may hold something, then what they hold."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models.detection._inputs import (
    Target,
    check_boxes,
    check_targets,
    named,
    sizes_of,
)


class GeneralizedRCNN(nn.Module):
    """A backbone, a network that proposes boxes, and heads that look at them.

    Parameters
    ----------
    backbone : Module
        Makes feature maps, one or a dict, of a batch.
    rpn : Module
        Called with images, features and targets: proposals and losses.
    roi_heads : Module
        Called with features, proposals, sizes of images and targets: detections and losses.
    transform : Module
        Makes a batch of the images, and scales detections back.
    """

    def __init__(
        self, backbone: nn.Module, rpn: nn.Module, roi_heads: nn.Module, transform: nn.Module
    ) -> None:
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.roi_heads = roi_heads

    def eager_outputs(self, losses: dict[str, rl.Tensor], detections: list[Target]) -> Any:
        """The losses in training, else the detections."""
        return losses if self.training else detections

    def forward(self, images: list[rl.Tensor], targets: list[Target] | None = None) -> Any:
        """In training losses by name, in evaluation a dict of each image.

        Parameters
        ----------
        images : list of Tensor (C, H, W)
            Of any sizes, with values from 0 to 1.
        targets : list of dict
            In training: ``boxes`` (N, 4), ``x1, y1, x2, y2`` in pixels, ``labels`` (N,) of int64
            from 1, and what the heads need, such as ``masks`` (N, H, W) or ``keypoints`` (N, K, 3).

        Raises
        ------
        AssertionError
            In training without targets; for boxes of another shape, or without width or height.
        """
        if self.training:
            check_targets(targets)
        originals = sizes_of(images)
        batch, targets = self.transform(images, targets)
        check_boxes(targets)
        features = named(self.backbone(batch.tensors))
        proposals, proposal_losses = self.rpn(batch, features, targets)
        sizes = batch.image_sizes
        detections, detector_losses = self.roi_heads(features, proposals, sizes, targets)
        detections = self.transform.postprocess(detections, sizes, originals)
        return self.eager_outputs({**detector_losses, **proposal_losses}, detections)
