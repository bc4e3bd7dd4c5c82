"""Parts of detectors on their own, and what they refuse: calls that torchvision and Rushlight
answer alike."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from measured import SEED, Arrays

SIDES = (17, 32, 45, 61, 90, 128)


class Library:
    """One of the two libraries: its tensors and its files of detection."""

    def __init__(self, torch: Any, models: Any) -> None:
        self.torch = torch
        self.models = models

    def __getattr__(self, name: str) -> Any:
        return importlib.import_module(f"{self.models.__name__}.detection.{name}")

    def boxes(self, draw: np.random.Generator, count: int, side: float = 60.0) -> Any:
        corners = draw.uniform(0.0, side, (count, 2))
        sides = draw.uniform(1.0, side / 2, (count, 2))
        return self.tensor(np.concatenate([corners, corners + sides], axis=1))

    def tensor(self, value: Any) -> Any:
        return self.torch.tensor(np.asarray(value, np.float32))


def _coders(lib: Library, draw: np.random.Generator) -> Any:
    boxes, others = lib.boxes(draw, 7), lib.boxes(draw, 7)
    coder = lib._utils.BoxCoder((10.0, 10.0, 5.0, 5.0))
    yield from coder.encode([boxes[:3], boxes[3:]], [others[:3], others[3:]])
    yield coder.decode(lib.tensor(draw.standard_normal((7, 12)) * 4), [others[:2], others[2:]])
    for normalize in (True, False):
        linear = lib._utils.BoxLinearCoder(normalize_by_size=normalize)
        yield linear.encode(boxes, others)
        yield linear.decode(lib.tensor(draw.uniform(0.0, 2.0, (7, 4))), others)


def _matchers(lib: Library, draw: np.random.Generator) -> Any:
    for shape in ((1, 9), (4, 30), (6, 3)):
        quality = lib.tensor(draw.uniform(0.0, 1.0, shape))
        yield lib._utils.Matcher(0.7, 0.3, allow_low_quality_matches=True)(quality)
        yield lib._utils.Matcher(0.6, 0.6)(quality)
        yield lib._utils.SSDMatcher(0.8)(quality)


def _sampler(lib: Library, draw: np.random.Generator) -> Any:
    labels = [lib.torch.tensor(draw.integers(-1, 2, count)) for count in (50, 7)]
    lib.torch.manual_seed(SEED)
    for masks in lib._utils.BalancedPositiveNegativeSampler(16, 0.25)(labels):
        yield from masks


def _losses(lib: Library, draw: np.random.Generator) -> Any:
    boxes, anchors = lib.boxes(draw, 5), lib.boxes(draw, 5)
    offsets = lib.tensor(draw.standard_normal((5, 4)))
    coder = lib._utils.BoxCoder((1.0, 1.0, 1.0, 1.0))
    for kind in ("l1", "smooth_l1", "giou", "diou", "ciou"):
        yield lib._utils._box_loss(kind, coder, anchors, boxes, offsets)
    yield lib._utils._box_loss("smooth_l1", coder, anchors, boxes, offsets, {"beta": 0.1})


def _anchors(lib: Library, draw: np.random.Generator) -> Any:
    images = lib.image_list.ImageList(lib.torch.zeros(2, 3, 60, 92), [(60, 90), (40, 92)])
    maps = [lib.torch.zeros(2, 4, 15, 23), lib.torch.zeros(2, 4, 4, 6)]
    for arguments in ((((16,), (32,)), ((0.5, 1.0, 2.0),) * 2), ((16, 40), (0.3, 1.7))):
        generator = lib.anchor_utils.AnchorGenerator(*arguments)
        yield lib.torch.tensor(generator.num_anchors_per_location())
        yield from generator(images, maps)
    generate = lib.anchor_utils.DefaultBoxGenerator
    for options in ({}, {"clip": False, "scales": [0.3, 0.7, 1.2]}, {"steps": [4, 16]}):
        generator = generate([[2], [2, 3]], **options)
        yield lib.torch.tensor([*generator.num_anchors_per_location(), *generator.scales])
        yield from generator(images, maps)
    yield from generate([[2]])(images, maps[:1])


def _transforms(lib: Library, draw: np.random.Generator) -> Any:
    make = lib.transform.GeneralizedRCNNTransform
    mean, std = [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]
    for settings in ({}, {"size_divisible": 1}, {"fixed_size": (50, 30)}, {"_skip_resize": True}):
        for training in (True, False):
            transform = make((40, 64, 77), 100, mean, std, **settings).train(training)
            images, targets = [], []
            for side in SIDES:
                size = (side, int(draw.integers(10, 150)))
                images.append(lib.torch.tensor(draw.uniform(0.0, 1.0, (3, *size))))
                masks = lib.torch.tensor(draw.integers(0, 2, (2, *size)).astype(np.uint8))
                points = lib.tensor(draw.uniform(0.0, 20.0, (2, 3, 3)))
                boxes = lib.boxes(draw, 2)
                targets.append({"boxes": boxes, "masks": masks, "keypoints": points})
            lib.torch.manual_seed(SEED)
            batch, scaled = transform(images, targets)
            yield lib.torch.tensor([*map(list, batch.image_sizes), list(batch.tensors.shape[-2:])])
            yield batch.tensors.square().mean((0, 1, 2))
            for target in scaled:
                yield target["boxes"]
                yield target["keypoints"]
                yield target["masks"].sum((1, 2))
            originals = [tuple(each.shape[-2:]) for each in images]
            found = [{"boxes": each["boxes"]} for each in scaled]
            for each in transform.postprocess(found, batch.image_sizes, originals):
                yield each["boxes"]


def _heads(lib: Library, draw: np.random.Generator) -> Any:
    heads, boxes = lib.roi_heads, lib.boxes(draw, 4)
    points = lib.tensor(draw.uniform(0.0, 60.0, (4, 6, 3)))
    points[:, 0, :2] = boxes[:, 2:]
    yield from heads.keypoints_to_heatmap(points, boxes, 14)
    yield from heads.heatmaps_to_keypoints(lib.tensor(draw.standard_normal((4, 6, 14, 14))), boxes)
    yield heads.paste_masks_in_image(lib.tensor(draw.uniform(0, 1, (4, 1, 9, 9))), boxes, (50, 70))
    yield heads.paste_masks_in_image(lib.torch.zeros(0, 1, 9, 9), boxes[:0], (50, 70))
    index = lib.torch.tensor([1, 0, 1, 1])
    masks = lib.torch.tensor(draw.integers(0, 2, (2, 50, 70)).astype(np.uint8))
    yield heads.project_masks_on_boxes(masks, boxes, index, 7)


def _small(lib: Library) -> dict[str, Any]:
    """A detector of each kind on one small map."""
    nn, pool = lib.torch.nn, lib.faster_rcnn.MultiScaleRoIAlign

    def body() -> Any:
        network = nn.Sequential(nn.Conv2d(3, 64, 5, stride=8, padding=2), nn.ReLU())
        network.out_channels = 64
        return network

    anchors = lib.anchor_utils.AnchorGenerator
    several, one = anchors(((16, 32),), ((0.5, 1.0),)), anchors(((8,),), ((1.0,),))
    shared = {"min_size": 64, "max_size": 96}
    two = {
        **shared, "rpn_anchor_generator": several, "box_roi_pool": pool(["0"], 3, 2),
        "rpn_pre_nms_top_n_train": 50, "rpn_pre_nms_top_n_test": 30,
    }  # fmt: skip
    mask = {"mask_roi_pool": pool(["0"], 4, 2), "mask_head": nn.Conv2d(64, 256, 1)}
    points = {"keypoint_roi_pool": pool(["0"], 4, 2), "keypoint_head": nn.Conv2d(64, 512, 1)}
    dense = {**shared, "topk_candidates": 40}
    return {
        "faster": lib.faster_rcnn.FasterRCNN(body(), 3, **two),
        "mask": lib.mask_rcnn.MaskRCNN(body(), 3, **two, **mask),
        "keypoint": lib.keypoint_rcnn.KeypointRCNN(body(), 3, **two, **points),
        "retinanet": lib.retinanet.RetinaNet(body(), 3, **dense, anchor_generator=several),
        "fcos": lib.fcos.FCOS(body(), 3, **dense, anchor_generator=one),
    }


def _nothing(lib: Library, draw: np.random.Generator) -> Any:
    """Images of which none has a box, and detections of which none is good enough."""
    target = {
        "boxes": lib.torch.zeros(0, 4),
        "labels": lib.torch.zeros(0).long(),
        "masks": lib.torch.zeros(0, 64, 96).to(lib.torch.uint8),
        "keypoints": lib.torch.zeros(0, 17, 3),
    }
    # without padding, whose positions have equal scores: of equal ones either may be the better
    images = [lib.torch.tensor(draw.uniform(0.0, 1.0, (3, 64, 96))) for _ in range(2)]
    for model in _small(lib).values():
        lib.torch.manual_seed(SEED)
        for parameter in model.parameters():
            values = draw.standard_normal(tuple(parameter.shape)) * 0.02
            parameter.data.copy_(lib.tensor(values))
        yield from model.double()(images, [target, target]).values()
        parts = model.roi_heads if hasattr(model, "roi_heads") else model
        parts.score_thresh = 0.9999
        for value in model.eval()(images)[0].values():
            yield lib.torch.tensor(list(value.shape))


PARTS: dict[str, Callable[[Library, np.random.Generator], Any]] = {
    "coders": _coders,
    "matchers": _matchers,
    "sampler": _sampler,
    "losses": _losses,
    "anchors": _anchors,
    "transforms": _transforms,
    "heads": _heads,
    "nothing": _nothing,
}


def _detector(lib: Library, name: str = "fasterrcnn_mobilenet_v3_large_320_fpn") -> Any:
    return lib.models.get_model(name, weights=None, weights_backbone=None, num_classes=3)


def _train(lib: Library, **target: Any) -> Any:
    plain = {"boxes": lib.tensor([[1, 2, 9, 8]]), "labels": lib.torch.tensor([1])}
    return _detector(lib)([lib.torch.rand(3, 40, 50)], [{**plain, **target}])


def _backbone(lib: Library) -> Any:
    network = lib.torch.nn.Conv2d(3, 4, 3)
    network.out_channels = 4
    return network


# What is refused: the same kind of error in both libraries.
REFUSED: dict[str, Callable[[Library], Any]] = {
    "no targets": lambda lib: _detector(lib)([lib.torch.rand(3, 40, 50)]),
    "no targets, one stage": lambda lib: _detector(lib, "ssdlite320_mobilenet_v3_large")(
        [lib.torch.rand(3, 40, 50)]
    ),
    "flat box": lambda lib: _train(lib, boxes=lib.tensor([[1, 2, 9, 2]])),
    "shape of boxes": lambda lib: _train(lib, boxes=lib.tensor([1, 2, 9, 2])),
    "list of boxes": lambda lib: _train(lib, boxes=[[1, 2, 9, 2]]),
    "dtype of labels": lambda lib: _train(lib, labels=lib.torch.tensor([1.0])),
    "dtype of boxes": lambda lib: _train(lib, boxes=lib.torch.tensor([[1, 2, 9, 8]])),
    "bytes": lambda lib: _detector(lib).eval()([lib.torch.zeros(3, 40, 50).to(lib.torch.uint8)]),
    "batch": lambda lib: _detector(lib).eval()(lib.torch.zeros(40, 50)),
    "image of 4 dims": lambda lib: _detector(lib).eval()([lib.torch.zeros(1, 3, 40, 50)]),
    "backbone": lambda lib: lib.faster_rcnn.FasterRCNN(lib.torch.nn.ReLU(), 3),
    "backbone of retinanet": lambda lib: lib.retinanet.RetinaNet(lib.torch.nn.ReLU(), 3),
    "backbone of fcos": lambda lib: lib.fcos.FCOS(lib.torch.nn.ReLU(), 3),
    "anchors": lambda lib: lib.faster_rcnn.FasterRCNN(_backbone(lib), 3, rpn_anchor_generator=1),
    "anchors of fcos": lambda lib: lib.fcos.FCOS(
        _backbone(lib), 3, anchor_generator=lib.anchor_utils.AnchorGenerator()
    ),
    "pooler": lambda lib: lib.faster_rcnn.FasterRCNN(_backbone(lib), 3, box_roi_pool=1),
    "mask pooler": lambda lib: lib.mask_rcnn.MaskRCNN(_backbone(lib), 3, mask_roi_pool=1),
    "no classes": lambda lib: lib.faster_rcnn.FasterRCNN(_backbone(lib)),
    "classes twice": lambda lib: lib.faster_rcnn.FasterRCNN(_backbone(lib), 3, box_predictor=1),
    "masks twice": lambda lib: lib.mask_rcnn.MaskRCNN(_backbone(lib), 3, mask_predictor=1),
    "points twice": lambda lib: lib.keypoint_rcnn.KeypointRCNN(
        _backbone(lib), 3, num_keypoints=2, keypoint_predictor=1
    ),
    "steps": lambda lib: lib.anchor_utils.DefaultBoxGenerator([[2], [2]], steps=[1]),
    "thresholds": lambda lib: lib._utils.Matcher(0.3, 0.7),
    "no boxes to match": lambda lib: lib._utils.Matcher(0.7, 0.3)(lib.torch.zeros(0, 3)),
    "kind of loss": lambda lib: lib._utils._box_loss(
        "l2", None, *(lib.torch.zeros(1, 4) for _ in range(3))
    ),
    "trained layers": lambda lib: lib.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, trainable_layers=6
    ),
    "returned layers": lambda lib: lib.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, returned_layers=[0]
    ),
    "returned layers of mobilenet": lambda lib: lib.backbone_utils.mobilenet_backbone(
        backbone_name="mobilenet_v3_small", weights=None, fpn=True, returned_layers=[9]
    ),
    "logits of images": lambda lib: lib.faster_rcnn.FastRCNNPredictor(4, 3)(
        lib.torch.zeros(2, 4, 2, 2)
    ),
    "heat maps": lambda lib: lib.roi_heads.keypointrcnn_loss(
        lib.torch.zeros(1, 2, 3, 4), [], [], []
    ),
    "not as many maps": lambda lib: lib.anchor_utils.AnchorGenerator()(
        lib.image_list.ImageList(lib.torch.zeros(1, 3, 8, 8), [(8, 8)]),
        [lib.torch.zeros(1, 1, 4, 4)] * 2,
    ),
}  # fmt: skip


def _refusal(lib: Library, name: str) -> str:
    """The kind of error of a call that is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            REFUSED[name](lib)
        except Exception as error:  # noqa: BLE001 - the kind is what is compared
            return type(error).__name__
    return "nothing"


NAMES = (*PARTS, "refused")


def measure(torch: Any, models: Any, name: str) -> Arrays:
    """What a part gives, call by call, or the kinds of errors of calls that are refused."""
    lib = Library(torch, models)
    if name == "refused":
        return {f"refused: {each}": np.array(_refusal(lib, each)) for each in REFUSED}
    made = PARTS[name](lib, np.random.default_rng(SEED))
    return {f"part {number}": np.array(each.detach().numpy()) for number, each in enumerate(made)}
