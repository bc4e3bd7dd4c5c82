"""Every optimizer against PyTorch: trajectories, state dicts, dtypes, copies, recorded steps."""

import copy
import pickle

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

CASES = [
    ("RMSprop", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.1, "weight_decay": 0.1}),
    ("Adadelta", {"lr": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("NAdam", {"momentum_decay": 6e-3, "maximize": True}),
    ("RAdam", {"weight_decay": 0.1}),
    ("RAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1, "betas": (0.8, 0.9)}),
    ("ASGD", {"weight_decay": 0.1, "t0": 5.0}),
    ("Rprop", {"etas": (0.4, 1.3)}),
    ("Adafactor", {"weight_decay": 0.1}),
    ("Muon", {"lr": 0.02}),
    ("LBFGS", {"max_iter": 3, "history_size": 2}),
    ("LBFGS", {"max_iter": 4, "line_search_fn": "strong_wolfe"}),
    ("SGD", {"momentum": 0.9}),
    ("Adam", {"amsgrad": True}),
]
NAMES = [f"{name}-{i}" for i, (name, _) in enumerate(CASES)]
REAL_ONLY = ("Muon", "Adafactor")


def begin(library, name, options, dtype="float64"):
    rng = np.random.default_rng(0)
    kind = getattr(library, dtype)
    params = []
    for shape in [(4, 3), (3, 5)] if name == "Muon" else [(4, 3), (3,), ()]:
        values = rng.standard_normal(shape)
        values = values + 1j * values[..., ::-1] if kind.is_complex and shape else values
        params.append(library.tensor(values, dtype=kind).requires_grad_())
    return params, getattr(library.optim, name)(params, **options)


def go(library, params, optimizer, steps):
    def closure():
        optimizer.zero_grad()
        loss = 0
        for i, p in enumerate(params):
            p = library.view_as_real(p) if p.is_complex() else p
            loss = loss + ((p - 0.3 * i) ** 2).sum() * (0.5 + i) + (3 * p).cos().sum() * 0.2
        loss.backward()
        return loss

    for _ in range(steps):
        if type(optimizer).__name__ == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    return [p.detach() for p in params]


def same(found, expected, bound):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=NAMES)
def test_parameters_follow_torch(name, options, dtype):
    if dtype == "complex128" and name in REAL_ONLY:
        params, optimizer = begin(rushlight, name, options, dtype)
        with pytest.raises(RuntimeError, match="does not support complex"):
            go(rushlight, params, optimizer, 1)
        return
    runs = [go(lib, *begin(lib, name, options, dtype), 20) for lib in (rushlight, torch)]
    same(*runs, 2e-4 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize(("name", "options"), CASES, ids=NAMES)
def test_state_dicts_cross_over(name, options):
    ours, theirs = begin(rushlight, name, options), begin(torch, name, options)
    go(rushlight, *ours, 5)
    go(torch, *theirs, 5)
    own, other = ours[1].state_dict(), theirs[1].state_dict()
    assert own["param_groups"] == other["param_groups"]
    assert {k: set(v) for k, v in own["state"].items()} == {
        k: set(v) for k, v in other["state"].items()
    }
    resumed, params = [], [p.detach().numpy() for p in ours[0]]
    for library, state in ((rushlight, carried(other, rushlight)), (torch, carried(own, torch))):
        again = begin(library, name, options)
        with library.no_grad():
            for p, value in zip(again[0], params, strict=True):
                p.copy_(library.tensor(value))
        again[1].load_state_dict(state)
        resumed.append(go(library, *again, 5))
    same(*resumed, 1e-9)
    same(go(rushlight, *ours, 5), resumed[0], 1e-9)


def carried(value, library):
    if isinstance(value, dict):
        return {k: carried(v, library) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(carried(v, library) for v in value)
    return library.tensor(value.numpy()) if hasattr(value, "numpy") else value


@pytest.mark.parametrize(("name", "options"), CASES, ids=NAMES)
def test_copies_go_on_alike(name, options):
    made = begin(rushlight, name, options, "float32")
    go(rushlight, *made, 3)
    others = [copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    expected = go(rushlight, *made, 3)
    for other in others:
        same(go(rushlight, *other, 3), expected, 0)


@pytest.mark.parametrize(("name", "options"), [c for c in CASES if c[0] != "LBFGS"])
def test_bfloat16_stays_close(name, options):
    found = go(rushlight, *begin(rushlight, name, options, "bfloat16"), 5)
    expected = go(rushlight, *begin(rushlight, name, options, "float32"), 5)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype is rushlight.bfloat16
        assert float((a.float() - b).abs().max()) < 0.05 * max(1.0, float(b.abs().max()))


RECORDED = [c for c in CASES if c[0] not in ("LBFGS", "Muon", "Adafactor")]


@pytest.mark.parametrize(("name", "options"), RECORDED)
def test_recorded_steps_are_the_plain_steps_and_have_derivatives(name, options):
    rng = np.random.default_rng(1)
    start = rushlight.tensor(rng.standard_normal((4, 3)), requires_grad=True)
    grads = [rushlight.tensor(rng.standard_normal((4, 3)), requires_grad=True) for _ in range(3)]

    def after(first, gradients, recorded):
        p = first.clone() if recorded else first.detach().clone()
        make = getattr(rushlight.optim, name)
        optimizer = make([p], **options, differentiable=recorded)
        for g in gradients:
            p.grad = g
            optimizer.step()
        return p

    result = after(start, grads, True)
    plain = after(start, [g.detach() for g in grads], False)
    np.testing.assert_allclose(result.detach().numpy(), plain.numpy(), rtol=1e-6, atol=1e-9)
    found = rushlight.autograd.grad(result.sum(), [start, *grads], allow_unused=True)
    for place in (0, 2):  # the first gradient enters the momentum detached, as in PyTorch
        move = rushlight.tensor(rng.standard_normal((4, 3))) * 1e-6
        ends = []
        for sign in (1, -1):
            values = [t.detach().clone() for t in (start, *grads)]
            values[place] += sign * move
            ends.append(float(after(values[0], values[1:], False).sum()))
        slope = 0.0 if found[place] is None else float((found[place] * move).sum())
        assert slope == pytest.approx((ends[0] - ends[1]) / 2, rel=2e-4, abs=1e-11)


def test_rates_and_decays_can_be_learned():
    results = []
    for library in (rushlight, torch):
        rate = library.tensor(0.1, dtype=library.float64, requires_grad=True)
        first = library.ones(3, dtype=library.float64, requires_grad=True)
        p = first.clone()
        decay = library.tensor(0.2, dtype=library.float64, requires_grad=True)
        optimizer = library.optim.SGD([p], lr=rate, weight_decay=decay, differentiable=True)
        for _ in range(2):
            (p.grad,) = library.autograd.grad((p.clone() ** 3).sum(), p, create_graph=True)
            optimizer.step()
        results.append(
            [float(g.sum()) for g in library.autograd.grad((p**2).sum(), [rate, decay, first])]
        )
    assert results[0] == pytest.approx(results[1], rel=1e-6)


def test_rare_optimizers_are_imported_at_need():
    assert set(torch.optim.__all__) == set(rushlight.optim.__all__)
    assert all(hasattr(rushlight.optim, name) for name in torch.optim.__all__)
    assert set(torch.optim.lr_scheduler.__all__) <= set(rushlight.optim.lr_scheduler.__all__)
    assert set(torch.optim.swa_utils.__all__) == set(rushlight.optim.swa_utils.__all__)
    with pytest.raises(AttributeError, match="Adam2"):
        rushlight.optim.Adam2  # noqa: B018 - the access is what is tested


def test_sparse_adam_takes_dense_parameters_only():
    for library in (rushlight, torch):
        sparse = library.zeros(3, layout=library.sparse_coo)
        for given in ([sparse], [{"params": [sparse]}]):
            with pytest.raises(ValueError, match="SparseAdam requires dense parameter tensors"):
                library.optim.SparseAdam(given)
