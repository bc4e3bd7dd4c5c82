"""RAFT gives the flows that torchvision's gives with the same weights."""

from __future__ import annotations

from pathlib import Path

import flowing
import measured
import pytest

import rushlight as rl
from rushlight_vision import models
from rushlight_vision.transforms import _presets

RECORDED = measured.load(str(Path(__file__).with_name("optical_flow.npz")))
RAFT = models.optical_flow.raft


@pytest.mark.parametrize("name", models.list_models(module=models.optical_flow))
def test_network(name):
    found = flowing.measure(rl, models, name)
    assert measured.differences(found, RECORDED[name]) == []


def test_parts():
    found = flowing.parts(rl, models, "parts")
    assert measured.differences(found, RECORDED["optical_flow:parts"]) == []


def test_weights():
    entry = models.optical_flow.Raft_Large_Weights.DEFAULT
    assert entry.name == "C_T_SKHT_V2" and "categories" not in entry.meta
    preset = entry.transforms()
    assert isinstance(preset, _presets.OpticalFlow) and repr(preset) == "OpticalFlow()"
    assert "-1 ... 1" in preset.describe()


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ((1, 3, 128, 128), (1, 3, 128, 136), "should have the same shape"),
        ((1, 3, 130, 128), (1, 3, 130, 128), "divisible by 8"),
        ((1, 3, 64, 64), (1, 3, 64, 64), "at least 16"),
    ],
)
def test_images_that_do_not_fit(first, second, text):
    model = models.optical_flow.raft_small()
    with pytest.raises(ValueError, match=text):
        model(rl.zeros(first), rl.zeros(second))


def test_parts_that_do_not_fit():
    encoder, gru = RAFT.FeatureEncoder, RAFT.RecurrentBlock
    with pytest.raises(ValueError, match="expected number of layers is 5"):
        encoder(layers=(1, 2))
    with pytest.raises(ValueError, match="number of corr_layers should be 1 or 2"):
        RAFT.MotionEncoder(in_channels_corr=3, corr_layers=(1, 2, 3))
    with pytest.raises(ValueError, match="expected number of flow_layers is 2"):
        RAFT.MotionEncoder(in_channels_corr=3, flow_layers=(1,))
    with pytest.raises(ValueError, match="should have both 1 or 2 elements"):
        gru(input_size=1, hidden_size=1, kernel_size=(3,), padding=(1, 1))
    with pytest.raises(ValueError, match="expose a 'hidden_state_size'"):
        parts = dict.fromkeys(("feature_encoder", "context_encoder", "corr_block", "update_block"))
        RAFT.RAFT(**parts)
    fine = RAFT.FeatureEncoder(layers=(8, 8, 8, 8, 128), strides=(2, 1, 2, 1))
    with pytest.raises(ValueError, match="feature encoder should downsample H and W by 8"):
        models.optical_flow.raft_small(feature_encoder=fine)(*[rl.zeros(1, 3, 128, 128)] * 2)
    narrow = RAFT.FeatureEncoder(layers=(8, 8, 8, 8, 96))
    with pytest.raises(ValueError, match="context encoder outputs 96 channels"):
        models.optical_flow.raft_small(context_encoder=narrow)(*[rl.zeros(1, 3, 128, 128)] * 2)
    with pytest.raises(ValueError, match="feature maps should have the same shape"):
        RAFT.CorrBlock().build_pyramid(rl.zeros(1, 1, 16, 16), rl.zeros(1, 1, 16, 17))
