"""What detectors share: boxes as offsets from others, which box belongs to which, and samples of
them.

Coders follow Girshick et al., Rich feature hierarchies, 2014, appendix C (`BoxCoder`), and Tian et
al., FCOS, 2019 (`BoxLinearCoder`).
"""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.ops import FrozenBatchNorm2d
from rushlight_vision.ops.ciou_loss import complete_box_iou_loss
from rushlight_vision.ops.diou_loss import distance_box_iou_loss
from rushlight_vision.ops.giou_loss import generalized_box_iou_loss

Weights = tuple[float, float, float, float]


class BalancedPositiveNegativeSampler:
    """Chooses boxes of each image by chance: positive ones up to a share, negative ones for the
    rest.

    Parameters
    ----------
    batch_size_per_image : int
        How many boxes of an image.
    positive_fraction : float
        The largest share of positive ones.
    """

    def __init__(self, batch_size_per_image: int, positive_fraction: float) -> None:
        self.batch_size_per_image = batch_size_per_image
        self.positive_fraction = positive_fraction

    def __call__(self, matched_idxs: list[rl.Tensor]) -> tuple[list[rl.Tensor], list[rl.Tensor]]:
        """Masks (uint8) of the positive and of the negative boxes chosen in each image.

        `matched_idxs` has a tensor of each image: at least 1 for positive, 0 for negative, below
        for boxes that are not to be chosen.
        """
        positive, negative = [], []
        for matched in matched_idxs:
            inside, outside = self._chosen(matched)
            positive.append(inside)
            negative.append(outside)
        return positive, negative

    def _chosen(self, matched: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        inside, outside = rl.where(matched >= 1)[0], rl.where(matched == 0)[0]
        wanted = int(self.batch_size_per_image * self.positive_fraction)
        positives = min(inside.numel(), wanted)
        negatives = min(outside.numel(), self.batch_size_per_image - positives)
        return _some(matched, inside, positives), _some(matched, outside, negatives)


def _some(matched: rl.Tensor, members: rl.Tensor, count: int) -> rl.Tensor:
    """A mask of `count` members, drawn without replacement."""
    order = rl.randperm(members.numel(), device=members.device)[:count]
    mask = rl.zeros_like(matched, dtype=rl.uint8)
    mask[members[order]] = 1
    return mask


def _centers_and_sizes(boxes: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
    """Centres and sizes (..., 2) of boxes ``x1, y1, x2, y2`` (..., 4)."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    return boxes[..., :2] + 0.5 * sizes, sizes


def encode_boxes(reference_boxes: rl.Tensor, proposals: rl.Tensor, weights: rl.Tensor) -> rl.Tensor:
    """`reference_boxes` (N, 4) as offsets (N, 4) from `proposals` (N, 4).

    Centres relative to the size of the proposal, and logarithms of ratios of sizes, each times one
    of the four `weights`.

    >>> moved = rl.tensor([[1.0, 0.0, 3.0, 2.0]])
    >>> encode_boxes(moved, rl.tensor([[0.0, 0.0, 2.0, 2.0]]), rl.ones(4))
    tensor([[0.5000, 0.0000, 0.0000, 0.0000]])
    """
    centers, sizes = _centers_and_sizes(proposals)
    goal_centers, goal_sizes = _centers_and_sizes(reference_boxes)
    moves = weights[:2] * (goal_centers - centers) / sizes
    return rl.cat((moves, weights[2:] * rl.log(goal_sizes / sizes)), dim=1)


class BoxCoder:
    """Boxes as offsets from others, and back.

    Parameters
    ----------
    weights : (float, float, float, float)
        Factors of the offsets of x, y, width and height.
    bbox_xform_clip : float, default ``log(1000 / 16)``
        The largest logarithm of a ratio of sizes that is decoded.
    """

    def __init__(self, weights: Weights, bbox_xform_clip: float = math.log(1000.0 / 16)) -> None:
        self.weights = weights
        self.bbox_xform_clip = bbox_xform_clip

    def encode(
        self, reference_boxes: list[rl.Tensor], proposals: list[rl.Tensor]
    ) -> list[rl.Tensor]:
        """Offsets (N, 4) of the boxes of each image from its proposals."""
        counts = [len(each) for each in reference_boxes]
        offsets = self.encode_single(rl.cat(reference_boxes), rl.cat(proposals))
        return list(offsets.split(counts, 0))

    def encode_single(self, reference_boxes: rl.Tensor, proposals: rl.Tensor) -> rl.Tensor:
        """Offsets (N, 4) of boxes (N, 4) from proposals (N, 4)."""
        kind: dict[str, Any] = {"dtype": reference_boxes.dtype, "device": reference_boxes.device}
        return encode_boxes(reference_boxes, proposals, rl.tensor(self.weights, **kind))

    def decode(self, rel_codes: rl.Tensor, boxes: list[rl.Tensor]) -> rl.Tensor:
        """Boxes (N, classes, 4) at offsets (N, classes * 4) from the N `boxes` of all images."""
        if not isinstance(boxes, (list, tuple)):
            raise AssertionError(f"boxes: expected a list of tensors, got {type(boxes).__name__}")
        if not isinstance(rel_codes, rl.Tensor):
            raise AssertionError(f"rel_codes: expected a tensor, got {type(rel_codes).__name__}")
        every = rl.cat(list(boxes))
        count = every.shape[0]
        codes = rel_codes.reshape(count, -1) if count else rel_codes
        decoded = self.decode_single(codes, every)
        return decoded.reshape(count, -1, 4) if count else decoded

    def decode_single(self, rel_codes: rl.Tensor, boxes: rl.Tensor) -> rl.Tensor:
        """Boxes (N, classes * 4) at offsets (N, classes * 4) from boxes (N, 4)."""
        centers, sizes = _centers_and_sizes(boxes.to(rel_codes.dtype))
        codes = rel_codes.reshape(rel_codes.shape[0], rel_codes.shape[-1] // 4, 4)
        kind: dict[str, Any] = {"dtype": codes.dtype, "device": codes.device}
        codes = codes / rl.tensor(self.weights, **kind)
        centers = codes[..., :2] * sizes[:, None] + centers[:, None]
        halves = codes[..., 2:].clamp(max=self.bbox_xform_clip).exp() * sizes[:, None] * 0.5
        return rl.cat((centers - halves, centers + halves), dim=-1).flatten(1)


class BoxLinearCoder:
    """Boxes as distances of their sides from the centres of others, and back.

    `normalize_by_size` divides them by the sizes of the others.
    """

    def __init__(self, normalize_by_size: bool = True) -> None:
        self.normalize_by_size = normalize_by_size

    def encode(self, reference_boxes: rl.Tensor, proposals: rl.Tensor) -> rl.Tensor:
        """Distances (..., 4) from the centres of `reference_boxes` to the left, top, right and
        bottom of `proposals`, both (..., 4)."""
        centers = 0.5 * (reference_boxes[..., :2] + reference_boxes[..., 2:])
        sides = (centers - proposals[..., :2], proposals[..., 2:] - centers)
        distances = rl.cat(sides, dim=-1)
        return distances / _doubled_sizes(reference_boxes) if self.normalize_by_size else distances

    def decode(self, rel_codes: rl.Tensor, boxes: rl.Tensor) -> rl.Tensor:
        """Boxes (..., 4) whose sides are `rel_codes` from the centres of `boxes`, both (..., 4)."""
        boxes = boxes.to(dtype=rel_codes.dtype)
        centers = 0.5 * (boxes[..., :2] + boxes[..., 2:])
        if self.normalize_by_size:
            rel_codes = rel_codes * _doubled_sizes(boxes)
        return rl.cat((centers - rel_codes[..., :2], centers + rel_codes[..., 2:]), dim=-1)


def _doubled_sizes(boxes: rl.Tensor) -> rl.Tensor:
    """Width, height, width, height (..., 4) of boxes (..., 4)."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    return rl.cat((sizes, sizes), dim=-1)


class Matcher:
    """For each predicted box the element it belongs to, by a table of qualities.

    Parameters
    ----------
    high_threshold : float
        Qualities from here on are matches.
    low_threshold : float
        Below is no match (-1); between the two is neither (-2).
    allow_low_quality_matches : bool, default False
        Let the best boxes of every element belong to it or to the element they fit better, whatever
        the quality.

    Raises
    ------
    AssertionError
        If `low_threshold` is larger than `high_threshold`.

    Example
    -------
    >>> Matcher(0.7, 0.3)(rl.tensor([[0.8, 0.5, 0.1], [0.2, 0.4, 0.0]]))
    tensor([ 0, -2, -1])
    """

    BELOW_LOW_THRESHOLD = -1
    BETWEEN_THRESHOLDS = -2

    def __init__(
        self, high_threshold: float, low_threshold: float, allow_low_quality_matches: bool = False
    ) -> None:
        if low_threshold > high_threshold:
            raise AssertionError(
                f"low_threshold should be <= high_threshold: {low_threshold} > {high_threshold}"
            )
        self.high_threshold = high_threshold
        self.low_threshold = low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, match_quality_matrix: rl.Tensor) -> rl.Tensor:
        """Indices (N,) of elements, or -1 or -2, of qualities (M, N) of M elements and N boxes.

        Raises ValueError where there are no elements or no boxes.
        """
        if match_quality_matrix.numel() == 0:
            missing = "proposal" if match_quality_matrix.shape[0] else "ground-truth"
            raise ValueError(
                f"No {missing} boxes available for one of the images during training: qualities of "
                f"shape {tuple(match_quality_matrix.shape)}"
            )
        best, matches = match_quality_matrix.max(dim=0)
        every = matches
        between = (best >= self.low_threshold) & (best < self.high_threshold)
        matches = rl.where(best < self.low_threshold, self.BELOW_LOW_THRESHOLD, matches)
        matches = rl.where(between, self.BETWEEN_THRESHOLDS, matches)
        if self.allow_low_quality_matches:
            self.set_low_quality_matches_(matches, every, match_quality_matrix)
        return matches

    def set_low_quality_matches_(
        self, matches: rl.Tensor, all_matches: rl.Tensor, match_quality_matrix: rl.Tensor
    ) -> None:
        """Set, in `matches`, the best boxes of each element to what they are in `all_matches`."""
        best = match_quality_matrix.max(dim=1)[0]
        boxes = rl.where(match_quality_matrix == best[:, None])[1]
        matches[boxes] = all_matches[boxes]


class SSDMatcher(Matcher):
    """A matcher with one threshold by which the best box of each element belongs to it."""

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold, threshold, allow_low_quality_matches=False)

    def __call__(self, match_quality_matrix: rl.Tensor) -> rl.Tensor:
        """Indices (N,) of elements, or -1, of qualities (M, N) of M elements and N boxes."""
        matches = super().__call__(match_quality_matrix)
        best = match_quality_matrix.max(dim=1)[1]
        matches[best] = rl.arange(best.shape[0], dtype=rl.int64, device=best.device)
        return matches


