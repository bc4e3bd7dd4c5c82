"""The network that proposes boxes (Ren et al., Faster R-CNN, 2015)."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision import ops
from rushlight_vision.models.detection import _utils
from rushlight_vision.models.detection._inputs import Target
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.image_list import ImageList
from rushlight_vision.ops.misc import Conv2dNormActivation

_BETA = 1 / 9  # where the loss of offsets turns from squares to magnitudes


class RPNHead(nn.Module):
    """For every anchor of every position whether it holds something, and the offsets of the box.

    Parameters
    ----------
    in_channels : int
    num_anchors : int
        Of a position.
    conv_depth : int, default 1
        Convolutions before.
    """

    _version = 2

    def __init__(self, in_channels: int, num_anchors: int, conv_depth: int = 1) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            *(
                Conv2dNormActivation(in_channels, in_channels, kernel_size=3, norm_layer=None)
                for _ in range(conv_depth)
            )
        )
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, kernel_size=1, stride=1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=1, stride=1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    nn.init.constant_(layer.bias, 0)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Take states from before version 2, which had one convolution."""
        if (local_metadata.get("version") or 1) < 2:
            for kind in ("weight", "bias"):
                old = f"{prefix}conv.{kind}"
                if old in state_dict:
                    state_dict[f"{prefix}conv.0.0.{kind}"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def forward(self, x: list[rl.Tensor]) -> tuple[list[rl.Tensor], list[rl.Tensor]]:
        """Logits (N, A, H, W) and offsets (N, A * 4, H, W) of every map (N, C, H, W)."""
        seen = [self.conv(feature) for feature in x]
        return [self.cls_logits(each) for each in seen], [self.bbox_pred(each) for each in seen]


def permute_and_flatten(layer: rl.Tensor, N: int, A: int, C: int, H: int, W: int) -> rl.Tensor:
    """(N, A * C, H, W) as (N, H * W * A, C)."""
    return layer.reshape(N, -1, C, H, W).permute(0, 3, 4, 1, 2).reshape(N, -1, C)


def concat_box_prediction_layers(
    box_cls: list[rl.Tensor], box_regression: list[rl.Tensor]
) -> tuple[rl.Tensor, rl.Tensor]:
    """What a head says at all maps, one row for each anchor: logits (boxes, C), offsets
    (boxes, 4)."""
    logits, offsets = [], []
    for scores, deltas in zip(box_cls, box_regression, strict=True):
        count, channels, height, width = scores.shape
        anchors = deltas.shape[1] // 4
        shape = (height, width)
        classes = channels // anchors
        logits.append(permute_and_flatten(scores, count, anchors, classes, *shape))
        offsets.append(permute_and_flatten(deltas, count, anchors, 4, *shape))
    return rl.cat(logits, dim=1).flatten(0, -2), rl.cat(offsets, dim=1).reshape(-1, 4)


class RegionProposalNetwork(nn.Module):
    """Boxes that may hold something.

    Parameters
    ----------
    anchor_generator : AnchorGenerator
    head : Module
        Of feature maps: logits and offsets.
    fg_iou_thresh, bg_iou_thresh : float
        Anchors that overlap a box so much are to say yes; those that overlap all less, no.
    batch_size_per_image : int
        Anchors of an image that the loss looks at.
    positive_fraction : float
        The largest share of positive ones.
    pre_nms_top_n, post_nms_top_n : dict with ``"training"`` and ``"testing"``
        Proposals of each map before suppression, and of an image after it.
    nms_thresh : float
        Overlap above which the worse proposal goes.
    score_thresh : float, default 0.0
        Proposals with less go.
    """

    def __init__(
        self,
        anchor_generator: AnchorGenerator,
        head: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        pre_nms_top_n: dict[str, int],
        post_nms_top_n: dict[str, int],
        nms_thresh: float,
        score_thresh: float = 0.0,
    ) -> None:
        super().__init__()
        self.anchor_generator = anchor_generator
        self.head = head
        self.box_coder = _utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.box_similarity = ops.box_iou
        self.proposal_matcher = _utils.Matcher(
            fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True
        )
        self.fg_bg_sampler = _utils.BalancedPositiveNegativeSampler(
            batch_size_per_image, positive_fraction
        )
        self._pre_nms_top_n = pre_nms_top_n
        self._post_nms_top_n = post_nms_top_n
        self.nms_thresh = nms_thresh
        self.score_thresh = score_thresh
        self.min_size = 1e-3

    def pre_nms_top_n(self) -> int:
        """Proposals of each map before suppression."""
        return self._pre_nms_top_n["training" if self.training else "testing"]

    def post_nms_top_n(self) -> int:
        """Proposals of an image after suppression."""
        return self._post_nms_top_n["training" if self.training else "testing"]

    def assign_targets_to_anchors(
        self, anchors: list[rl.Tensor], targets: list[Target]
    ) -> tuple[list[rl.Tensor], list[rl.Tensor]]:
        """Of each image labels (A,), 1, 0 or -1 for what is neither, and boxes (A, 4) of its
        anchors (A, 4)."""
        labels, boxes = [], []
        for candidates, target in zip(anchors, targets, strict=True):
            label, box = self._assigned(candidates, target["boxes"])
            labels.append(label)
            boxes.append(box)
        return labels, boxes

    def _assigned(self, anchors: rl.Tensor, boxes: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        if boxes.numel() == 0:
            nothing = rl.zeros(anchors.shape, dtype=rl.float32, device=anchors.device)
            return nothing[:, 0], nothing
        matched = self.proposal_matcher(self.box_similarity(boxes, anchors))
        labels = matched.ge(0).to(dtype=rl.float32)
        labels[matched == _utils.Matcher.BETWEEN_THRESHOLDS] = -1.0
        return labels, boxes[matched.clamp(min=0)]

    def _get_top_n_idx(self, objectness: rl.Tensor, num_anchors_per_level: list[int]) -> rl.Tensor:
        """Indices of the best of each map; `objectness` (N, anchors)."""
        found, offset = [], 0
        for logits in objectness.split(num_anchors_per_level, 1):
            best = logits.topk(_utils._topk_min(logits, self.pre_nms_top_n(), 1), dim=1)[1]
            found.append(best + offset)
            offset += logits.shape[1]
        return rl.cat(found, dim=1)

    def filter_proposals(
        self,
        proposals: rl.Tensor,
        objectness: rl.Tensor,
        image_shapes: list[tuple[int, int]],
        num_anchors_per_level: list[int],
    ) -> tuple[list[rl.Tensor], list[rl.Tensor]]:
        """The best boxes of each image and their scores; `proposals` (N, anchors, 4)."""
        count, device = proposals.shape[0], proposals.device
        logits = objectness.detach().reshape(count, -1)
        numbers = rl.arange(len(num_anchors_per_level), device=device)
        sizes = rl.tensor(num_anchors_per_level, device=device)
        levels = numbers.repeat_interleave(sizes)
        best = self._get_top_n_idx(logits, num_anchors_per_level)
        rows = rl.arange(count, device=device)[:, None]
        kept = zip(
            proposals[rows, best], rl.sigmoid(logits[rows, best]), levels[best], image_shapes,
            strict=True,
        )  # fmt: skip
        found = [self._kept(*each) for each in kept]
        return [boxes for boxes, _ in found], [scores for _, scores in found]

    def _kept(
        self, boxes: rl.Tensor, scores: rl.Tensor, levels: rl.Tensor, shape: tuple[int, int]
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """The proposals of one image that stay, best first."""
        boxes = ops.clip_boxes_to_image(boxes, shape)
        large = ((boxes[:, 2:] - boxes[:, :2]) >= self.min_size).all(1)
        keep = rl.where(large & (scores >= self.score_thresh))[0]
        boxes, scores, levels = boxes[keep], scores[keep], levels[keep]
        keep = ops.batched_nms(boxes, scores, levels, self.nms_thresh)[: self.post_nms_top_n()]
        return boxes[keep], scores[keep]

    def compute_loss(
        self,
        objectness: rl.Tensor,
        pred_bbox_deltas: rl.Tensor,
        labels: list[rl.Tensor],
        regression_targets: list[rl.Tensor],
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """The losses of logits and of offsets."""
        chosen, others = self.fg_bg_sampler(labels)
        positive = rl.where(rl.cat(chosen))[0]
        sampled = rl.cat([positive, rl.where(rl.cat(others))[0]])
        goal = rl.cat(regression_targets)[positive]
        box_loss = F.smooth_l1_loss(pred_bbox_deltas[positive], goal, beta=_BETA, reduction="sum")
        logits = objectness.flatten()[sampled]
        loss = F.binary_cross_entropy_with_logits(logits, rl.cat(labels)[sampled])
        return loss, box_loss / sampled.numel()

    def forward(
        self,
        images: ImageList,
        features: dict[str, rl.Tensor],
        targets: list[Target] | None = None,
    ) -> tuple[list[rl.Tensor], dict[str, rl.Tensor]]:
        """Boxes (P, 4) of each image, best first, and in training the losses.

        Raises ValueError in training without targets.
        """
        maps = list(features.values())
        logits, deltas = self.head(maps)
        anchors = self.anchor_generator(images, maps)
        counts = [each[0].numel() for each in logits]
        logits, deltas = concat_box_prediction_layers(logits, deltas)
        proposals = self.box_coder.decode(deltas.detach(), anchors).view(len(anchors), -1, 4)
        boxes, _ = self.filter_proposals(proposals, logits, images.image_sizes, counts)
        if not self.training:
            return boxes, {}
        if targets is None:
            raise ValueError("targets should not be None: expected a dict of each image")
        labels, matched = self.assign_targets_to_anchors(anchors, targets)
        goals = self.box_coder.encode(matched, anchors)
        names = ("loss_objectness", "loss_rpn_box_reg")
        losses = self.compute_loss(logits, deltas, labels, goals)
        return boxes, dict(zip(names, losses, strict=True))
