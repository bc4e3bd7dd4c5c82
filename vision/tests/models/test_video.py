"""Networks that classify videos give what torchvision's give with the same weights."""

from __future__ import annotations

from pathlib import Path

import measured
import pytest
import trained
import video_parts

import rushlight as rl
from rushlight_vision import models
from rushlight_vision.transforms import _presets

RECORDED = measured.load(str(Path(__file__).with_name("video.npz")))
NETWORKS = [name for name in RECORDED if ":" not in name]


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name):
    found = trained.measure(rl, models, name)
    assert measured.differences(found, RECORDED[name]) == []


@pytest.mark.parametrize("name", video_parts.NAMES)
def test_networks_that_no_builder_makes(name):
    found = video_parts.measure(rl, models, name)
    assert measured.differences(found, RECORDED[f"video:{name}"]) == []


def test_weights():
    entry = models.video.MViT_V1_B_Weights.DEFAULT
    assert len(entry.meta["categories"]) == 400 and entry.meta["min_temporal_size"] == 16
    preset = entry.transforms()
    assert isinstance(preset, _presets.VideoClassification)
    assert preset.crop_size == [224, 224] and "crop_size=[224, 224]" in repr(preset)
    assert "[256]" in preset.describe()


def test_former_way_to_ask_for_weights(monkeypatch):
    asked = []
    monkeypatch.setattr(models.WeightsEnum, "get_state_dict", lambda self, **_: asked.append(self))
    monkeypatch.setattr(rl.nn.Module, "load_state_dict", lambda self, state: None)
    with pytest.warns(UserWarning) as caught:
        models.video.r3d_18(pretrained=True)
    assert len(caught) == 2 and asked == [models.video.R3D_18_Weights.KINETICS400_V1]


def test_blocks_of_nothing_start_as_the_identity():
    resnet = models.video.resnet
    makers = [resnet.Conv3DSimple] * 4
    shape = (resnet.Bottleneck, makers, [1] * 4, resnet.BasicStem)
    model = resnet.VideoResNet(*shape, num_classes=2, zero_init_residual=True)
    assert not model.layer3[0].conv3[1].weight.any()


def test_attention_without_tables_of_distances_is_the_definition():
    build = models.video.mvit.MultiscaleAttention
    pooled = [[3, 3, 3], [3, 3, 3], [1, 2, 2], [1, 2, 2]]
    layer = build([2, 4, 4], 6, 8, 2, *pooled, False, False, rel_pos_embed=False).double()
    x = rl.randn(3, 33, 6, dtype=rl.float64, requires_grad=True)
    q, k, v = layer.qkv(x).reshape(3, 33, 3, 2, 4).transpose(1, 3).unbind(dim=2)
    pairs = zip(_pools(layer), (q, k, v), strict=True)
    q, k, v = (pool(each, (2, 4, 4))[0] for pool, each in pairs)
    weights = (q @ k.transpose(2, 3) / 2).softmax(dim=-1)
    expected = layer.project((weights @ v).transpose(1, 2).reshape(3, 9, 8))
    found, size = layer(x, (2, 4, 4))
    assert size == (2, 2, 2)
    rl.testing.assert_close(found, expected)
    weight = rl.randn_like(found)
    wanted = rl.autograd.grad(expected, (x, *layer.parameters()), weight)
    gradients = rl.autograd.grad(found, (x, *layer.parameters()), weight)
    rl.testing.assert_close(gradients, wanted)


def _pools(layer):
    return layer.pool_q, layer.pool_k, layer.pool_v


def test_refused():
    with pytest.raises(ValueError, match="can't be empty"):
        models.video.MViT((8, 8), 4, [], False, False, False, False)
    with pytest.raises(ValueError, match="must be of length 3"):
        models.video.swin_transformer.ShiftedWindowAttention3d(8, [2, 2], [0, 0, 0], 2)
    with pytest.raises(ValueError, match="Unsupported input dimension"):
        models.video.mvit._unsqueeze(rl.zeros(2, 2), 5, 2)
