"""Recipes: metrics rise, a resumed training is that without a break, files are what they say."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight_vision import models
from rushlight_vision.datasets import DigitsSample, GeneratedShapes, VisionDataset

pytest.importorskip("lightning_lite")

from rushlight_vision import train, training
from rushlight_vision.datasets import from_folder
from rushlight_vision.training import data as data_parts
from rushlight_vision.training import fitting, heads, module, tasks

PLAIN = {"mean": (0.0,), "std": (1.0,), "quiet": True, "image_size": 28, "flip": False, "crop": 0.8}


class Digits(VisionDataset):
    """A few digits, every label as often."""

    classes = DigitsSample.classes

    def __init__(self, count: int, split: str = "train") -> None:
        super().__init__()
        self.data, self.count = DigitsSample(split=split), count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int):
        return self.data[index]


def tiny() -> nn.Module:
    rl.manual_seed(0)
    return models.zoo.SmallCNN(width=8)


def shapes(task: str, count: int, split: str = "train") -> GeneratedShapes:
    return GeneratedShapes(split, task, count=count, size=64 if task == "segmentation" else 96)


@pytest.mark.parametrize(("task", "batch_size"), [("classification", 32), ("similarity", 64)])
def test_pictures_of_classes_are_learnt(task, batch_size, tmp_path):
    options = {**PLAIN, "task": task, "batch_size": batch_size, "epochs": 6, "lr": 1e-2}
    data, other = Digits(512), Digits(200, "test")
    result = training.fit(tiny(), data, other, out=tmp_path, **options)
    scores = [row[result.metric] for row in result.history]
    assert len(scores) == 6 and scores[-1] == result.score > max(scores[0], 36.0)
    assert result.history[-1]["train_loss"] < result.history[0]["train_loss"]
    assert json.loads((tmp_path / "history.json").read_text()) == result.history
    state = rl.load(tmp_path / "model.pt")
    assert all(rl.equal(state[key], each) for key, each in result.model.state_dict().items())


def test_things_are_detected(tmp_path):
    rl.manual_seed(0)
    model = models.get_model("shapes_detector", weights="DEFAULT")
    heads.replace_head(model, "detection", 6)
    result = training.fit(
        model, shapes("detection", 96), shapes("detection", 24, "val"), out=tmp_path, epochs=3,
        lr=3e-3, batch_size=8, quiet=True,
    )  # fmt: skip
    assert (result.task, result.metric) == ("detection", "map")
    scores = [row["map"] for row in result.history]
    assert result.score > scores[0] + 5.0 and result.score > 20.0
    assert sorted(result.model([rl.rand(3, 96, 96)])[0]) == ["boxes", "labels", "scores"]
    with pytest.raises(NotImplementedError, match=r"\['onnx'\] of a detection model"):
        training.export(result.model, tmp_path, ["onnx", "state_dict"])


def test_pixels_are_classified(tmp_path):
    model = models.get_model("shapes_segmenter", weights="DEFAULT")
    result = training.finetune(
        model, shapes("segmentation", 64), shapes("segmentation", 24, "val"), epochs=(1, 2),
        out=tmp_path, mean=(0.0,) * 3, std=(1.0,) * 3, image_size=64, batch_size=8, quiet=True,
    )  # fmt: skip
    assert [row["epoch"] for row in result.history] == [0.0, 0.0, 1.0]
    assert result.score > result.history[0]["miou"] and result.score > 40.0
    assert all(each.requires_grad for each in result.model.parameters())
    assert (tmp_path / "head" / "model.pt").exists() and (tmp_path / "all" / "model.pt").exists()


def test_a_resumed_training_is_that_without_a_break(tmp_path):
    options = {
        **PLAIN, "task": "classification", "epochs": 3, "ema": 0.9, "mixup": 0.2, "cutmix": 1.0,
        "label_smoothing": 0.1, "batch_size": 16, "export": (),
    }  # fmt: skip
    data, other = Digits(64), Digits(40, "test")
    whole = training.fit(tiny(), data, other, out=tmp_path / "whole", **options)
    part = training.fit(tiny(), data, other, out=tmp_path / "part", stop_after=1, **options)
    assert len(part.history) == 1 and part.history == whole.history[:1]
    rest = training.fit(tiny(), data, other, out=tmp_path / "part", resume=True, **options)
    assert rest.history == whole.history
    for key, each in whole.model.state_dict().items():
        assert rl.equal(rest.model.state_dict()[key], each), key


class Interrupted(Digits):
    """Digits during whose loading somebody presses Ctrl-C, once."""

    loaded, when = 0, 0

    def __getitem__(self, index: int):
        self.loaded += 1
        if self.loaded == self.when:
            signal.raise_signal(signal.SIGINT)
        return super().__getitem__(index)


@pytest.fixture
def _listening():
    """Ctrl-C counts, also where the tests were started in the background, which ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_listening")
