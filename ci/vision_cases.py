"""The cases of ci/vision_family.py: calls of every operator, with arrays drawn from a seed.

Each is a pair of a call, in the form of vision/tests/ops/recorded.py, and the arrays it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from vision_arguments import Case, Numbers, array, both, pair
from vision_layer_cases import error_cases, layer_cases, pyramid_cases, random_cases

DTYPES = (np.float32, np.float64)


def region_cases(full: bool, dtype: Any, every: int = 7) -> Iterator[Case]:
    """Operators on regions of images; of the few cases every so manieth."""
    settings = list(product((2, pair(3, 2)), (1.0, 0.4), (-1, 0, 1, 3), (False, True)))
    for number, (size, scale, ratio, aligned) in enumerate(settings if full else settings[::every]):
        numbers = Numbers(number, dtype)
        rois = numbers.regions(2, 11, 9, odd=True)
        given = {"x": numbers.normal(2, 3, 11, 9), "rois": rois}
        yield {
            "name": "roi_align", "args": [array("x"), array("rois"), size],
            "options": {"spatial_scale": scale, "sampling_ratio": ratio, "aligned": aligned},
            "gradients": ["x"],
        }, given  # fmt: skip
        if not aligned and ratio < 1:
            yield {
                "name": "roi_pool", "args": [array("x"), array("rois"), size, scale],
                "gradients": ["x"],
            }, given  # fmt: skip
        bins = 6 if isinstance(size, dict) else 4
        given = {"x": numbers.normal(2, 2 * bins, 11, 9), "rois": rois}
        if not aligned:
            yield {
                "name": "ps_roi_align", "args": [array("x"), array("rois"), size, scale, ratio],
                "gradients": ["x"],
            }, given  # fmt: skip
        if not aligned and ratio < 1:
            args = [array("x"), array("rois"), size, scale]
            yield {"name": "ps_roi_pool", "args": args}, given
            # Where regions reach the border, torchvision's gradient is not that of its result.
            inside = rois.copy()
            inside[:, 1:] = np.clip(rois[:, 1:], 0, 7)
            yield {
                "name": "ps_roi_pool", "args": [*args[:3], 1.0], "gradients": ["x"],
            }, {**given, "rois": inside}  # fmt: skip


def region_layers(dtype: Any) -> Iterator[Case]:
    """The layers of the operators on regions, given boxes of every image, some without any."""
    numbers = Numbers(77, dtype)
    boxes = {"x": numbers.normal(3, 8, 9, 8), "a": numbers.boxes(4, 8), "b": numbers.boxes(2, 8)}
    boxes["none"] = np.zeros((0, 4), dtype)
    args = [array("x"), [array("a"), array("none"), array("b")]]
    for name, settings in (
        ("RoIAlign", [pair(2, 2), 0.5, 2]), ("RoIAlign", [3, 1.0, -1, True]),
        ("RoIPool", [2, 0.5]), ("PSRoIAlign", [2, 1.0, 2]), ("PSRoIPool", [2, 1.0]),
    ):  # fmt: skip
        yield {"name": name, "layer": settings, "args": args, "gradients": ["x"]}, boxes
        empty = [array("x"), [array("none")] * 3]
        yield {"name": name, "layer": settings, "args": empty}, boxes


def deform_cases(full: bool, dtype: Any) -> Iterator[Case]:
    """Deformable convolutions: groups of both kinds, strides, masks, offsets of nothing."""
    rows = [
        # channels, outputs, groups, offset groups, kernel, stride, padding, dilation, mask, offsets
        (4, 4, 1, 1, (3, 3), 1, 1, 1, True, 1.5),
        (4, 6, 2, 2, (3, 2), pair(2, 1), pair(0, 1), pair(1, 2), True, 3.0),
        (4, 2, 1, 2, (1, 1), 1, 0, 1, False, 9.0),
        (2, 2, 2, 1, (2, 2), 2, 1, 1, True, 0.0),
        (6, 3, 3, 1, (3, 3), 1, 0, 2, False, 2.0),
        (3, 5, 1, 3, (2, 3), pair(1, 2), 2, 1, True, 1.0),
    ]
    for number, row in enumerate(rows if full else rows[1:4]):
        channels, outputs, groups, offset_groups, kernel, stride, padding, dilation = row[:8]
        numbers = Numbers(number, dtype)
        size = [
            (length + 2 * p - d * (k - 1) - 1) // s + 1
            for length, k, p, d, s in zip(
                (7, 6), kernel, *(both(each) for each in (padding, dilation, stride)), strict=True
            )
        ]
        taps = offset_groups * kernel[0] * kernel[1]
        given = {
            "x": numbers.normal(2, channels, 7, 6),
            "offset": numbers.normal(2, 2 * taps, *size) * dtype(row[9]),
            "weight": numbers.normal(outputs, channels // groups, *kernel),
            "bias": numbers.normal(outputs),
        }
        args = [array(name) for name in ("x", "offset", "weight")]
        options = {"stride": stride, "padding": padding, "dilation": dilation}
        if row[8]:
            given["mask"] = numbers.uniform(0, 1, 2, taps, *size)
            options |= {"mask": array("mask"), "bias": array("bias")}
        else:
            del given["bias"]
        yield {
            "name": "deform_conv2d", "args": args, "options": options, "gradients": list(given),
        }, given  # fmt: skip


def suppression_cases(full: bool, dtype: Any) -> Iterator[Case]:
    """Many and few boxes, crowded or not, equal scores, classes on both sides of the limit."""
    counts = (0, 1, 7, 60, 300, 1100, 2500) if full else (0, 1, 60, 300)
    for count, threshold in product(counts, (0.3, 0.5, 0.9) if full else (0.3, 0.7)):
        numbers = Numbers(count, dtype)
        boxes = numbers.boxes(count, 40.0)
        if count == 60:
            boxes = np.round(boxes)  # ratios that are equal to thresholds
        scores = np.round(numbers.uniform(0, 1, count), 2)
        given = {"boxes": boxes, "scores": scores}
        args = [array("boxes"), array("scores")]
        yield {"name": "nms", "args": [*args, threshold]}, given
        # Equal scores of different classes have no order in torchvision's larger case.
        given = {"boxes": boxes, "scores": numbers.source.permutation(count).astype(dtype)}
        given["idxs"] = numbers.source.integers(0, 5, count)
        yield {"name": "batched_nms", "args": [*args, array("idxs"), threshold]}, given


def box_cases(dtype: Any) -> Iterator[Case]:
    """Formats, areas, overlaps and losses of boxes."""
    numbers = Numbers(5, dtype)
    given = {"a": numbers.boxes(6), "b": numbers.boxes(4)}
    upright, turned = ("xyxy", "xywh", "cxcywh"), ("xywhr", "cxcywhr", "xyxyxyxy")
    for formats in (upright, turned):
        for source, target in product(formats, formats):
            width = 8 if source == "xyxyxyxy" else 5
            boxes = given["a"] if formats is upright else numbers.uniform(1, 40, 4, width)
            args = [array("a"), source, target]
            yield {"name": "box_convert", "args": args, "gradients": ["a"]}, {"a": boxes}
    for fmt in upright:
        yield {"name": "box_area", "args": [array("a"), fmt], "gradients": ["a"]}, given
        args = [array("a"), array("b")]
        yield {"name": "box_iou", "args": [*args, fmt], "gradients": ["a", "b"]}, given
    for name in ("generalized_box_iou", "distance_box_iou", "complete_box_iou"):
        args = [array("a"), array("b")]
        yield {"name": name, "args": args, "gradients": ["a", "b"]}, given
        stacked = {"a": np.stack([given["a"]] * 2), "b": np.stack([given["b"]] * 2)}
        yield {"name": name, "args": args}, stacked
    partners = {"a": given["a"], "b": given["a"][::-1].copy()}
    nothing = {"a": np.zeros((0, 4), dtype), "b": np.zeros((0, 4), dtype)}
    for name, reduction in product(
        ("generalized", "distance", "complete"), ("none", "mean", "sum")
    ):
        case = {
            "name": f"{name}_box_iou_loss", "args": [array("a"), array("b"), reduction],
            "gradients": ["a", "b"],
        }  # fmt: skip
        yield case, partners
        yield case, nothing
    yield (
        {"name": "clip_boxes_to_image", "args": [array("a"), pair(9, 7)], "gradients": ["a"]},
        given,
    )
    yield {"name": "remove_small_boxes", "args": [array("a"), 5.0]}, given
    logits = {"x": numbers.normal(3, 4), "t": (numbers.normal(3, 4) > 0).astype(dtype)}
    for alpha, gamma, reduction in ((0.25, 2, "none"), (-1, 1.5, "mean"), (0.6, 0, "sum")):
        args = [array("x"), array("t"), alpha, gamma, reduction]
        yield {"name": "sigmoid_focal_loss", "args": args, "gradients": ["x"]}, logits


def integer_cases() -> Iterator[Case]:
    """Operators that take integers, and masks."""
    source = np.random.default_rng(9)
    for dtype in (np.int64, np.int32, np.int16, np.uint8):
        start = source.integers(0, 40, (5, 2))
        boxes = np.concatenate([start, start + source.integers(1, 40, (5, 2))], 1).astype(dtype)
        given = {"a": boxes, "b": boxes[:3].copy()}
        yield {"name": "box_area", "args": [array("a")]}, given
        for name in ("box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"):
            yield {"name": name, "args": [array("a"), array("b")]}, given
        for target in ("xywh", "cxcywh"):
            yield {"name": "box_convert", "args": [array("a"), "xyxy", target]}, given
        if dtype in (np.int64, np.int32):
            turned = np.concatenate([boxes, source.integers(0, 90, (5, 1))], 1).astype(dtype)
            for target in ("cxcywhr", "xyxyxyxy"):
                yield {"name": "box_convert", "args": [array("a"), "xywhr", target]}, {"a": turned}
    masks = source.random((4, 6, 7)) > 0.8
    masks[:, 2, 3] = True
    for dtype in (np.bool_, np.uint8, np.float32):
        yield {"name": "masks_to_boxes", "args": [array("m")]}, {"m": masks.astype(dtype)}
    yield {"name": "masks_to_boxes", "args": [array("m")]}, {"m": masks[:0]}


def cases(full: bool) -> Iterator[Case]:
    """All cases, or the few whose results are kept beside the tests."""
    for dtype in DTYPES if full else DTYPES[:1]:
        yield from region_cases(full, dtype)
        yield from deform_cases(full, dtype)
        yield from suppression_cases(full, dtype)
        yield from box_cases(dtype)
    if not full:
        yield from region_cases(full, np.float64, every=15)
    yield from region_layers(np.float32)
    yield from random_cases(np.float32)
    yield from integer_cases()
    yield from layer_cases()
    yield from pyramid_cases()
    yield from error_cases()
