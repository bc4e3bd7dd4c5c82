"""Weights from files: of a mirror, of older versions, and what images go through before."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest
from PIL import Image

import rushlight as rl
from rushlight_vision import models
from rushlight_vision.models.vision_transformer import MLPBlock, interpolate_embeddings
from rushlight_vision.transforms import functional
from rushlight_vision.transforms._presets import ImageClassification


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A file of SqueezeNet's weights in a folder that is a mirror, and its state."""
    rl.manual_seed(1)
    state = models.squeezenet1_1().state_dict()
    rl.save(state, tmp_path / "made")
    digest = hashlib.sha256((tmp_path / "made").read_bytes()).hexdigest()[:8]
    name = f"squeezenet1_1-{digest}.pth"
    (tmp_path / "made").rename(tmp_path / name)
    entry = models.SqueezeNet1_1_Weights.IMAGENET1K_V1
    monkeypatch.setattr(entry.value, "url", f"http://127.0.0.1:9/models/{name}")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RUSHLIGHT_MIRRORS", str(tmp_path))
    return state


def test_weights_of_a_mirror(published, tmp_path):
    model = models.get_model("squeezenet1_1", weights="DEFAULT", progress=False)
    for key, value in model.state_dict().items():
        assert rl.equal(value, published[key])
    kept = list((tmp_path / "home" / "hub" / "checkpoints").glob("*.pth"))
    assert len(kept) == 1  # found there from now on
    next(tmp_path.glob("*.pth")).unlink()
    models.squeezenet1_1(weights="DEFAULT", progress=False)


def test_without_network_the_error_says_what_helps(published, tmp_path, monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_MIRRORS")
    folder = re.escape(str(tmp_path / "home" / "hub" / "checkpoints"))
    with pytest.raises(OSError, match=f"put the file into {folder} as squeezenet1_1-"):
        models.squeezenet1_1(weights="DEFAULT", progress=False)


def test_names_of_the_published_densenets():
    shape = {"growth_rate": 4, "block_config": (1, 2, 1, 1), "num_init_features": 8}
    source, target = (models.DenseNet(**shape, num_classes=3) for _ in range(2))
    state = {
        re.sub(r"(denselayer\d+\.(?:norm|conv))([12])\.", r"\1.\2.", key): value
        for key, value in source.state_dict().items()
    }
    assert "features.denseblock2.denselayer2.norm.1.weight" in state
    target.load_state_dict(state)
    images = rl.randn(2, 3, 32, 32)
    assert rl.equal(source.eval()(images), target.eval()(images))


def test_names_of_the_first_transformers():
    block = MLPBlock(4, 8, 0.0)
    old = {"linear_1": "0", "linear_2": "3"}
    state = {
        f"{name}.{kind}": rl.randn_like(block.state_dict()[f"{new}.{kind}"])
        for name, new in old.items()
        for kind in ("weight", "bias")
    }
    block.load_state_dict(dict(state))
    assert rl.equal(block.state_dict()["3.weight"], state["linear_2.weight"])


def test_states_of_the_first_mnasnets():
    source, target = models.mnasnet0_5(num_classes=3), models.mnasnet0_5(num_classes=3)
    from_first = source.state_dict()
    from_first._metadata[""]["version"] = 1
    with pytest.raises(RuntimeError, match="size mismatch for layers.0.weight"):
        with pytest.warns(UserWarning, match="the state is of version 1"):
            target.load_state_dict(from_first)
    assert target.layers[0].weight.shape[0] == 32 and target._version == 1
    with pytest.raises(ValueError, match="version should be set to 1 or 2 instead of 3"):
        from_first._metadata[""]["version"] = 3
        source.load_state_dict(from_first)


def test_positions_for_other_sizes():
    rl.manual_seed(0)
    small = models.VisionTransformer(16, 4, 1, 2, 8, 8, num_classes=3)
    large = models.VisionTransformer(32, 4, 1, 2, 8, 8, num_classes=3)
    state = interpolate_embeddings(32, 4, small.state_dict())
    large.load_state_dict(state)
    grid = small.encoder.pos_embedding.detach()[:, 1:].permute(0, 2, 1).reshape(1, 8, 4, 4)
    wanted = rl.nn.functional.interpolate(grid, size=8, mode="bicubic", align_corners=True)
    found = large.encoder.pos_embedding.detach()[:, 1:].permute(0, 2, 1).reshape(1, 8, 8, 8)
    assert rl.equal(found, wanted)
    assert interpolate_embeddings(16, 4, small.state_dict()).keys() == small.state_dict().keys()
    without = interpolate_embeddings(32, 4, small.state_dict(), reset_heads=True)
    assert not any(key.startswith("heads") for key in without)
    with pytest.raises(ValueError, match="not a perfect square! Instead got 5"):
        interpolate_embeddings(32, 4, {"encoder.pos_embedding": rl.zeros(1, 6, 8)})


def test_a_wrong_image_is_refused():
    model = models.VisionTransformer(16, 4, 1, 2, 8, 8)
    with pytest.raises(AssertionError, match="Wrong image height! Expected 16 but got 12!"):
        model(rl.zeros(1, 3, 12, 16))
    with pytest.raises(ValueError, match=r"Input size \(16, 16\) of block 0 is not divisible by"):
        models.maxvit_t(input_size=(64, 64))


def test_preset_of_pictures_and_tensors():
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    picture = Image.fromarray(pixels)
    preset = ImageClassification(crop_size=16, resize_size=20)
    found = preset(picture)
    resized = picture.resize((25, 20), Image.BILINEAR).crop((4, 2, 20, 18))
    wanted = functional.normalize(functional.to_tensor(resized), preset.mean, preset.std)
    assert rl.equal(found, wanted) and found.shape == (3, 16, 16)
    batch = rl.stack([functional.pil_to_tensor(picture)] * 2)
    assert preset(batch).shape == (2, 3, 16, 16)
    assert float((preset(batch)[0] - found).abs().max()) < 0.03  # a grey level of tensors' rounding
    assert repr(preset).splitlines()[1:3] == ["    crop_size=[16]", "    resize_size=[20]"]
    assert "20 pixels" in preset.describe() and "16 x 16" in preset.describe()
