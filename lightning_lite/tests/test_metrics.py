"""Metrics are fastai's and scikit-learn's, for many arguments, ties, and absent classes."""

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
RECORDED = json.loads((FOLDER / "fastai_metrics.json").read_text())
_spec = importlib.util.spec_from_file_location("metrics_program", FOLDER / "fastai_metrics.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)


def close(value):
    return pytest.approx(value, rel=1e-5, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("name", sorted({case[0] for case in program.CASES.values()}))
def test_values_are_fastais(name):
    of_name = {case: each for case, each in program.CASES.items() if each[0] == name}
    for case, (_, options, kind) in of_name.items():
        called, expected = RECORDED[case]
        metric = getattr(easy, name)(**options)
        for output, target in program.batches(rl, kind):
            metric.update(output, target)
        if called == "ValueError":
            with pytest.raises(ValueError, match=f"^{metric.name}: "):
                metric.compute()
            continue
        assert metric.name == called
        found = metric.compute()
        found = found.tolist() if isinstance(found, rl.Tensor) else found
        assert found == close(expected), case


@pytest.mark.parametrize("name", program.FUNCTIONS)
def test_functions_of_a_batch_are_fastais(name):
    call, options = getattr(easy, name), program.OPTIONS.get(name, {})
    found = [float(call(*each, **options)) for each in program.batches(rl, program.FUNCTIONS[name])]
    assert found == close(RECORDED[name])


@pytest.mark.parametrize("number", range(len(program.SEARCHES)))
def test_searches_are_fastais(number):
    name, kind, bounds, options = program.SEARCHES[number]
    metric = easy.optim_metric(getattr(program, name), "thresh", bounds, **options)
    assert metric(*program.data(rl, kind)) == close(RECORDED[f"search {number}"])
    assert metric.__name__ == f"opt_{name}"


def test_a_finer_search_is_closer():
    def apart(outputs, targets, x):
        return (x - 1 / 3) ** 2

    for tol in (0.1, 1e-4):
        metric = easy.optim_metric(apart, "x", (0.0, 1.0), tol=tol, do_neg=False, get_x=True)
        assert metric(None, None)[1] == pytest.approx(1 / 3, abs=tol)


@pytest.mark.parametrize("name", ["RocAucMulti", "APScoreMulti", "F1ScoreMulti"])
def test_outputs_that_are_shares(name):
    output, target = program.data(rl, "labels")
    found = getattr(easy, name)(sigmoid=False)(output.sigmoid(), target)
    assert float(found) == close(float(getattr(easy, name)()(output, target)))


def test_all_labels_are_one_problem():
    output, target = program.data(rl, "labels")
    flat = easy.MatthewsCorrCoefMulti()(output.reshape(-1, 1), target.reshape(-1, 1))
    weights = [1.0] * len(output)
    found = easy.MatthewsCorrCoefMulti(sample_weight=weights)(output, target)
    assert float(found) == close(float(flat)) and abs(float(flat)) > 0.01


def test_shares_of_labels_have_a_brier_score():
    output, target = program.data(rl, "labels")
    expected = (output.sigmoid() - target).square().sum(1).mean()
    assert float(easy.BrierScoreMulti(thresh=None)(output, target)) == close(float(expected))


def test_any_function_is_a_metric():
    def most(targets, outputs, power=1):
        return (abs(targets - outputs) ** power).max()

    metric = easy.skm_to_fastai(most, is_class=False, power=2, name="worst")
    for output, target in program.batches(rl, "numbers"):
        metric.update(output, target)
    output, target = program.data(rl, "numbers")
    assert metric.compute() == close(float((output - target).abs().max()) ** 2)
    shares = easy.AccumMetric(lambda outputs, targets: outputs.sum(), 1, "softmax", flatten=False)
    assert float(shares(*program.data(rl, "four"))) == close(16.0)


class Parts(nn.Module):
    """A loss of two parts, which it keeps."""

    def forward(self, output, target):
        self.near = (output - target).abs().mean()
        self.far = (output - target).square().mean()
        return self.near + self.far


def test_a_learner_tells_them(tmp_path):
    x = rl.tensor([[float(number)] for number in range(7)])
    data = DataLoader(TensorDataset(x, 2 * x), batch_size=3)
    metrics = [*easy.LossMetrics("near,far", "a,b"), easy.rmse, easy.R2Score(), easy.msle]
    model = nn.Linear(1, 1)
    learn = easy.Learner(
        (data, data), model, Parts(), path=tmp_path, metrics=metrics, enable_progress_bar=False
    )
    with rl.no_grad():
        model.weight.fill_(1.0), model.bias.fill_(0.0)
    learn.fit(1, 0.0)
    assert learn.recorder.names[2:] == ["a", "b", "_rmse", "r2_score", "msle"]
    near, far = float(x.mean()), float(x.square().mean())
    told = learn.recorder.values[0][2:]
    assert told[:3] == close([near, far, far**0.5])
    assert told[3] == close(1 - far / (4 * float(x.var(unbiased=False))))
    assert learn.validate()[1:] == close(told), "every time anew"


def test_metrics_are_exported(tmp_path):
    x = rl.tensor([[0.5, -0.5], [-1.0, 1.0], [0.2, 0.1], [0.3, 0.4]])
    data = DataLoader(TensorDataset(x, rl.tensor([0, 1, 1, 0])), batch_size=3)
    metrics = [
        easy.FBeta(2.0, average="macro"), easy.RocAucBinary(), easy.exp_rmspe, easy.CohenKappa(),
        easy.SpearmanCorrCoef(dim_argmax=-1), easy.CorpusBLEUMetric(axis=2), easy.LossMetric("a"),
    ]  # fmt: skip
    model = nn.Linear(2, 2)
    learn = easy.Learner((data, data), model, nn.CrossEntropyLoss(), path=tmp_path, metrics=metrics)
    again = easy.load_learner(learn.export(), model=model, enable_progress_bar=False)
    made = again.module.metrics
    assert [each.name for each in made] == [each.name for each in metrics]
    for old, new in zip(metrics[:2], made[:2], strict=True):
        assert float(new(x, rl.tensor([0, 1, 1, 0]))) == float(old(x, rl.tensor([0, 1, 1, 0])))


def test_nothing_gathered():
    for metric in (easy.F1Score(), easy.R2Score(), easy.RocAucMulti()):
        with pytest.raises(ValueError, match=f"{metric.name}: nothing was gathered"):
            metric.compute()
        metric.update(rl.zeros(0, 2), rl.zeros(0, *[2] * (not metric.flatten)))
        with pytest.raises(ValueError, match="nothing was gathered"):
            metric.compute()
    assert math.isnan(easy.CorpusBLEUMetric().compute())


def test_misuse_is_named():
    with pytest.raises(ValueError, match=r"mse: outputs of shape \(4, 1\) and targets of shape"):
        easy.mse(rl.zeros(4, 1), rl.zeros(3))
    with pytest.raises(ValueError, match=r"f1_score: outputs of shape \(4,\)"):
        easy.F1Score().update(rl.zeros(4, 2), rl.zeros(3))
    with pytest.raises(ValueError, match="sample_weight has 2 weights; expected one for each of"):
        easy.F1Score(sample_weight=[1, 2])(rl.zeros(4, 2), rl.zeros(4))
    with pytest.raises(ValueError, match="average='most'"):
        easy.F1Score(average="most")(rl.zeros(4, 2), rl.zeros(4))
    with pytest.raises(ValueError, match="activation='relu'; expected one of"):
        easy.AccumMetric(easy.mse, activation="relu")
    with pytest.raises(TypeError, match="func is 3"):
        easy.AccumMetric(3)
    with pytest.raises(ValueError, match=r"bounds=\(2, 1\)"):
        easy.optim_metric(easy.mse, "x", (2, 1))
    with pytest.raises(ValueError, match="nms has 1 names; expected 2"):
        easy.LossMetrics("a,b", ["c"])
    with pytest.raises(AttributeError, match="has no attribute 'kl'"):
        easy.LossMetric("kl")(rl.zeros(2), rl.zeros(2))
    with pytest.raises(ValueError, match="RocAuc: multi_class='all'"):
        easy.RocAuc(multi_class="all")
    with pytest.raises(ValueError, match="weights='cubic'"):
        easy.CohenKappa(weights="cubic")(rl.zeros(4, 2), rl.zeros(4))