def overwrite_eps(model: nn.Module, eps: float) -> None:
    """Set `eps` of all frozen batch normalisations of `model`: some published weights were trained
    with another one than the default."""
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = eps


def retrieve_out_channels(model: nn.Module, size: tuple[int, int]) -> list[int]:
    """The channels of the maps that `model` makes of an image of `size` (width, height)."""
    training = model.training
    model.eval()
    with rl.no_grad():
        like = next(model.parameters())
        image = rl.zeros((1, 3, size[1], size[0]), device=like.device)
        maps = model(image)
    model.train(training)
    return [each.shape[1] for each in ([maps] if isinstance(maps, rl.Tensor) else maps.values())]


def _topk_min(input: rl.Tensor, orig_kval: int, axis: int) -> int:
    """`orig_kval`, or the size of dimension `axis` where that is less."""
    return min(orig_kval, input.shape[axis])


_OVERLAP_LOSSES = {
    "giou": generalized_box_iou_loss,
    "diou": distance_box_iou_loss,
    "ciou": complete_box_iou_loss,
}


def _box_loss(
    type: str,
    box_coder: BoxCoder,
    anchors_per_image: rl.Tensor,
    matched_gt_boxes_per_image: rl.Tensor,
    bbox_regression_per_image: rl.Tensor,
    cnf: dict[str, float] | None = None,
) -> rl.Tensor:
    """The summed loss of offsets from anchors: of the offsets (``"l1"``, ``"smooth_l1"``) or of the
    boxes they say (``"giou"``, ``"diou"``, ``"ciou"``)."""
    settings = cnf or {}
    predicted = bbox_regression_per_image
    if type in _OVERLAP_LOSSES:
        boxes = box_coder.decode_single(predicted, anchors_per_image)
        loss, eps = _OVERLAP_LOSSES[type], settings.get("eps", 1e-7)
        return loss(boxes, matched_gt_boxes_per_image, reduction="sum", eps=eps)
    if type not in ("l1", "smooth_l1"):
        raise AssertionError(f"type: unsupported loss {type!r}; l1, smooth_l1, giou, diou or ciou")
    goal = box_coder.encode_single(matched_gt_boxes_per_image, anchors_per_image)
    if type == "l1":
        return F.l1_loss(predicted, goal, reduction="sum")
    beta = settings.get("beta", 1.0)
    return F.smooth_l1_loss(predicted, goal, reduction="sum", beta=beta)
