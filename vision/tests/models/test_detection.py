"""Detectors give what torchvision's give with the same weights: losses, gradients, detections."""

from __future__ import annotations

from pathlib import Path

import detected
import detector_parts
import measured
import pytest

import rushlight as rl
from rushlight_vision import models

RECORDED = measured.load(str(Path(__file__).with_name("detection.npz")))
NETWORKS = [name for name in RECORDED if ":" not in name]
SMALL = "fasterrcnn_mobilenet_v3_large_320_fpn"


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name):
    found = detected.measure(rl, models, name)
    assert measured.differences(found, RECORDED[name]) == []


@pytest.mark.parametrize("part", detector_parts.NAMES)
def test_part(part):
    found = detector_parts.measure(rl, models, part)
    assert measured.differences(found, RECORDED[f"detection:{part}"]) == []


def test_every_class_is_recorded():
    homes = {models.get_model_builder(name).__module__ for name in NETWORKS}
    every = models.list_models(module=models.detection)
    # SSD's loss and detections are SSDlite's
    other = {models.get_model_builder(name).__module__ for name in every} - homes
    assert [each.rpartition(".")[2] for each in other] == ["ssd"]


@pytest.fixture
def fetched(monkeypatch):
    """Entries whose state was asked for; no state is loaded."""
    asked = []

    def state(self, *args, **kwargs):
        asked.append(str(self))
        return {}

    monkeypatch.setattr(models.WeightsEnum, "get_state_dict", state)
    monkeypatch.setattr(rl.nn.Module, "load_state_dict", lambda self, state: None)
    return asked


def test_weights_of_the_whole_leave_the_backbone_alone(fetched):
    model = models.get_model(SMALL, weights="DEFAULT")
    assert fetched == ["FasterRCNN_MobileNet_V3_Large_320_FPN_Weights.COCO_V1"]
    assert model.roi_heads.box_predictor.cls_score.out_features == 91
    trained = {name for name, each in model.backbone.named_parameters() if each.requires_grad}
    assert all(name.startswith("fpn") or int(name.split(".")[1]) >= 7 for name in trained)


def test_weights_of_the_backbone(fetched):
    models.get_model(SMALL, num_classes=3)
    assert fetched == ["MobileNet_V3_Large_Weights.IMAGENET1K_V1"]


def test_weights_decide_the_classes(fetched):
    with pytest.raises(ValueError, match="'num_classes' expected value 91 but got 3 instead"):
        models.get_model(SMALL, weights="DEFAULT", num_classes=3)
    builder = models.detection.keypointrcnn_resnet50_fpn
    with pytest.raises(ValueError, match="'num_keypoints' expected value 17 but got 3 instead"):
        builder(weights="COCO_V1", num_keypoints=3)


def test_former_ways_to_ask_for_weights(fetched):
    with pytest.warns(UserWarning) as caught:
        models.detection.keypointrcnn_resnet50_fpn(pretrained="legacy", pretrained_backbone=False)
    assert fetched == ["KeypointRCNN_ResNet50_FPN_Weights.COCO_LEGACY"]
    former = [str(each.message) for each in caught if "since 0.13" in str(each.message)]
    assert len(former) == 4
    assert "'pretrained' is deprecated" in former[0]
    assert "'pretrained_backbone' is deprecated" in former[2]


def test_published_first_version_has_no_eps(fetched):
    model = models.detection.fasterrcnn_resnet50_fpn(weights="COCO_V1")
    frozen = [m for m in model.modules() if type(m).__name__ == "FrozenBatchNorm2d"]
    assert len(frozen) == 53 and {each.eps for each in frozen} == {0.0}


def test_trainable_layers_without_weights_warn():
    with pytest.warns(UserWarning, match="trainable_backbone_layers has no effect"):
        models.detection.ssdlite320_mobilenet_v3_large(
            weights_backbone=None, trainable_backbone_layers=2
        )


