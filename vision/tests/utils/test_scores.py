"""Scores of detections, segmentations and classifications."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight_vision.utils import (
    ConfusionMatrix,
    MeanAveragePrecision,
    PanopticQuality,
    calibration,
    fit_temperature,
    grad_cam,
    model_costs,
    most_confused,
)

SCORES = (
    "map map_50 map_75 map_small map_medium map_large mar_1 mar_10 mar_100 mar_small mar_medium "
    "mar_large"
).split()
RECORDED = json.loads((Path(__file__).parent / "pycocotools.json").read_text())


def raster(boxes):
    """Boxes as masks of a quarter of the size, as they were recorded."""
    masks = np.zeros((len(boxes), 120, 130), bool)
    for mask, box in zip(masks, boxes, strict=True):
        left, top, right, bottom = (np.array(box) / 4).astype(int)
        mask[max(top, 0) : bottom, max(left, 0) : right] = True
    return rl.from_numpy(masks)


def entries(which, kind):
    """Recorded detections or things as tensors."""
    found = []
    for one in RECORDED[which]:
        values = {k: rl.tensor(v) for k, v in one.items() if k != "boxes"}
        values["labels"] = values["labels"].long()
        boxes = rl.tensor(one["boxes"], dtype=rl.float64).reshape(-1, 4)
        found.append(
            {**values, "boxes": boxes}
            if kind == "boxes"
            else {**values, "masks": raster(one["boxes"])}
        )
    return found


@pytest.mark.parametrize("kind", ["boxes", "masks"])
def test_average_precision_is_pycocotools(kind):
    metric = MeanAveragePrecision(kind)
    predictions, targets = entries("predictions", kind), entries("targets", kind)
    metric.update(predictions[:10], targets[:10])
    metric.update(predictions[10:], targets[10:])
    found = metric.compute()
    for name, expected in zip(SCORES, RECORDED[kind], strict=True):
        assert found[name] == pytest.approx(expected, abs=1e-12), name
    assert sorted(found["map_per_class"]) == [1, 2, 3]
    metric.reset()
    assert metric.compute()["map"] == -1.0


def test_average_precision_of_nothing_found_and_nothing_there():
    box, one = rl.tensor([[0.0, 0, 9, 9]]), rl.tensor([1])
    none = {"boxes": rl.zeros(0, 4), "labels": rl.zeros(0, dtype=rl.int64), "scores": rl.zeros(0)}
    metric = MeanAveragePrecision()
    metric.update([none], [{"boxes": box, "labels": one}])
    assert metric.compute()["map"] == 0.0 and metric.compute()["mar_100"] == 0.0
    metric = MeanAveragePrecision()
    metric.update([{"boxes": box, "labels": one, "scores": rl.tensor([0.5])}], [none])
    assert metric.compute()["map"] == -1.0


def test_average_precision_refuses_what_does_not_fit():
    box, one = rl.tensor([[0.0, 0, 9, 9]]), rl.tensor([1])
    metric = MeanAveragePrecision()
    with pytest.raises(ValueError, match="must be as many, got 1 and 0"):
        metric.update([{}], [])
    with pytest.raises(ValueError, match=r"predictions\[0\] has no 'scores'"):
        metric.update([{"boxes": box, "labels": one}], [{"boxes": box, "labels": one}])
    with pytest.raises(ValueError, match=r"targets\[0\]: 'boxes' has 1 entries, 'labels' has 2"):
        good = {"boxes": box, "labels": one, "scores": rl.tensor([0.5])}
        metric.update([good], [{"boxes": box, "labels": rl.tensor([1, 2])}])
    with pytest.raises(ValueError, match='kind must be "boxes" or "masks"'):
        MeanAveragePrecision("points")


def test_panoptic_quality_by_hand():
    truth = rl.zeros(1, 4, 8, 2, dtype=rl.int64)
    truth[0, :, :4] = rl.tensor([1, 1])  # a thing of 16 pixels
    truth[0, :2, 4:] = rl.tensor([1, 2])  # another of 8
    said = truth.clone()
    said[0, :, 3] = rl.tensor([0, 5])  # the first loses a column to the ground
    said[0, :2, 4:] = rl.tensor([2, 1])  # the second is taken for another class
    quality = PanopticQuality(things={1, 2}, stuffs={0})
    quality.update(said, truth)
    found = quality.compute()
    assert found["per_class"][1] == {"pq": 0.75 / 1.5, "sq": 0.75, "rq": 1 / 1.5}
    assert found["per_class"][2] == {"pq": 0.0, "sq": 0.0, "rq": 0.0}
    ground = 8 / 12  # 8 pixels of 8 + 4
    assert found["per_class"][0] == {"pq": ground, "sq": ground, "rq": 1.0}
    assert found["pq"] == pytest.approx((0.5 + 0 + ground) / 3)
    assert found["pq_things"] == 0.25 and found["pq_stuffs"] == pytest.approx(ground)
    quality.reset()
    assert quality.compute()["pq"] == -1.0


def test_panoptic_quality_leaves_out_what_is_not_known():
    truth = rl.tensor([[[[0, 0], [9, 0]], [[0, 0], [9, 0]]]])
    said = rl.tensor([[[[0, 3], [1, 1]], [[0, 4], [1, 1]]]])
    quality = PanopticQuality({1}, {0})
    quality.update(said, truth)
    assert quality.compute()["per_class"] == {0: {"pq": 1.0, "sq": 1.0, "rq": 1.0}}
    with pytest.raises(ValueError, match="prediction has the class 9, which is not among"):
        quality.update(truth, truth)
    loose = PanopticQuality({1}, {0}, allow_unknown=True)
    loose.update(truth, truth)
    assert loose.compute()["pq"] == 1.0
    for given, message in (
        ((rl.zeros(2, 2, 2), rl.zeros(2, 3, 2)), "maps .* of one shape"),
        ((rl.zeros(2, 2, 3), rl.zeros(2, 2, 3)), "must end in 2 numbers a pixel, got 3"),
    ):
        with pytest.raises(ValueError, match=message):
            quality.update(*given)
    with pytest.raises(ValueError, match=r"no class in common, both have \[1\]"):
        PanopticQuality({1}, {1})


def test_confusion():
    matrix = ConfusionMatrix(3, ignore_index=255)
    scores = rl.tensor([[9.0, 0, 0], [0, 9, 0], [0, 0, 9], [0, 9, 0]])
    matrix.update(scores, rl.tensor([0, 1, 1, 255]))
    matrix.update(rl.tensor([[2, 2], [1, 0]]), rl.tensor([[1, 2], [1, 0]]))
    assert matrix.matrix.tolist() == [[2, 0, 0], [0, 2, 2], [0, 0, 1]]
    found = matrix.compute()
    assert found["accuracy"] == pytest.approx(5 / 7)
    assert found["recall"].tolist() == pytest.approx([1, 0.5, 1])
    assert found["precision"].tolist() == pytest.approx([1, 1, 1 / 3])
    assert found["f1"].tolist() == pytest.approx([1, 2 / 3, 0.5])
    assert found["iou"].tolist() == pytest.approx([1, 0.5, 1 / 3])
    assert found["mean_iou"] == pytest.approx((1 + 0.5 + 1 / 3) / 3)
    assert matrix.pairs() == [(1, 2, 2)]
    with pytest.raises(ValueError, match="target must have classes from 0 to 2, got 0 to 3"):
        matrix.update(rl.tensor([0, 1]), rl.tensor([0, 3]))
    with pytest.raises(ValueError, match="prediction must have the shape of target"):
        matrix.update(rl.tensor([0, 1]), rl.tensor([0]))
    matrix.reset()
    assert matrix.matrix.sum() == 0
    empty = ConfusionMatrix(2)
    empty.update(rl.tensor([0]), rl.tensor([0]))
    assert math.isnan(empty.compute()["recall"][1]) and empty.compute()["mean_iou"] == 1.0


def test_most_confused_samples_come_first():
    scores = rl.tensor([[1.0, 0], [0, 5], [0, 2], [0, 1]])
    found = most_confused(scores, rl.tensor([0, 0, 0, 1]), count=5)
    assert [(number, said) for number, said, _ in found] == [(1, 1), (2, 1)]
    assert found[0][2] == pytest.approx(math.log(1 + math.exp(5)), rel=1e-6)


def test_grad_cam_looks_where_the_class_is():
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1, bias=False), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    with rl.no_grad():
        model[0].weight.zero_()
        model[0].weight[0, 0, 1, 1], model[0].weight[1, 0, 1, 1] = 1.0, -1.0
    model.train()
    image = rl.zeros(2, 1, 8, 8)
    image[0, 0, 2, 3], image[1, 0, 6, 1] = 5.0, -4.0
    heat = grad_cam(model, model[0], image)
    assert heat.shape == (2, 8, 8) and heat.max() == 1.0
    assert heat[0, 2, 3] == 1.0 and heat[1, 6, 1] == 1.0 and heat.sum() == 2.0
    assert grad_cam(model, model[0], image, target=1)[0].sum() == 0
    assert model.training and model[0].weight.grad is None and not model[0]._forward_hooks
    with rl.no_grad():
        assert grad_cam(model, model[0], image, rl.tensor([0, 1]))[1, 6, 1] == 1.0
    with pytest.raises(ValueError, match="layer must give maps"):
        grad_cam(model, model[2], image)


def test_costs_of_a_model():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
    found = model_costs(model, rl.zeros(2, 3, 6, 6))
    maps = 2 * 4 * 4 * 4
    assert found["flops"] == 2 * maps * 27 and found["macs"] == maps * 27
    assert found["parameters"] == 4 * 27 + 4 + 8 and found["parameter_bytes"] == 4 * 120
    assert found["buffer_bytes"] == 4 * 8 + 8 and found["activation_bytes"] == 4 * 4 * maps


def test_calibration():
    scores = rl.tensor([[0.0, 0], [0.0, 3], [3.0, 0], [3.0, 0]])
    error, rows = calibration(scores, rl.tensor([0, 1, 0, 1]), bins=10)
    sure = 1 / (1 + math.exp(-3))
    assert [count for *_, count in rows] == [1, 3]
    assert rows[1][:2] == pytest.approx((sure, 2 / 3), rel=1e-6)
    assert error == pytest.approx((0.5 + 3 * sure - 2) / 4, rel=1e-5)
    with pytest.raises(ValueError, match="bins must be 1 at least, got 0"):
        calibration(scores, rl.tensor([0, 1, 0, 1]), bins=0)
    rl.manual_seed(0)
    logits = rl.randn(4000, 3)
    target = rl.multinomial(logits.softmax(1), 1)[:, 0]
    assert fit_temperature(4 * logits, target) == pytest.approx(4, rel=0.1)
