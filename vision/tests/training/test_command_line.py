"""The command line trains on every layout of folders."""

from __future__ import annotations

import json

import layouts
import pytest

import rushlight as rl
from rushlight_vision import models

pytest.importorskip("lightning_lite")

from rushlight_vision import train

SMALL = ["--epochs", "2", "--batch-size", "2", "--image-size", "32", "--quiet"]
CASES = {
    "classification": (layouts.classification, "shapes_classifier", "acc@1"),
    "detection-coco": (layouts.coco, "shapes_detector", "map"),
    "detection-voc": (layouts.voc, "shapes_detector", "map"),
    "detection-yolo": (layouts.yolo, "shapes_detector", "map"),
    "segmentation": (layouts.masks, "shapes_segmenter", "miou"),
    "similarity": (layouts.classification, "shapes_classifier", "recall@1"),
}


@pytest.mark.parametrize("name", CASES)
def test_layouts(name, tmp_path, capsys):
    make, model, metric = CASES[name]
    make(tmp_path / "data")
    task, out = name.split("-")[0], tmp_path / "out"
    words = [task, "--data", str(tmp_path / "data"), "--model", model, "--out", str(out), *SMALL]
    assert train.main(words) == 0, capsys.readouterr().err
    text = capsys.readouterr().out
    assert "split train" in text and f"state_dict: {out / 'model.pt'}" in text
    history = json.loads((out / "history.json").read_text())
    assert [row["epoch"] for row in history] == [0.0, 1.0]
    assert all(0.0 <= row[metric] <= 100.0 for row in history)
    count = {"classification": 2, "similarity": 64}.get(task, 3)
    models.get_model(model, num_classes=count).load_state_dict(rl.load(out / "model.pt"))


def test_finetuning(tmp_path, capsys):
    layouts.classification(tmp_path / "data")
    words = [
        "classification", "--data", str(tmp_path / "data"), "--model", "shapes_classifier",
        "--finetune", "--out", str(tmp_path / "out"), "--ema", "0.9", "--precision", "16-mixed",
        "--export", "state_dict", "onnx", *SMALL,
    ]  # fmt: skip
    assert train.main(words) == 0, capsys.readouterr().err
    assert f"onnx: {tmp_path / 'out' / 'all' / 'model.onnx'}" in capsys.readouterr().out
    assert train.main([*words, "--resume"]) == 2
    assert "are of trainings in one part" in capsys.readouterr().err


def test_unknown_words_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        train.main(["sorting", "--data", str(tmp_path), "--model", "resnet18"])
    assert "invalid choice: 'sorting'" in capsys.readouterr().err
    layouts.classification(tmp_path / "data")
    words = ["classification", "--data", str(tmp_path / "data"), "--model"]
    assert train.main([*words, "nothing"]) == 2
    assert "Unknown model nothing" in capsys.readouterr().err
    assert train.main([*words, "resnet18", "--epochs", "0"]) == 2
    assert "epochs 0; expected 1" in capsys.readouterr().err
    assert train.main(["detection", *words[1:], "resnet18"]) == 2
    assert "no known layout for detection" in capsys.readouterr().err


def test_pictures_are_loaded_by_workers(tmp_path, capsys):
    layouts.masks(tmp_path / "data")
    words = [
        "segmentation", "--data", str(tmp_path / "data"), "--model", "shapes_segmenter",
        "--workers", "1", "--out", str(tmp_path / "out"), *SMALL,
    ]  # fmt: skip
    assert train.main(words) == 0, capsys.readouterr().err
