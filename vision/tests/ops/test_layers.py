"""Layers: states of other versions, settings that are not recorded, inner paths of modules."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import rushlight as rl
from rushlight import nn
from rushlight_vision import ops
from rushlight_vision.ops import _utils, feature_pyramid_network, misc, poolers

# What torchvision's own models and public programs import from inner modules.
PATHS = {
    "boxes": "nms batched_nms box_area box_iou box_convert clip_boxes_to_image remove_small_boxes",
    "misc": "ConvNormActivation Conv2dNormActivation Conv3dNormActivation FrozenBatchNorm2d MLP "
    "Permute SqueezeExcitation",
    "feature_pyramid_network": "FeaturePyramidNetwork ExtraFPNBlock LastLevelMaxPool LastLevelP6P7",
    "poolers": "LevelMapper MultiScaleRoIAlign",
    "roi_align": "RoIAlign roi_align",
    "roi_pool": "RoIPool roi_pool",
    "ps_roi_align": "PSRoIAlign ps_roi_align",
    "ps_roi_pool": "PSRoIPool ps_roi_pool",
    "deform_conv": "DeformConv2d deform_conv2d",
    "focal_loss": "sigmoid_focal_loss",
    "giou_loss": "generalized_box_iou_loss",
    "diou_loss": "distance_box_iou_loss",
    "ciou_loss": "complete_box_iou_loss",
    "drop_block": "DropBlock2d DropBlock3d drop_block2d drop_block3d",
    "stochastic_depth": "StochasticDepth stochastic_depth",
    "_utils": "split_normalization_params convert_boxes_to_roi_format check_roi_boxes_shape",
}


@pytest.mark.parametrize("path", PATHS)
def test_inner_modules(path):
    module = importlib.import_module(f"rushlight_vision.ops.{path}")
    for name in PATHS[path].split():
        assert getattr(module, name) is getattr(ops, name, getattr(module, name))


def test_programs_of_torchvision_find_inner_modules(tmp_path):
    lines = [f"from torchvision.ops.{path} import {', '.join(PATHS[path].split())}"
             for path in PATHS]  # fmt: skip
    program = tmp_path / "program.py"
    program.write_text("\n".join([*lines, "print(nms.__module__)"]))
    command = [sys.executable, "-m", "rushlight", "run", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "rushlight_vision.ops.boxes"


def test_frozen_normalization_takes_the_state_of_a_batch_normalization():
    norm = nn.BatchNorm2d(3)
    norm(rl.randn(4, 3, 5, 5))
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict(norm.state_dict())
    x = rl.randn(2, 3, 4, 4)
    rl.testing.assert_close(frozen(x), norm.eval()(x))
    assert not list(frozen.parameters())


def test_pyramids_take_states_of_before_version_2():
    pyramid = ops.FeaturePyramidNetwork([3, 5], 4)
    state = pyramid.state_dict()
    old = {name.replace(".0.weight", ".weight").replace(".0.bias", ".bias"): each
           for name, each in state.items()}  # fmt: skip
    assert set(old).isdisjoint(state)
    other = ops.FeaturePyramidNetwork([3, 5], 4)
    other.load_state_dict(old)
    maps = {"a": rl.randn(1, 3, 4, 4), "b": rl.randn(1, 5, 2, 2)}
    for name, each in pyramid(maps).items():
        assert rl.equal(other(maps)[name], each)


def test_an_extra_block_without_forward_says_what_to_define():
    with pytest.raises(NotImplementedError, match="ExtraFPNBlock: define forward"):
        feature_pyramid_network.ExtraFPNBlock()([], [], [])


def test_layers_act_in_training_alone():
    x = rl.ones(4, 2, 8, 8)
    for layer in (ops.DropBlock2d(0.5, 3), ops.StochasticDepth(0.5, "row")):
        assert layer.eval()(x) is x


@pytest.mark.parametrize("dims", [2, 3])
def test_dropped_blocks_in_place(dims):
    layer = (ops.DropBlock2d if dims == 2 else ops.DropBlock3d)(0.3, 3, inplace=True)
    x = rl.ones(2, 3, *[7] * dims)
    found = layer(x)
    assert found is x
    assert (x == 0).any() and (x > 1).any()
    rl.testing.assert_close(x.mean(), rl.tensor(1.0))


def test_levels_of_boxes():
    sides = rl.tensor([10.0, 111.0, 112.0, 223.0, 224.0, 448.0, 5000.0])
    boxes = rl.stack((rl.zeros(7), rl.zeros(7), sides, sides), 1)
    mapper = poolers.LevelMapper(2, 5)
    assert mapper([boxes[:3], boxes[3:]]).tolist() == [0, 0, 1, 1, 2, 3, 3]


def test_pooling_without_images():
    pooler = ops.MultiScaleRoIAlign(["a"], 2, 2)
    with pytest.raises(ValueError, match="image_shapes"):
        pooler({"a": rl.ones(1, 1, 4, 4)}, [rl.zeros(0, 4)], [])


def test_parameters_of_normalizations():
    net = nn.Sequential(
        misc.Conv2dNormActivation(3, 4), nn.Linear(4, 4), nn.GroupNorm(2, 4), nn.LayerNorm(4)
    )
    net[1].bias.requires_grad_(False)
    norms, others = _utils.split_normalization_params(net)
    assert [tuple(each.shape) for each in norms] == [(4,)] * 6
    assert [tuple(each.shape) for each in others] == [(4, 3, 3, 3), (4, 4)]
    norms, others = _utils.split_normalization_params(net, [nn.Linear])
    assert [tuple(each.shape) for each in norms] == [(4, 4)]
    with pytest.raises(ValueError, match="not a subclass"):
        _utils.split_normalization_params(net, [int])
