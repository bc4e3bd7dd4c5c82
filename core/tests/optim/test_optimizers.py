"""Whole optimizations agree with PyTorch step by step, and state dicts cross over."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.3}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "amsgrad": True, "betas": (0.8, 0.95)}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.05, "amsgrad": True, "maximize": True}),
]


def run(library, name, options, steps, dtype="float32"):
    start = np.random.default_rng(0).standard_normal((4, 3))
    w = library.tensor(start, dtype=getattr(library, dtype), requires_grad=True)
    b = library.ones(3, dtype=getattr(library, dtype), requires_grad=True)
    optimizer = getattr(library.optim, name)([w, b], **options)
    for i in range(steps):
        optimizer.zero_grad()
        loss = ((w * w).sum() + (w.sum(0) * b).sum() * (i + 1) * 0.1 + (b**4).sum()) * 0.1
        loss.backward()
        optimizer.step()
    return w, b, optimizer


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_parameters_follow_torch(name, options, dtype):
    ours, theirs = run(rushlight, name, options, 7, dtype), run(torch, name, options, 7, dtype)
    for a, b in zip(ours[:2], theirs[:2], strict=True):
        tolerance = 2e-6 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(
            a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize(("name", "options"), CASES)
def test_state_dict_has_torchs_keys_and_values(name, options):
    ours, theirs = (run(lib, name, options, 3)[2].state_dict() for lib in (rushlight, torch))
    assert ours["param_groups"] == theirs["param_groups"]
    assert ours["state"].keys() == theirs["state"].keys()
    for number, state in theirs["state"].items():
        assert ours["state"][number].keys() == state.keys()
        for key, value in state.items():
            assert str(ours["state"][number][key].dtype).split(".")[1] == str(value.dtype)[6:]
            np.testing.assert_allclose(ours["state"][number][key].numpy(), value, rtol=1e-5)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_resumed_optimizer_goes_on_bit_for_bit(name, options):
    w, b, first = run(rushlight, name, options, 4)
    copies = [t.detach().clone().requires_grad_() for t in (w, b)]
    second = getattr(rushlight.optim, name)(copies, **options)
    second.load_state_dict(first.state_dict())
    for p, q in zip((w, b), copies, strict=True):
        p.grad = rushlight.ones_like(p) * 0.3
        q.grad = rushlight.ones_like(q) * 0.3
    first.step()
    second.step()
    for p, q in zip((w, b), copies, strict=True):
        assert (p == q).all()


def test_writes_count_as_versions():
    w = rushlight.ones(2, requires_grad=True)
    y = (w * w).sum()
    w.grad = rushlight.ones(2)
    rushlight.optim.SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda o: o.SGD([], lr=0.1), "empty parameter list"),
        (lambda o: o.SGD([rushlight.ones(1)], lr=-1), "Invalid learning rate: -1"),
        (lambda o: o.Adam([rushlight.ones(1)], betas=(1.0, 0.9)), "Invalid beta parameter"),
        (lambda o: o.SGD([rushlight.ones(1)], nesterov=True), "Nesterov momentum requires"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make(rushlight.optim)


SCHEDULES = [
    ("StepLR", {"step_size": 2, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 5], "gamma": 0.3}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 3}),
    ("LinearLR", {"start_factor": 0.2, "total_iters": 5}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 0.95**epoch}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 12}),
    (
        "OneCycleLR",
        {"max_lr": 0.5, "total_steps": 12, "three_phase": True, "anneal_strategy": "linear"},
    ),
]


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize(("name", "options"), SCHEDULES)
def test_schedules_follow_torch(name, options, optimizer):
    rates = []
    for library in (rushlight, torch):
        weight = library.ones(2, requires_grad=True)
        extra = {"momentum": 0.9} if optimizer == "SGD" else {}
        made = getattr(library.optim, optimizer)([weight], lr=0.1, **extra)
        schedule = getattr(library.optim.lr_scheduler, name)(made, **options)
        found = []
        for _ in range(11):
            group = made.param_groups[0]
            found.append((group["lr"], group.get("momentum"), group.get("betas")))
            made.step()
            schedule.step()
        rates.append((found, schedule.state_dict().keys()))
    assert rates[0] == rates[1]


def test_plateau_follows_torch():
    metrics = [1.0, 0.9, 0.9, 0.9, 0.9, 0.8, 0.8, 0.8, 0.8, 0.8]
    found = []
    for library in (rushlight, torch):
        made = library.optim.SGD([library.ones(1, requires_grad=True)], lr=0.1)
        schedule = library.optim.lr_scheduler.ReduceLROnPlateau(made, patience=2, cooldown=1)
        rates = []
        for metric in metrics:
            schedule.step(metric)
            rates.append(made.param_groups[0]["lr"])
        found.append(rates)
    assert found[0] == found[1]
