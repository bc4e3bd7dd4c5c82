"""All schedules equal PyTorch's over 50 epochs, also when saved and resumed in the middle."""

import copy
import pickle
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")


class Halving:
    """A callable object, whose attributes go into state dicts."""

    def __init__(self):
        self.rate = 0.5

    def __call__(self, epoch):
        return self.rate ** (epoch // 10)


def nested(schedulers, optimizer):
    first = schedulers.SequentialLR(
        optimizer,
        [schedulers.LinearLR(optimizer, 0.1, total_iters=4), schedulers.StepLR(optimizer, 3, 0.7)],
        milestones=[6],
    )
    parts = [first, schedulers.ExponentialLR(optimizer, 0.9)]
    with pytest.warns(UserWarning, match="before `optimizer.step"):  # as PyTorch does
        return schedulers.SequentialLR(optimizer, parts, milestones=[20])


SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, [lambda e: 0.95**e, Halving()]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 if e % 2 else 1.05),
    "step": lambda s, o: s.StepLR(o, 7, gamma=0.5),
    "milestones": lambda s, o: s.MultiStepLR(o, [5, 9, 9, 30], gamma=0.3),
    "constant": lambda s, o: s.ConstantLR(o, factor=0.5, total_iters=30),
    "linear": lambda s, o: s.LinearLR(o, start_factor=0.2, end_factor=0.8, total_iters=30),
    "exponential": lambda s, o: s.ExponentialLR(o, gamma=0.9),
    "polynomial": lambda s, o: s.PolynomialLR(o, total_iters=40, power=1.7),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, T_max=9, eta_min=0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=5, T_mult=2, eta_min=0.001),
    "restarts alike": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=6),
    "triangular": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], step_size_up=4, step_size_down=7),
    "triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=5, mode="triangular2"),
    "exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 6, mode="exp_range", gamma=0.97),
    "scaled": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 6, scale_fn=Halving(), scale_mode="iterations"),
    "one cycle": lambda s, o: s.OneCycleLR(o, max_lr=0.5, total_steps=60),
    "three phases": lambda s, o: s.OneCycleLR(
        o, [0.5, 0.2], epochs=6, steps_per_epoch=10, three_phase=True, anneal_strategy="linear"
    ),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 8), s.CosineAnnealingLR(o, 20), s.StepLR(o, 4)], [8, 25]
    ),
    "nested": nested,
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 8), s.ExponentialLR(o, 0.9)]),
}


def optimizer_of(library, name, lr=0.1, tensor=False):
    weights = [library.ones(2, requires_grad=True) for _ in range(2)]
    rates = [library.tensor(r, dtype=library.float64) if tensor else r for r in (lr, lr / 2)]
    extra = {"momentum": 0.9} if name == "SGD" else {}
    groups = [{"params": [w], "lr": r} for w, r in zip(weights, rates, strict=True)]
    return getattr(library.optim, name)(groups, **extra)


def follow(library, make, name, tensor=False, resumed=False):
    optimizer = optimizer_of(library, name, tensor=tensor)
    schedule = make(library.optim.lr_scheduler, optimizer)
    found = []
    for epoch in range(50):
        if resumed and epoch == 23:
            saved = copy.deepcopy((optimizer.state_dict(), schedule.state_dict()))
            optimizer = optimizer_of(library, name, tensor=tensor)
            schedule = make(library.optim.lr_scheduler, optimizer)
            optimizer.load_state_dict(saved[0])
            schedule.load_state_dict(saved[1])
        found.append([
            (float(g["lr"]), g.get("momentum"), g.get("betas")) for g in optimizer.param_groups
        ])  # fmt: skip
        assert [float(lr) for lr in schedule.get_last_lr()] == [
            float(g["lr"]) for g in optimizer.param_groups
        ]
        optimizer.step()
        schedule.step()
    return found, schedule


def flat(values):
    return [x for epoch in values for group in epoch for x in group if isinstance(x, float)]


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_follow_torch(name):
    kind = "Adam" if name in ("triangular", "one cycle") else "SGD"
    expected, other = follow(torch, SCHEDULES[name], kind)
    found, schedule = follow(rushlight, SCHEDULES[name], kind)
    assert flat(found) == pytest.approx(flat(expected), rel=1e-12)
    assert [g.get("betas") for g in schedule.optimizer.param_groups] == [
        g.get("betas") for g in other.optimizer.param_groups
    ]
    assert schedule.state_dict().keys() == other.state_dict().keys()
    resumed, _ = follow(rushlight, SCHEDULES[name], kind, resumed=True)
    assert flat(resumed) == flat(found)


@pytest.mark.parametrize("name", SCHEDULES)
def test_tensor_rates_are_filled_in_place(name):
    make = SCHEDULES[name]
    expected, _ = follow(torch, make, "SGD", tensor=True)
    optimizer = optimizer_of(rushlight, "SGD", tensor=True)
    held = optimizer.param_groups[0]["lr"]
    schedule = make(rushlight.optim.lr_scheduler, optimizer)
    for epoch in expected:
        assert float(held) == pytest.approx(epoch[0][0], rel=1e-12)
        optimizer.step()
        schedule.step()
    assert optimizer.param_groups[0]["lr"] is held


@pytest.mark.parametrize(
    "name", [n for n in SCHEDULES if n not in ("sequential", "nested", "chained")]
)
def test_epochs_take_closed_forms(name):
    rates = []
    for library in (rushlight, torch):
        optimizer = optimizer_of(library, "SGD")
        schedule = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
        optimizer.step()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            schedule.step(11)
        rates.append((schedule.get_last_lr(), schedule.last_epoch, [w.category for w in seen]))
    assert rates[0][0] == pytest.approx(rates[1][0], rel=1e-12)
    assert rates[0][1:] == rates[1][1:]


