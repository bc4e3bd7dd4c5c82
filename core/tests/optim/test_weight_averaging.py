"""Averaged models, batch-norm updates and the rates of stochastic weight averaging."""

import copy

import numpy as np
import pytest

import rushlight
from rushlight.optim import swa_utils

torch = pytest.importorskip("torch")


def model(library, seed=0):
    nn, made = library.nn, None
    made = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).double()
    rng = np.random.default_rng(seed)
    with library.no_grad():
        for p in made.parameters():
            p.copy_(library.tensor(rng.standard_normal(tuple(p.shape))))
    return made


def averaged(library, options, use_buffers=False):
    source = model(library)
    mean = library.optim.swa_utils.AveragedModel(
        source, use_buffers=use_buffers, **options(library)
    )
    rng = np.random.default_rng(1)
    for _ in range(4):
        with library.no_grad():
            for p in source.parameters():
                p += library.tensor(rng.standard_normal(tuple(p.shape)))
        source(library.tensor(rng.standard_normal((5, 3))))
        mean.update_parameters(source)
    return mean, source


@pytest.mark.parametrize(
    "options",
    [
        lambda lib: {},
        lambda lib: {"avg_fn": lib.optim.swa_utils.get_ema_avg_fn(0.8)},
        lambda lib: {"avg_fn": lib.optim.swa_utils.get_swa_avg_fn()},
        lambda lib: {"multi_avg_fn": lib.optim.swa_utils.get_ema_multi_avg_fn(0.8)},
        lambda lib: {"multi_avg_fn": lib.optim.swa_utils.get_swa_multi_avg_fn()},
        lambda lib: {"avg_fn": lambda mean, value, n: mean * 0.5 + value / (n + 2)},
    ],
)
def test_averages_follow_torch(options):
    found, expected = averaged(rushlight, options)[0], averaged(torch, options)[0]
    own, other = found.state_dict(), expected.state_dict()
    assert list(own) == list(other)
    for key, value in other.items():
        np.testing.assert_allclose(own[key].numpy(), value.numpy(), rtol=1e-6, err_msg=key)
    assert own["n_averaged"].dtype is rushlight.int64
    assert int(own["n_averaged"]) == 4


def test_buffers_are_averaged_on_request():
    def options(library):
        return {"avg_fn": library.optim.swa_utils.get_ema_avg_fn(0.5)}

    for use_buffers in (False, True):
        found, source = averaged(rushlight, options, use_buffers)
        expected, _ = averaged(torch, options, use_buffers)
        mean = found.module[1].running_mean
        np.testing.assert_allclose(mean.numpy(), expected.module[1].running_mean.numpy(), rtol=1e-9)
        assert bool((mean == source[1].running_mean).all()) is not use_buffers


def test_averaged_model_is_a_module():
    mean, source = averaged(rushlight, lambda lib: {})
    again = swa_utils.AveragedModel(model(rushlight, 5))
    again.load_state_dict(mean.state_dict())
    x = rushlight.rand(3, 3, dtype=rushlight.float64)
    assert bool((again.eval()(x) == copy.deepcopy(mean).eval()(x)).all())
    assert all(p.requires_grad for p in mean.parameters())
    assert all(a is not b for a, b in zip(mean.parameters(), source.parameters(), strict=True))


def test_batch_norms_are_computed_anew():
    stats = []
    batches = np.random.default_rng(3).standard_normal((4, 6, 3))
    for library in (rushlight, torch):
        made = model(library).eval()
        loader = [(library.tensor(b), 1) if i % 2 else library.tensor(b)
                  for i, b in enumerate(batches)]  # fmt: skip
        library.optim.swa_utils.update_bn(loader, made)
        assert not made.training
        assert made[1].momentum == 0.1
        stats.append([made[1].running_mean.numpy(), made[1].running_var.numpy()])
    np.testing.assert_allclose(stats[0], stats[1], rtol=1e-9)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 5])
def test_rates_follow_torch(strategy, epochs):
    found = []
    for library in (rushlight, torch):
        weights = [library.ones(1, requires_grad=True) for _ in range(2)]
        optimizer = library.optim.SGD([{"params": [weights[0]]}, {"params": [weights[1]], "lr": 1}],
                                      lr=0.1)  # fmt: skip
        base = library.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        schedule = library.optim.swa_utils.SWALR(optimizer, [0.05, 0.5], epochs, strategy)
        rates = []
        for epoch in range(12):
            optimizer.step()
            (base if epoch < 3 else schedule).step()
            rates += [g["lr"] for g in optimizer.param_groups]
        found.append((rates, schedule.state_dict().keys()))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-12)
    assert found[0][1] == found[1][1]


def test_bad_settings_are_refused():
    optimizer = rushlight.optim.SGD([rushlight.ones(1)], lr=0.1)
    with pytest.raises(ValueError, match="decay value 2"):
        swa_utils.get_ema_avg_fn(2)
    with pytest.raises(ValueError, match="anneal_strategy"):
        swa_utils.SWALR(optimizer, 0.1, anneal_strategy="x")
    with pytest.raises(ValueError, match="anneal_epochs"):
        swa_utils.SWALR(optimizer, 0.1, anneal_epochs=-1)
    with pytest.raises(AssertionError, match="Only one"):
        swa_utils.AveragedModel(model(rushlight), avg_fn=max, multi_avg_fn=max)
