"""U-Nets give fastai's numbers, and learn masks."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.easy import unet
from rushlight import nn

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_unet.json").read_text())
_spec = importlib.util.spec_from_file_location("unet", FOLDER / "fastai_unet.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)


def test_outputs_and_names_are_fastais():
    found = program.outputs(rl, easy.DynamicUnet, nn)
    assert found.keys() == RECORDED.keys()
    for name, answer in found.items():
        assert answer["shapes"] == RECORDED[name]["shapes"], name
        for outputs, expected in zip(answer["outputs"], RECORDED[name]["outputs"], strict=True):
            largest = max(map(abs, expected))
            assert outputs == pytest.approx(expected, rel=1e-3, abs=1e-4 * largest + 1e-4), name


def test_first_weights():
    weight = unet.icnr_init(rl.empty(8, 3, 1, 1))
    assert rl.equal(weight[0], weight[3]) and not rl.equal(weight[0], weight[4])
    shuffle = unet.PixelShuffle_ICNR(4, 2)
    out = shuffle(rl.randn(1, 4, 3, 3))
    assert out.shape == (1, 2, 6, 6) and rl.equal(out[..., ::2, ::2], out[..., 1::2, 1::2])
    model = easy.DynamicUnet(program.encoder(nn), 2, (16, 16))
    assert not any(each.training is False for each in model.modules()), "the encoder learns"
    middle = model.layers[3][0][0]
    assert float(middle.bias.abs().max()) == 0 and 0.1 < float(middle.weight.std()) < 0.3


def test_attention_and_half_channels():
    plain = easy.DynamicUnet(program.encoder(nn), 2, (16, 16))
    assert not [each for each in plain.modules() if isinstance(each, unet.SelfAttention)]
    model = easy.DynamicUnet(program.encoder(nn), 2, (16, 16), self_attention=True, bottle=True)
    assert model(rl.rand(2, 3, 16, 16)).shape == (2, 2, 16, 16)
    attention, x = unet.SelfAttention(16).eval(), rl.randn(1, 16, 3, 2)
    assert rl.allclose(attention(x), x), "nothing is added at first"
    with rl.no_grad():
        attention.gamma.fill_(0.5)
        flat = x.flatten(2)
        query, key, value = (getattr(attention, name)(flat) for name in ("query", "key", "value"))
        shares = (query.transpose(1, 2) @ key).softmax(1)
        assert rl.allclose(shares.sum(1), rl.ones(1, 6), atol=1e-5)
        expected = (0.5 * (value @ shares) + flat).reshape(x.shape)
        assert rl.allclose(attention(x), expected, atol=1e-6)


def discs(folder, count=40):
    """Files of pictures with a bright disc, and of masks that say where."""
    images = pytest.importorskip("PIL.Image")
    drawing = pytest.importorskip("PIL.ImageDraw")
    for number in range(count):
        left, top = 2 + number * 7 % 15, 2 + number * 5 % 15
        corners = (left, top, left + 8 + number % 4, top + 8 + number % 4)
        noise = [(each * 37 + number * 11) % 90 for each in range(32 * 32)]
        picture, mask = images.new("L", (32, 32)), images.new("L", (32, 32))
        picture.putdata(noise)
        drawing.Draw(picture).ellipse(corners, fill=150 + number)
        drawing.Draw(mask).ellipse(corners, fill=1)
        picture.convert("RGB").save(folder / f"{number:02}.png")
        mask.save(folder / f"m{number:02}.png")
    return sorted(folder.glob("[0-9]*.png"))


def small(weights=None):
    """An encoder in the form of a ResNet's children."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.Sequential(nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1)),
        nn.Sequential(nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1)), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(16, 2),
    )  # fmt: skip


def loaders(folder, **options):
    return easy.SegmentationDataLoaders.from_label_func(
        folder, discs(folder), lambda file: file.with_name(f"m{file.stem}.png"), seed=1, bs=8,
        codes=["floor", "disc"], **options,
    )  # fmt: skip


def test_discs_are_found(tmp_path):
    dls = loaders(tmp_path, batch_tfms=easy.aug_transforms(max_warp=0))
    assert dls.vocab == ["floor", "disc"] and [len(dls.train_ds), len(dls.valid_ds)] == [32, 8]
    rl.manual_seed(0)
    learn = easy.unet_learner(
        dls, small, metrics=easy.foreground_acc, path=tmp_path, enable_progress_bar=False
    )
    assert [len(each) > 0 for each in learn.module.groups()] == [True] * 3
    learn.fit_one_cycle(8, 0.01)
    outputs, targets = learn.get_preds()
    found = outputs.argmax(1)
    dice = 2 * float((found * targets).sum()) / float((found + targets).sum())
    assert dice > 0.9, "the stated quality of the short program"
    again = easy.load_learner(learn.export(), model=learn.model, enable_progress_bar=False)
    mask, _, shares = again.predict(tmp_path / "00.png")
    assert mask.shape == (32, 32) and shares.shape == (2, 32, 32)


def test_published_encoders(tmp_path):
    pytest.importorskip("rushlight_vision")
    learn = easy.unet_learner(
        loaders(tmp_path), "resnet18", path=tmp_path, config={"blur": True},
        enable_progress_bar=False,
    )  # fmt: skip
    x = rl.rand(1, 3, 32, 32)
    assert learn.model.eval()(x).shape == (1, 2, 32, 32)
    assert [len(each) for each in learn.module.groups()][:1] == [30]
    again = easy.load_learner(learn.export())
    assert rl.equal(again.model.eval()(x), learn.model(x))


def test_misuse_is_named(tmp_path):
    with pytest.raises(ValueError, match="makes nothing of"):
        easy.DynamicUnet(nn.Sequential(nn.Conv2d(3, 4, 1)), 2, (8, 8))
    with pytest.raises(ValueError, match="no Conv2d"):
        easy.DynamicUnet(nn.Sequential(nn.ReLU()), 2, (8, 8))
    with pytest.raises(ValueError, match="unet_learner: the data has no classes"):
        easy.unet_learner(([[rl.rand(1, 3, 8, 8), rl.zeros(1)]], []), small)
