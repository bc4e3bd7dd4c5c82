"""More cases of ci/vision_family.py: layers, operators that draw, and bad arguments."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from vision_arguments import Case, Numbers, array, nn, pair


def random_cases(dtype: Any) -> Iterator[Case]:
    """Operators that draw: the same seed, the same numbers."""
    numbers = Numbers(3, dtype)
    image, volume = {"x": numbers.normal(3, 2, 7, 6)}, {"x": numbers.normal(1, 2, 6, 7, 5)}
    for mode, p in product(("row", "batch"), (0.0, 0.4, 1.0)):
        case = {"name": "stochastic_depth", "args": [array("x"), p, mode], "gradients": ["x"]}
        yield case, image
    for dims, given in ((2, image), (3, volume)):
        for p, size in ((0.3, 3), (0.2, 5), (0.0, 3)):
            case = {"args": [array("x")], "gradients": ["x"], "seed": 4}
            yield {"name": f"DropBlock{dims}d", "layer": [p, size], **case}, given
            case = {"args": [array("x"), p, size], "gradients": ["x"], "seed": 5}
            yield {"name": f"drop_block{dims}d", **case}, given
    case = {"args": [array("x")], "gradients": ["x"]}
    yield {"name": "StochasticDepth", "layer": [0.5, "row"], **case}, image
    yield {"name": "StochasticDepth", "layer": [0.5, "row"], "training": False, **case}, image


def layer_cases() -> Iterator[Case]:
    """Layers: names in the state, initial values from the seed, text, results, gradients."""
    numbers = Numbers(8, np.float32)
    image, volume = numbers.normal(2, 4, 8, 6), numbers.normal(2, 4, 6, 5, 4)
    rows = [
        ("FrozenBatchNorm2d", [4], {}), ("FrozenBatchNorm2d", [4], {"eps": 0.1}),
        ("Conv2dNormActivation", [4, 6], {}),
        ("Conv2dNormActivation", [4, 6, 5, 2], {"norm_layer": None, "dilation": 2}),
        ("Conv2dNormActivation", [4, 8, pair(3, 1)], {
            "activation_layer": nn("Hardswish"), "inplace": None, "groups": 2, "bias": True}),
        ("Conv2dNormActivation", [4, 4], {"activation_layer": None, "padding": 0}),
        ("Conv2dNormActivation", [4, 4], {"dilation": pair(2, 1)}),
        ("SqueezeExcitation", [4, 2], {}),
        ("SqueezeExcitation", [4, 2], {
            "activation": nn("SiLU"), "scale_activation": nn("Hardsigmoid")}),
        ("MLP", [6, [5, 3]], {}), ("MLP", [6, [5, 4, 3]], {
            "norm_layer": nn("LayerNorm"), "activation_layer": nn("GELU"), "bias": False}),
        ("Permute", [[0, 2, 3, 1]], {}),
        ("Conv3dNormActivation", [4, 3], {}),
        ("Conv3dNormActivation", [4, 3, pair(3, 1, 1), 2], {"norm_layer": None}),
    ]  # fmt: skip
    for name, settings, options in rows:
        given = {"x": volume if "3d" in name else image}
        case = {"name": name, "layer": settings, "options": options, "args": [array("x")]}
        yield {**case, "gradients": ["x"], "seed": 1}, given
    # Dropout in place changes what the activation saved: no gradients.
    options = {"inplace": True, "dropout": 0.5}
    case = {"name": "MLP", "layer": [6, [5, 3]], "options": options, "args": [array("x")]}
    yield {**case, "seed": 1}, {"x": image}
    given = {"x": image, "offset": numbers.normal(2, 18, 8, 6), "mask": numbers.normal(2, 9, 8, 6)}
    args = [array("x"), array("offset"), array("mask")]
    for settings, options in (
        ([4, 6, 3], {"padding": 1}),
        ([4, 6, pair(3, 3)], {"padding": pair(1, 1), "groups": 2, "bias": False}),
    ):
        case = {"name": "DeformConv2d", "layer": settings, "options": options, "args": args}
        yield {**case, "gradients": list(given), "seed": 2}, given


def pyramid_cases() -> Iterator[Case]:
    """Feature pyramids and the pooling on them."""
    numbers = Numbers(12, np.float32)
    sizes = {"fine": (3, 8, 6), "middle": (5, 4, 3), "coarse": (4, 2, 2)}
    given = {name: numbers.normal(2, *size) for name, size in sizes.items()}
    maps = {"mapping": [[name, array(name)] for name in given]}
    block = "feature_pyramid_network."
    extras: list[dict[str, Any]] = [
        {},
        {"extra_blocks": {"ops": f"{block}LastLevelMaxPool"}},
        {"extra_blocks": {"ops": f"{block}LastLevelP6P7", "args": [4, 4]}},
        {"extra_blocks": {"ops": f"{block}LastLevelP6P7", "args": [4, 4]},
         "norm_layer": nn("BatchNorm2d")},
    ]  # fmt: skip
    for options in extras:
        yield {
            "name": "FeaturePyramidNetwork", "layer": [[3, 5, 4], 4], "options": options,
            "args": [maps], "gradients": list(given), "seed": 3,
        }, given  # fmt: skip
    levels = {
        name: numbers.normal(2, 2, 64 // s, 48 // s)
        for name, s in zip(sizes, (4, 8, 16), strict=True)
    }
    given = {**levels, "a": numbers.boxes(7, 64.0) * 2, "b": numbers.boxes(3, 60.0)}
    shapes = [pair(64, 48), pair(60, 40)]
    args = [maps, [array("a"), array("b")], shapes]
    for names, settings, options in (
        (["fine", "middle", "coarse"], [2, 2], {}),
        (["fine", "coarse"], [pair(3, 2), -1], {"canonical_scale": 40, "canonical_level": 3}),
        (["middle"], [2, 0], {}),
    ):
        yield {
            "name": "MultiScaleRoIAlign", "layer": [names, *settings], "options": options,
            "args": args, "gradients": names,
        }, given  # fmt: skip


def error_cases() -> Iterator[Case]:
    """Bad arguments: the kind of the error."""
    numbers = Numbers(1, np.float32)
    given = {
        "x": numbers.normal(1, 4, 6, 6), "rois": numbers.regions(1, 6, 6, odd=False),
        "wide": numbers.regions(1, 6, 6, odd=False).astype(np.float64), "boxes": numbers.boxes(3),
        "scores": numbers.normal(3), "weight": numbers.normal(4, 4, 3, 3),
        "offset": numbers.normal(1, 18, 4, 4), "few": numbers.normal(1, 4, 4, 4),
    }  # fmt: skip
    given["masks"] = np.zeros((2, 3, 4), bool)
    x, rois, boxes, scores = (array(name) for name in ("x", "rois", "boxes", "scores"))
    calls = [
        ("roi_align", [x, boxes, 2]), ("roi_align", [x, [rois], 2]), ("roi_align", [x, 3, 2]),
        ("roi_align", [x, array("wide"), 2]), ("roi_pool", [x, array("wide"), 2]),
        ("ps_roi_align", [x, rois, 3]), ("ps_roi_pool", [x, rois, 3]),
        ("nms", [boxes, array("rois"), 0.5]), ("nms", [rois, scores, 0.5]),
        ("nms", [boxes, array("few"), 0.5]),
        ("box_convert", [boxes, "xyxy", "abc"]), ("box_convert", [boxes, "xyxy", "xywhr"]),
        ("box_area", [boxes, "xywhr"]), ("box_iou", [boxes, boxes, "abc"]),
        ("sigmoid_focal_loss", [x, x, 2.0]), ("sigmoid_focal_loss", [x, x, 0.5, 2, "all"]),
        ("generalized_box_iou_loss", [boxes, boxes, "all"]),
        ("distance_box_iou_loss", [boxes, boxes, "all"]),
        ("complete_box_iou_loss", [boxes, boxes, "all"]),
        ("stochastic_depth", [x, 2.0, "row"]), ("stochastic_depth", [x, 0.5, "all"]),
        ("drop_block2d", [x, 2.0, 3]), ("drop_block2d", [x, 0.5, 2]),
        ("drop_block3d", [x, 0.5, 3]), ("drop_block2d", [boxes, 0.5, 3]),
        ("masks_to_boxes", [array("masks")]), ("clip_boxes_to_image", [boxes, pair(3)]),
        ("deform_conv2d", [x, array("few"), array("weight")]),
        ("deform_conv2d", [x, array("offset"), array("weight"), None, 2]),
        ("deform_conv2d", [x, array("offset"), array("few")]),
    ]  # fmt: skip
    for name, args in calls:
        yield {"name": name, "args": args, "error": True}, given
    for name, settings in (
        ("DeformConv2d", [4, 3, 3, 1, 0, 1, 2]), ("DeformConv2d", [3, 4, 3, 1, 0, 1, 2]),
        ("FeaturePyramidNetwork", [[4, 0], 3]), ("FeaturePyramidNetwork", [[4], 3, 5]),
    ):  # fmt: skip
        yield {"name": name, "layer": settings, "args": [x], "error": True}, given
    args = [{"mapping": [["a", x], ["b", x]]}, [boxes], []]
    case = {"name": "MultiScaleRoIAlign", "layer": [["a", "b"], 2, 2], "args": args}
    yield {**case, "error": True}, given