def test_size_is_ignored():
    with pytest.warns(UserWarning, match="size of the model is already fixed"):
        models.detection.ssdlite320_mobilenet_v3_large(weights_backbone=None, size=(9, 9))


def test_older_states_are_taken():
    rl.manual_seed(0)
    source, target = (models.detection.rpn.RPNHead(8, 3) for _ in range(2))
    state = {key.replace("conv.0.0", "conv"): value for key, value in source.state_dict().items()}
    target.load_state_dict(state)
    assert rl.equal(target.conv[0][0].weight, source.conv[0][0].weight)
    source, target = (models.detection.retinanet.RetinaNetHead(8, 3, 2) for _ in range(2))
    state = {}
    for key, value in source.state_dict().items():
        parts = key.split(".")
        if parts[1] == "conv":
            parts[2:4] = [str(2 * int(parts[2]))]
        state[".".join(parts)] = value
    target.load_state_dict(state)
    last = target.regression_head.conv[3][0].weight
    assert rl.equal(last, source.regression_head.conv[3][0].weight)
    heads = models.detection.mask_rcnn.MaskRCNNHeads
    source, target = heads(8, (4, 4), 1), heads(8, (4, 4), 1)
    state = {
        f"mask_fcn{int(key[0]) + 1}.{key.split('.')[-1]}": value
        for key, value in source.state_dict().items()
    }
    target.load_state_dict(state)
    assert rl.equal(target[1][0].weight, source[1][0].weight)


def test_one_feature_map_is_enough():
    backbone = rl.nn.Sequential(rl.nn.Conv2d(3, 8, 3, stride=8), rl.nn.ReLU())
    backbone.out_channels = 8
    anchors = models.detection.anchor_utils.AnchorGenerator(((16, 32),), ((1.0,),))
    pool = models.detection.faster_rcnn.MultiScaleRoIAlign(["0"], 3, 2)
    settings = {"min_size": 64, "rpn_anchor_generator": anchors, "box_roi_pool": pool}
    model = models.detection.FasterRCNN(backbone, num_classes=2, **settings)
    target = {"boxes": rl.tensor([[1.0, 2.0, 30.0, 40.0]]), "labels": rl.tensor([1])}
    losses = model([rl.rand(3, 64, 64)], [target])
    assert list(losses) == [
        "loss_classifier", "loss_box_reg", "loss_objectness", "loss_rpn_box_reg",
    ]  # fmt: skip
    assert all(bool(loss.isfinite()) for loss in losses.values())
    assert model.eval()([rl.rand(3, 64, 64)])[0]["boxes"].shape[1] == 4


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.95])
def test_the_best_boxes_of_each_class_are_looked_at(threshold):
    """Class by class, as the paper says; of equal scores the first boxes."""
    options = {"score_thresh": threshold, "topk_candidates": 9, "nms_thresh": 1.0}
    model = models.detection.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=5, detections_per_img=100, **options
    )
    corners = rl.rand(60, 2) * 200
    anchors = rl.cat((corners, corners + 20), 1)
    scores = rl.randint(0, 20, (60, 5)) / 20
    scores[7] = rl.nan
    rows = []
    for label in range(1, 5):
        column = scores[:, label].tolist()
        chosen = [number for number, score in enumerate(column) if score > threshold]
        chosen = sorted(chosen, key=lambda number, column=column: -column[number])[:9]
        rows += [(label, number, column[number]) for number in chosen]
    rows.sort(key=lambda row: -row[2])
    found = model._image_detections(rl.zeros(60, 4), scores, anchors, (320, 320))
    assert found["labels"].tolist() == [label for label, _, _ in rows]
    rl.testing.assert_close(found["scores"], rl.tensor([score for _, _, score in rows]))
    numbers = rl.tensor([number for _, number, _ in rows], dtype=rl.int64)
    rl.testing.assert_close(found["boxes"], anchors[numbers])
