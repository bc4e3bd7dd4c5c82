"""Key points of boxes: as they are trained, and out of heat maps (He et al., Mask R-CNN, 2017)."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight.nn import functional as F


def keypoints_to_heatmap(
    keypoints: rl.Tensor, rois: rl.Tensor, heatmap_size: int
) -> tuple[rl.Tensor, rl.Tensor]:
    """Which cell of a heat map over its box each key point is in, and whether it counts (1 or 0).

    `keypoints` (N, K, 3) with x, y and visibility, `rois` (N, 4); both results (N, K) of int64. A
    point outside of its box does not count; one on its right or lower side is in the last cell.
    """
    start, end = rois[:, None, :2], rois[:, None, 2:]
    points = keypoints[..., :2]
    cells = ((points - start) * (heatmap_size / (end - start))).floor().long()
    cells = rl.where(points == end, heatmap_size - 1, cells)
    inside = ((cells >= 0) & (cells < heatmap_size)).all(dim=-1)
    valid = (inside & (keypoints[..., 2] > 0)).long()
    return (cells[..., 1] * heatmap_size + cells[..., 0]) * valid, valid


def heatmaps_to_keypoints(maps: rl.Tensor, rois: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
    """Key points (N, K, 3), x, y and 1, and scores (N, K) out of heat maps (N, K, M, M) over boxes
    (N, 4): the peaks of the maps, scaled to the pixels of the boxes."""
    if len(maps) == 0:
        return maps.new_zeros((0, maps.shape[1], 3)), maps.new_zeros((0, maps.shape[1]))
    found = [_peaks(each, roi) for each, roi in zip(maps.unbind(), rois.unbind(), strict=True)]
    points = rl.stack([points for points, _ in found]).to(rl.float32)
    return points, rl.stack([scores for _, scores in found]).to(rl.float32)


def _peaks(heatmap: rl.Tensor, roi: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
    """Key points (K, 3) and scores (K,) of one box (4,)."""
    sides = (roi[2:] - roi[:2]).clamp(min=1)
    width, height = (int(each) for each in sides.ceil().tolist())
    options: dict[str, Any] = {"mode": "bicubic", "align_corners": False}
    scaled = F.interpolate(heatmap[:, None], size=(height, width), **options)[:, 0]
    scores, position = scaled.flatten(1).max(dim=1)
    cells = rl.stack((position % width, position // width), dim=1).to(roi.dtype)
    correction = sides / sides.new_tensor([width, height])
    points = (cells + 0.5) * correction + roi[:2]
    return rl.cat((points, rl.ones_like(points[:, :1])), dim=1), scores


def keypointrcnn_loss(
    keypoint_logits: rl.Tensor,
    proposals: list[rl.Tensor],
    gt_keypoints: list[rl.Tensor],
    keypoint_matched_idxs: list[rl.Tensor],
) -> rl.Tensor:
    """The cross entropy over the cells of heat maps (all, K, M, M) of the key points that count.

    Raises ValueError where the maps are not square.
    """
    count, points, height, width = keypoint_logits.shape
    if height != width:
        raise ValueError(f"keypoint_logits: expected square heat maps, got {height} x {width}")
    cells, counted = [], []
    triples = zip(proposals, gt_keypoints, keypoint_matched_idxs, strict=True)
    for boxes, keypoints, matched in triples:
        cell, valid = keypoints_to_heatmap(keypoints[matched], boxes, height)
        cells.append(cell.reshape(-1))
        counted.append(valid.reshape(-1))
    valid = rl.where(rl.cat(counted))[0]
    if keypoint_logits.numel() == 0 or len(valid) == 0:
        return keypoint_logits.sum() * 0
    logits = keypoint_logits.reshape(count * points, height * width)
    return F.cross_entropy(logits[valid], rl.cat(cells)[valid])


def keypointrcnn_inference(
    x: rl.Tensor, boxes: list[rl.Tensor]
) -> tuple[list[rl.Tensor], list[rl.Tensor]]:
    """Key points and scores of the boxes (N, 4) of each image, out of heat maps (all, K, M, M)."""
    maps = x.split([len(each) for each in boxes], 0)
    found = [heatmaps_to_keypoints(*each) for each in zip(maps, boxes, strict=True)]
    return [points for points, _ in found], [scores for _, scores in found]
