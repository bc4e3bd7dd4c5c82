"""Masks of boxes: as they are trained, and as parts of images (He et al., Mask R-CNN, 2017)."""

from __future__ import annotations

import rushlight as rl
from rushlight.nn import functional as F
from rushlight_vision.ops import roi_align


def maskrcnn_inference(x: rl.Tensor, labels: list[rl.Tensor]) -> list[rl.Tensor]:
    """Of each image the probabilities (N, 1, M, M) of its labels (N,), of logits (all, C, M, M)."""
    chosen = rl.cat(labels)
    rows = rl.arange(x.shape[0], device=chosen.device)
    masks = x.sigmoid()[rows, chosen][:, None]
    return list(masks.split([len(each) for each in labels], 0))


def project_masks_on_boxes(
    gt_masks: rl.Tensor, boxes: rl.Tensor, matched_idxs: rl.Tensor, M: int
) -> rl.Tensor:
    """The parts (N, M, M) of masks (K, H, W) under boxes (N, 4), each of the mask it matched."""
    regions = rl.cat([matched_idxs[:, None].to(boxes), boxes], dim=1)
    return roi_align(gt_masks[:, None].to(regions), regions, (M, M), 1.0)[:, 0]


def maskrcnn_loss(
    mask_logits: rl.Tensor,
    proposals: list[rl.Tensor],
    gt_masks: list[rl.Tensor],
    gt_labels: list[rl.Tensor],
    mask_matched_idxs: list[rl.Tensor],
) -> rl.Tensor:
    """The binary cross entropy of the masks of the right classes; logits (all, C, M, M)."""
    side = mask_logits.shape[-1]
    pairs = zip(gt_labels, mask_matched_idxs, strict=True)
    labels = rl.cat([label[matched] for label, matched in pairs])
    triples = zip(gt_masks, proposals, mask_matched_idxs, strict=True)
    goals = rl.cat([project_masks_on_boxes(*each, side) for each in triples])
    if goals.numel() == 0:
        return mask_logits.sum() * 0
    rows = rl.arange(labels.shape[0], device=labels.device)
    return F.binary_cross_entropy_with_logits(mask_logits[rows, labels], goals)


def expand_boxes(boxes: rl.Tensor, scale: float) -> rl.Tensor:
    """Boxes (N, 4) with the same centres and sides times `scale`."""
    halves = (boxes[:, 2:] - boxes[:, :2]) * 0.5 * scale
    centers = (boxes[:, 2:] + boxes[:, :2]) * 0.5
    return rl.cat((centers - halves, centers + halves), dim=1)


def expand_masks(mask: rl.Tensor, padding: int) -> tuple[rl.Tensor, float]:
    """Masks (N, 1, M, M) with zeros around them, and how much larger they are."""
    side = mask.shape[-1]
    return F.pad(mask, (padding,) * 4), float(side + 2 * padding) / side


def paste_mask_in_image(mask: rl.Tensor, box: rl.Tensor, im_h: int, im_w: int) -> rl.Tensor:
    """A mask (M, M) in an image (im_h, im_w) of zeros, over a box of whole numbers."""
    left, top, right, bottom = (int(each) for each in box.tolist())
    size = (max(bottom - top + 1, 1), max(right - left + 1, 1))
    scaled = F.interpolate(mask[None, None], size=size, mode="bilinear", align_corners=False)[0, 0]
    image = rl.zeros((im_h, im_w), dtype=mask.dtype, device=mask.device)
    x, y = max(left, 0), max(top, 0)
    beyond, below = min(right + 1, im_w), min(bottom + 1, im_h)
    image[y:below, x:beyond] = scaled[y - top : below - top, x - left : beyond - left]
    return image


def paste_masks_in_image(
    masks: rl.Tensor, boxes: rl.Tensor, img_shape: tuple[int, int], padding: int = 1
) -> rl.Tensor:
    """Masks (N, 1, M, M) over boxes (N, 4) in images (N, 1, H, W) of `img_shape`."""
    height, width = img_shape
    if len(masks) == 0:
        return masks.new_empty((0, 1, height, width))
    masks, scale = expand_masks(masks, padding=padding)
    whole = expand_boxes(boxes, scale).to(dtype=rl.int64)
    pairs = zip(masks.unbind(), whole.unbind(), strict=True)
    return rl.stack([paste_mask_in_image(m[0], b, height, width) for m, b in pairs])[:, None]
