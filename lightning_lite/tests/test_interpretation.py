"""Metrics of batches, and what a classifier takes for what."""

from __future__ import annotations

import pytest

import rushlight as rl
from lightning_lite import easy
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset

OUTPUTS = rl.tensor(
    [[3.0, 0, 0], [0, 2.0, 0], [0, 0, 1.0], [2.0, 1, 0], [0, 5.0, 1], [1.0, 0, 0.5]]
)
TARGETS = rl.tensor([0, 1, 2, 1, 0, 0])


@pytest.fixture
def told():
    losses = nn.functional.cross_entropy(OUTPUTS, TARGETS, reduction="none")
    return easy.ClassificationInterpretation(OUTPUTS, TARGETS, losses, ["a", "b", "c"])


def test_metrics():
    assert float(easy.accuracy(OUTPUTS, TARGETS)) == pytest.approx(4 / 6)
    assert float(easy.error_rate(OUTPUTS, TARGETS)) == pytest.approx(2 / 6)
    assert float(easy.top_k_accuracy(OUTPUTS, TARGETS, k=2)) == pytest.approx(5 / 6)
    labels = rl.tensor([[1, 0], [1, 1]])
    assert float(easy.accuracy_multi(rl.tensor([[2.0, -1], [-3, 4]]), labels)) == 0.75
    assert float(easy.accuracy_multi(rl.tensor([[0.9, 0.6]]), labels[:1], 0.7, False)) == 1.0
    assert float(easy.mse(rl.tensor([1.0, 3.0]), rl.tensor([0.0, 1.0]))) == 2.5
    assert float(easy.mae(rl.tensor([1.0, 3.0]), rl.tensor([0.0, 1.0]))) == 1.5
    pixels = OUTPUTS.t().reshape(1, 3, 6)
    assert float(easy.foreground_acc(pixels, TARGETS.reshape(1, 6))) == pytest.approx(2 / 3)


def test_confusion(told):
    assert told.confusion_matrix().tolist() == [[2, 1, 0], [1, 1, 0], [0, 0, 1]]
    shares = told.confusion_matrix(normalize=True)
    assert shares[0].tolist() == pytest.approx([2 / 3, 1 / 3, 0.0])
    assert told.most_confused() == [("a", "b", 1), ("b", "a", 1)]
    assert told.most_confused(min_val=2) == []
    values, positions = told.top_losses(2)
    assert positions.tolist() == [4, 3] and values[0] > values[1]
    assert told.top_losses(1, largest=False)[1].tolist() == [0]
    report = told.report()
    assert report["a"] == pytest.approx(
        {"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3, "support": 3}
    )
    assert report["c"]["f1"] == 1.0
    with pytest.raises(ValueError, match="2 names for 3"):
        easy.ClassificationInterpretation(OUTPUTS, TARGETS, TARGETS, ["a", "b"])


def test_scores_are_those_of_scikit_learn(told):
    metrics = pytest.importorskip("sklearn.metrics")
    targets, decoded = TARGETS.numpy(), told.decoded.numpy()
    assert told.confusion_matrix().tolist() == metrics.confusion_matrix(targets, decoded).tolist()
    f1 = metrics.f1_score(targets, decoded, average=None)
    assert [row["f1"] for row in told.report().values()] == pytest.approx(list(f1))


def test_from_a_learner(tmp_path):
    generator = rl.Generator().manual_seed(1)
    x = rl.randn(30, 3, generator=generator)
    target = x.argmax(1)
    data = DataLoader(TensorDataset(x, target), batch_size=8)
    learn = easy.Learner(
        (data, data),
        nn.Linear(3, 3),
        nn.CrossEntropyLoss(),
        metrics=[easy.accuracy, easy.named(easy.top_k_accuracy, "top2", k=2)],
        path=tmp_path,
        enable_progress_bar=False,
    )
    learn.fit(3, 0.1)
    told = easy.ClassificationInterpretation.from_learner(learn)
    assert learn.recorder.names[2:] == ["accuracy", "top2"]
    right = float(told.confusion_matrix().diagonal().sum())
    assert right / 30 == pytest.approx(learn.validate()[1])
    assert float(told.losses.mean()) == pytest.approx(learn.validate()[0], rel=1e-5)
    assert learn.module.loss_func.reduction == "mean"
    learn.module.loss_func.__dict__.pop("reduction")
    with pytest.raises(TypeError, match="no `reduction`"):
        easy.ClassificationInterpretation.from_learner(learn)


def test_pictures(told):
    pytest.importorskip("matplotlib").use("agg")
    axes = told.plot_confusion_matrix(normalize=True)
    assert [each.get_text() for each in axes.texts][:3] == ["0.67", "0.33", "0.00"]
    assert [each.get_text() for each in axes.get_xticklabels()] == ["a", "b", "c"]
    data = [(rl.rand(3, 4, 4), 0)] * 5 + [(rl.rand(1, 4, 4), 0)]
    figure = told.plot_top_losses(data, k=4)
    titles = [each.get_title() for each in figure.axes]
    assert titles[0].startswith("b / a / 5.0") and len(titles) == 6 and titles[5] == ""


def test_what_a_learner_knows(tmp_path, capsys):
    """Names of classes and samples come from the Learner's data."""
    table = {"size": [0.0, 1.0] * 30, "kind": ["small", "large"] * 30}
    dls = easy.TabularDataLoaders.from_df(
        table, cont_names=["size"], y_names="kind", valid_idx=[0, 1, 2], bs=8
    )
    learn = easy.tabular_learner(dls, layers=[4], path=tmp_path, enable_progress_bar=False)
    told = easy.ClassificationInterpretation.from_learner(learn)
    assert told.vocab == ["large", "small"] and told.dataset is learn.valid_dl.dataset
    assert told.confusion_matrix().sum(1).tolist() == [1, 2]
    told.print_classification_report()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["class", "precision", "recall", "f1", "support"]
    assert [line.split()[0] for line in lines[1:]] == ["large", "small"]
    assert lines[2].split()[-1] == "2"


def test_pictures_of_a_learner(tmp_path):
    pytest.importorskip("matplotlib")
    x, y = rl.rand(12, 1, 4, 4), rl.arange(12) % 2
    data = rl.utils.data.DataLoader(rl.utils.data.TensorDataset(x, y), batch_size=4)
    net = rl.nn.Sequential(rl.nn.Flatten(), rl.nn.Linear(16, 2))
    learn = easy.Learner(
        (data, data), net, rl.nn.CrossEntropyLoss(), path=tmp_path, enable_progress_bar=False
    )
    told = easy.ClassificationInterpretation.from_learner(learn)
    shown = [axes for axes in told.plot_top_losses(4, columns=2).axes if axes.get_title()]
    assert len(shown) == 4
    worst = float(told.top_losses(1)[0])
    assert shown[0].get_title().endswith(f"{worst:.2f}")
    with pytest.raises(TypeError, match="dataset is a NoneType"):
        easy.ClassificationInterpretation(told.outputs, told.targets, told.losses).plot_top_losses(
            k=2
        )
