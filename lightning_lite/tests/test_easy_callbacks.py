"""fastai's callbacks: gradients limited and added, statistics of activations, the losses drawn."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.errors import MisconfigurationException
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset


def data(size=8, shuffle=False):
    rl.manual_seed(1)
    x = rl.randn(24, 3)
    made = TensorDataset(x, x.sum(1, keepdim=True) * 3)
    return tuple(DataLoader(made, batch_size=size, shuffle=shuffle) for _ in range(2))


def learner(tmp_path, cbs=None, size=8, **options):
    rl.manual_seed(2)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4), nn.Linear(4, 1))
    options = {"opt_func": rl.optim.SGD, "cbs": cbs, "path": tmp_path} | options
    return easy.Learner(
        data(size), model, nn.MSELoss(), enable_progress_bar=False, accelerator="cpu", **options
    )


class Norms(easy.GradientClip):
    """Notes the norm of the gradients behind the limit."""

    seen: list = []

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        super().on_before_optimizer_step(trainer, pl_module, optimizer)
        grads = [p.grad.flatten() for p in pl_module.parameters() if p.grad is not None]
        self.seen.append(rl.cat(grads).norm(self.norm_type).item())


@pytest.mark.parametrize("power", [2.0, float("inf")])
def test_norms_of_gradients_are_limited(tmp_path, power):
    Norms.seen = []
    learner(tmp_path, Norms(0.01, power)).fit(1, 0.1)
    np.testing.assert_allclose(Norms.seen, [0.01] * 3, rtol=1e-3)
    with pytest.raises(ValueError, match="max_norm=0"):
        easy.GradientClip(0)


def test_gradients_of_several_batches_are_added(tmp_path):
    whole = learner(tmp_path, size=24)
    parts = learner(tmp_path, easy.GradientAccumulation(24))
    for each in (whole, parts):
        each.model[2] = nn.Identity()  # statistics of batches depend on their size
        each.fit(2, 0.05)
    assert parts.trainer.global_step == 2
    for one, other in zip(parts.model.parameters(), whole.model.parameters(), strict=True):
        rl.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    assert parts.trainer.accumulate_grad_batches == 1
    with pytest.raises(MisconfigurationException, match="n_acc=20 is no multiple"):
        learner(tmp_path, easy.GradientAccumulation(20)).fit(1, 0.1)
    with pytest.raises(ValueError, match="n_acc=0"):
        easy.GradientAccumulation(0)


def test_statistics_of_activations(tmp_path):
    stats = easy.ActivationStats(with_hist=True)
    made = learner(tmp_path, stats)
    outputs = []
    made.model[0].register_forward_hook(
        lambda module, given, out: outputs.append(out.detach().numpy()) if module.training else None
    )
    made.fit(2, 0.01)
    assert stats.modules == [made.model[0], made.model[2], made.model[3]]
    assert len(stats.stats) == 6 == len(outputs)
    means, deviations, zeros = stats.layer_stats(0)
    np.testing.assert_allclose(means, [out.mean() for out in outputs], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(deviations, [out.std(ddof=1) for out in outputs], rtol=1e-5)
    np.testing.assert_allclose(zeros, [(out <= 0.05).mean() for out in outputs], rtol=1e-6)
    bins = [np.histogram(out, 40, (0, 10))[0] for out in outputs]
    np.testing.assert_allclose(stats.hist(0).numpy(), np.log1p(np.array(bins).T), rtol=1e-5)
    assert not made.model[2]._forward_hooks and len(made.model[0]._forward_hooks) == 1


def test_statistics_of_some_layers_and_batches(tmp_path):
    made = learner(tmp_path)
    stats = easy.ActivationStats(modules=[made.model[1]], every=2)
    made.fit(2, 0.01, cbs=stats)
    assert len(stats.stats) == 3 and len(stats.stats[0]) == 1
    with pytest.raises(TypeError, match="with_hist=True"):
        stats.hist(0)
    with pytest.raises(ValueError, match="every=0"):
        easy.ActivationStats(every=0)
    every = easy.ActivationStats(include_paramless=True)
    made.fit(1, 0.01, cbs=every)
    assert len(every.modules) == 4


def test_pictures(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    plt.close("all")  # what other tests left open
    stats, graph = easy.ActivationStats(with_hist=True), easy.ShowGraph()
    made = learner(tmp_path, [stats, graph])
    made.fit(2, 0.01)
    assert graph.losses == made.recorder.losses and len(graph.values) == 2
    assert plt.imread(tmp_path / "losses.png").shape[2] == 4
    assert not plt.get_fignums()  # closed behind itself
    figure = stats.plot_layer_stats(1)
    drawn = [ax.lines[0].get_ydata().tolist() for ax in figure.axes]
    assert drawn == stats.layer_stats(1)
    assert stats.color_dim(0).images[0].get_array().shape == (40, 6)
    plt.close("all")
    other = easy.ShowGraph(tmp_path / "deep" / "mine.png")
    made.fit(1, 0.01, cbs=other)
    assert (tmp_path / "deep" / "mine.png").is_file()
