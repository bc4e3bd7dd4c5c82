"""Metrics of all validation at once are fastai's, and what a Learner reports."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_overlaps.json").read_text())
_spec = importlib.util.spec_from_file_location("overlaps", FOLDER / "fastai_overlaps.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)


@pytest.mark.parametrize("name", program.NAMES)
def test_overlaps_are_fastais(name):
    metric = getattr(easy, name)()
    for output, target in program.batches(rl, 4 if "Multi" in name else 2):
        metric.update(output, target)
    assert metric.compute() == pytest.approx(RECORDED[name], abs=1e-6)
    metric.reset()
    assert math.isnan(metric.compute())


def test_a_learner_gathers(tmp_path):
    generator = rl.Generator().manual_seed(1)
    x = rl.rand(22, 1, 4, 4, generator=generator)
    y = (x[:, 0] > 0.7).long()
    data = DataLoader(TensorDataset(x, y), batch_size=5)
    model = nn.Conv2d(1, 2, 1)
    learn = easy.Learner(
        (data, data), model, nn.CrossEntropyLoss(), path=tmp_path, enable_progress_bar=False,
        metrics=[easy.Dice(), easy.JaccardCoeffMulti(), easy.foreground_acc],
    )  # fmt: skip
    with rl.no_grad():
        model.weight.copy_(rl.tensor([[[[0.0]]], [[[1.0]]]]))
        model.bias.copy_(rl.tensor([0.0, -0.5]))
    learn.fit(2, 0.0)
    taken = x[:, 0] > 0.5
    both, sums = float((taken & (y == 1)).sum()), float(taken.sum() + y.sum())
    assert learn.recorder.names[2:] == ["dice", "jaccard_coeff_multi", "foreground_acc"]
    for values in learn.recorder.values:
        assert values[2] == pytest.approx(2 * both / sums, abs=1e-6), "each epoch begins anew"
    assert learn.validate()[1] == pytest.approx(2 * both / sums, abs=1e-6)
    again = easy.load_learner(learn.export(), model=model, enable_progress_bar=False)
    assert again.validate(data) == pytest.approx(learn.validate())


def test_perplexity():
    metric, x = easy.Perplexity(), rl.randn(4, 6, 5)
    y = rl.randint(0, 5, (4, 6))
    metric.update(x[:, :4], y[:, :4])
    metric.update(x[:, 4:], y[:, 4:])
    expected = nn.functional.cross_entropy(x.reshape(-1, 5), y.reshape(-1)).exp()
    assert metric.compute() == pytest.approx(float(expected), rel=1e-5)
    assert float(metric(x, y)) == pytest.approx(float(expected), rel=1e-5)


def test_constants():
    change = easy.Resize(8, easy.ResizeMethod.Pad, easy.PadMode.Border)
    assert change.method == "pad" and change.pad_mode == "border"
    assert easy.Normalize.from_stats(*easy.imagenet_stats).mean.shape == (3, 1, 1)


def test_misuse_is_named():
    with pytest.raises(ValueError, match=r"dice: outputs of shape \(2, 2, 3\)"):
        easy.Dice().update(rl.zeros(2, 2, 3), rl.zeros(2, 4))