def test_an_interrupted_training_goes_on(tmp_path):
    options = {
        **PLAIN, "task": "classification", "epochs": 2, "ema": 0.9, "mixup": 0.2, "batch_size": 16,
        "export": (), "val_data": Digits(40, "test"),
    }  # fmt: skip
    whole = training.fit(tiny(), Digits(64), out=tmp_path / "whole", **options)
    data = Interrupted(64)
    data.when = 100  # in the second epoch
    with pytest.raises(KeyboardInterrupt, match="interrupted.ckpt"):
        training.fit(tiny(), data, out=tmp_path / "part", **options)
    assert (tmp_path / "part" / "last.ckpt").exists()  # of the first epoch: the newer one counts
    rest = training.fit(tiny(), data, out=tmp_path / "part", resume=True, **options)
    assert data.loaded < 64 + 128  # the first epoch was not trained again
    assert rest.history == whole.history
    for key, each in whole.model.state_dict().items():
        assert rl.equal(rest.model.state_dict()[key], each), key


def test_exports_agree(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model, images = tiny().eval(), rl.rand(1, 1, 28, 28)
    files = training.export(model, tmp_path / "new", ["state_dict", "pt2", "onnx"], images)
    expected = model(images)
    other = tiny().eval()
    other.load_state_dict(rl.load(files["state_dict"]))
    assert rl.equal(other(images), expected)
    from rushlight import export

    program = export.load(files["pt2"]).module()
    assert rl.allclose(program(images), expected, atol=1e-5)
    (found,) = onnxruntime.InferenceSession(str(files["onnx"])).run(None, {"image": images.numpy()})
    assert np.allclose(found, expected.detach().numpy(), atol=1e-5)
    with pytest.raises(ValueError, match=r"formats \['x'\]; expected some of"):
        training.export(model, tmp_path, ["x"])
    with pytest.raises(ValueError, match="example None; expected a batch"):
        training.export(model, tmp_path, ["pt2"])


def test_mixed_precision_and_the_command_line(tmp_path, capsys):
    from PIL import Image

    for split in ("train", "val"):
        for name, color in (("dark", 40), ("light", 210)):
            (tmp_path / "photos" / split / name).mkdir(parents=True)
            for number in range(8):
                picture = Image.new("RGB", (20, 24), (color + number,) * 3)
                picture.save(tmp_path / "photos" / split / name / f"{number}.png")
    words = [
        "classification", "--data", str(tmp_path / "photos"), "--model", "shapes_classifier",
        "--out", str(tmp_path / "out"), "--epochs", "2", "--image-size", "16", "--batch-size", "4",
        "--precision", "bf16-mixed", "--optimizer", "sgd", "--lr", "0.01", "--quiet", "--no-flip",
    ]  # fmt: skip
    assert train.main(words) == 0
    text = capsys.readouterr().out
    assert "split train: 16" in text and "acc@1" in text and "model.pt" in text
    assert train.main([*words, "--resume", str(tmp_path / "none.ckpt")]) == 2
    assert "FileNotFoundError: fit: there is no checkpoint" in capsys.readouterr().err
    (tmp_path / "photos" / "train" / "dark" / "0.png").write_bytes(b"x")
    assert train.main(words) == 2
    assert "dark/0.png: no image that Pillow can read" in capsys.readouterr().err


def test_splits_of_folders_are_used(tmp_path):
    from PIL import Image

    for split, count in (("train", 4), ("val", 3)):
        for name, color in (("dark", 40), ("light", 210)):
            (tmp_path / split / name).mkdir(parents=True)
            for number in range(count):
                Image.new("RGB", (8, 8), (color,) * 3).save(
                    tmp_path / split / name / f"{number}.png"
                )
    for given in (tmp_path, from_folder(tmp_path)):
        data, other, task = data_parts.opened(given, None, None, "raise")
        assert (len(data), len(other), task) == (8, 6, "classification")
    data, other, task = data_parts.opened(from_folder(tmp_path).only("val"), None, None, "raise")
    assert (len(data), other, task) == (6, None, "classification")
    train_part, held = data_parts.loaders(
        data, other, tasks.Classification(training.Settings(), data.classes), training.Settings()
    )
    indices = [*train_part.dataset.indices, *held.dataset.indices]
    assert sorted(indices) == list(range(6)) and len(held.dataset) == 1


@pytest.mark.parametrize("name", ["fasterrcnn_mobilenet_v3_large_320_fpn", "deeplabv3_resnet50"])
def test_models_by_name_fetch_nothing(name, monkeypatch):
    asked = []
    monkeypatch.setattr(models, "get_model", lambda name, **options: asked.append(options))
    fitting.built(name, "segmentation", ["a", "b", "c"])
    assert asked == [{"num_classes": 3, "weights_backbone": None}]


def test_rates_and_averages():
    rates = [module.rate(step, 100, 0.1) for step in range(100)]
    assert rates[0] == pytest.approx(0.1) and rates[10] == max(rates) == 1.0
    assert rates[-1] < 0.01 and rates[55] == pytest.approx(0.5, abs=0.01)
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    average = module.ema_model(model, 0.5)
    average.update_parameters(model)
    nn.init.ones_(model.weight)
    expected = 0.0
    for count in range(1, 8):
        average.update_parameters(model)
        decay = min(0.5, (1 + count) / (10 + count))
        expected = decay * expected + (1 - decay)
    assert float(average.module.weight) == pytest.approx(expected)
    assert not average.module.weight.requires_grad


def test_the_contrastive_loss_is_that_of_the_paper():
    settings = training.Settings(mean=(0.0,), std=(1.0,), temperature=0.5)
    task = tasks.Similarity(settings, ["a", "b"])
    images, labels = rl.rand(6, 1, 4, 4), rl.tensor([0, 0, 0, 1, 1, 5])
    found = task.loss(nn.Flatten(), (images, labels))
    vectors = images.flatten(1).numpy().astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    shares, losses = np.exp(vectors @ vectors.T / 0.5), []
    for i in range(5):  # the sixth has no other of its class
        others = [j for j in range(6) if j != i]
        whole = sum(shares[i, j] for j in others)
        losses.append(np.mean([
            -np.log(shares[i, j] / whole) for j in others if labels[j] == labels[i]
        ]))  # fmt: skip
    assert float(found) == pytest.approx(np.mean(losses), rel=1e-5)


def test_learning_rates_are_found():
    model = tiny()
    pictures = {key: PLAIN[key] for key in ("mean", "std", "image_size")}
    before = [each.clone() for each in model.parameters()]
    found = training.find_learning_rate(
        model,
        Digits(128),
        task="classification",
        steps=20,
        **pictures,
    )
    assert 1e-5 <= found < 1.0
    assert all(rl.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    with pytest.raises(ValueError, match="least 1.0, most 0.1"):
        training.find_learning_rate(model, Digits(8), least=1.0, most=0.1)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"task": "x"}, ValueError, "task 'x'; expected None or one of"),
        ({}, ValueError, "task is None, and the data set does not say"),
        ({"task": "classification", "epoch": 3}, TypeError, r"unknown settings \['epoch'\]"),
        ({"task": "classification", "epochs": 0}, ValueError, "epochs 0; expected 1"),
        ({"task": "classification", "ema": 1.0}, ValueError, "ema 1.0; expected 0 or more"),
        ({"task": "classification", "lr": 0.0}, ValueError, "lr 0.0; expected more than 0"),
        ({"task": "classification", "crop": 0.0}, ValueError, "crop 0.0"),
        ({"task": "classification", "optimizer": "x"}, ValueError, "optimizer 'x'"),
        ({"task": "classification", "resume": True}, FileNotFoundError, "no checkpoint"),
        (
            {"task": "classification", "val_data": GeneratedShapes()},
            ValueError,
            "classes of val_data",
        ),
    ],
)
def test_refusals(options, error, text, tmp_path):
    with pytest.raises(error, match=text):
        training.fit(tiny(), Digits(8), out=tmp_path, **options)


def test_a_missing_trainer_is_named():
    code = (
        "import sys; sys.modules['lightning_lite'] = None\n"
        "import rushlight_vision\n"
        "try: rushlight_vision.training\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'rushlight-vision[train]'" in done.stdout