def test_last_epoch_resumes_from_the_groups():
    rates = []
    for library in (rushlight, torch):
        optimizer = optimizer_of(library, "SGD")
        with pytest.raises(KeyError, match="initial_lr"):
            library.optim.lr_scheduler.StepLR(optimizer, 3, last_epoch=4)
        for group in optimizer.param_groups:
            group["initial_lr"] = 0.4
        found = []
        for make in (
            lambda s, o: s.StepLR(o, 3, last_epoch=4),
            lambda s, o: s.CosineAnnealingLR(o, 10, last_epoch=4),
            lambda s, o: s.ExponentialLR(o, 0.5, last_epoch=4),
            lambda s, o: s.LinearLR(o, last_epoch=2),
        ):
            schedule = make(library.optim.lr_scheduler, optimizer)
            optimizer.step()
            schedule.step()
            found += schedule.get_last_lr()
        rates.append(found)
    assert rates[0] == pytest.approx(rates[1], rel=1e-12)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
@pytest.mark.parametrize("tensor", [False, True])
def test_plateau_follows_torch(mode, threshold_mode, tensor):
    metrics = [1.0, 0.9, 0.9, 0.9, 0.9, 0.8, 0.8, 0.8, 0.8, 0.8, 1.2, 1.3, 1.3, 1.3, 1.3] * 2
    found = []
    for library in (rushlight, torch):
        options = {"mode": mode, "threshold_mode": threshold_mode, "patience": 2, "cooldown": 1,
                   "min_lr": [0.0, 0.01]}  # fmt: skip
        make = library.optim.lr_scheduler.ReduceLROnPlateau
        made = optimizer_of(library, "SGD", tensor=tensor)
        schedule = make(made, **options)
        rates = []
        for i, metric in enumerate(metrics):
            if i == 9:
                saved, schedule = schedule.state_dict(), make(made, **options)
                schedule.load_state_dict(saved)
            schedule.step(metric)
            rates += [float(g["lr"]) for g in made.param_groups]
        found.append((rates, schedule.state_dict().keys()))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-12)
    assert found[0][1] == found[1][1]


def test_order_of_calls_is_watched():
    optimizer = optimizer_of(rushlight, "SGD")
    schedule = rushlight.optim.lr_scheduler.StepLR(optimizer, 3)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`"):
        schedule.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    optimizer = optimizer_of(rushlight, "SGD")
    schedule = rushlight.optim.lr_scheduler.StepLR(optimizer, 3)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match="overridden"):
        schedule.step()


def test_initial_step_is_marked():
    seen = []

    class Watching(rushlight.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            seen.append((self._is_initial, self.last_epoch, self._step_count))
            return [g["lr"] for g in self.optimizer.param_groups]

    optimizer = optimizer_of(rushlight, "SGD")
    schedule = Watching(optimizer)
    optimizer.step()
    schedule.step()
    assert seen == [(True, 0, 1), (False, 1, 2)]


def test_state_dicts_are_pickled_and_cross_over():
    for name in ("cosine", "triangular", "sequential", "milestones"):
        _, other = follow(torch, SCHEDULES[name], "SGD")
        optimizer = optimizer_of(rushlight, "SGD")
        schedule = SCHEDULES[name](rushlight.optim.lr_scheduler, optimizer)
        schedule.load_state_dict(pickle.loads(pickle.dumps(other.state_dict())))
        assert schedule.last_epoch == other.last_epoch == 50
        assert schedule.get_last_lr() == other.get_last_lr()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda s, o: s.StepLR(None, 3), TypeError),
        (lambda s, o: s.ConstantLR(o, factor=2), ValueError),
        (lambda s, o: s.LinearLR(o, start_factor=0), ValueError),
        (lambda s, o: s.LinearLR(o, end_factor=2), ValueError),
        (lambda s, o: s.LambdaLR(o, [abs]), ValueError),
        (lambda s, o: s.MultiplicativeLR(o, 3), TypeError),
        (lambda s, o: s.CosineAnnealingWarmRestarts(o, 0), ValueError),
        (lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 1.5), ValueError),
        (lambda s, o: s.CosineAnnealingWarmRestarts(o, 1).step(-1), ValueError),
        (lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="square"), ValueError),
        (lambda s, o: s.CyclicLR(o, [0.1], 0.2), ValueError),
        (lambda s, o: s.OneCycleLR(o, 0.1), ValueError),
        (lambda s, o: s.OneCycleLR(o, 0.1, total_steps=-3), ValueError),
        (lambda s, o: s.OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=1.5), ValueError),
        (lambda s, o: s.OneCycleLR(o, 0.1, total_steps=3, pct_start=1), ValueError),
        (lambda s, o: s.OneCycleLR(o, 0.1, total_steps=3, anneal_strategy="x"), ValueError),
        (lambda s, o: s.ReduceLROnPlateau(o, factor=1.0), ValueError),
        (lambda s, o: s.ReduceLROnPlateau(o, mode="x"), ValueError),
        (lambda s, o: s.ReduceLROnPlateau(o, min_lr=[1]), ValueError),
        (lambda s, o: s.ChainedScheduler([]), ValueError),
        (lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]), ValueError),
        (lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [3]), ValueError),
        (lambda s, o: s.SequentialLR(o, [3], []), TypeError),
    ],
)
def test_bad_settings_are_refused(make, error):
    for library in (torch, rushlight):
        with pytest.raises(error):
            make(library.optim.lr_scheduler, optimizer_of(library, "SGD"))
