"""Checkpointed parts of a model, and derivatives of whole functions."""

import pytest

import rushlight
import rushlight.autograd.functional as derivatives
from rushlight import nn
from rushlight.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def gradients(model, x, reentrant):
    model.zero_grad()
    x.grad = None
    rushlight.manual_seed(5)
    hidden = x * 2
    out = model(hidden) if reentrant is None else checkpoint(
        model, hidden, use_reentrant=reentrant
    )  # fmt: skip
    noise = rushlight.randn(2)
    (out * noise).sum().backward()
    return [noise, x.grad, *(p.grad.clone() for p in model.parameters())]


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradients_and_random_numbers_are_those_without(reentrant):
    rushlight.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    x = rushlight.randn(3, 4, requires_grad=True)
    expected = gradients(model, x, None)
    found = gradients(model, x, reentrant)
    assert all(rushlight.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_closures_keywords_structures_and_second_derivatives():
    weight = rushlight.randn(4, requires_grad=True)
    inner = weight.exp()

    def part(v, scale=1.0):
        return {"out": [(v * inner * scale).sin().sum(), 3]}

    plain = part(rushlight.ones(4), scale=2.0)["out"][0]
    result = checkpoint(part, rushlight.ones(4), scale=2.0, use_reentrant=False)
    assert result["out"][1] == 3
    both = []
    for value in (plain, result["out"][0]):
        (first,) = rushlight.autograd.grad(value, weight, create_graph=True)
        (second,) = rushlight.autograd.grad(first.sum(), weight, retain_graph=True)
        both.append((first, second))
    for ours, expected in zip(both[1], both[0], strict=True):
        rushlight.testing.assert_close(ours, expected)


def test_the_part_runs_twice_and_hooks_once():
    weight = rushlight.ones(3, requires_grad=True)
    runs, hooked = [], []
    weight.register_hook(lambda grad: hooked.append(1))

    def part():
        runs.append(1)
        return (weight * weight).sum()

    checkpoint(part, use_reentrant=False).backward()
    assert len(runs) == 2 and hooked == [1] and weight.grad.tolist() == [2, 2, 2]
    checkpoint(lambda: runs.append(1) or (weight * 2).sum(), use_reentrant=False).backward()
    assert len(runs) == 3 and hooked == [1, 1]  # nothing was saved: there is nothing to compute


def test_a_part_that_changes_is_an_error():
    x = rushlight.ones(3, requires_grad=True)
    runs = []

    def part(v):
        runs.append(1)
        return (v if len(runs) == 1 else v[:2]).exp().sin()

    out = checkpoint(part, x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="different metadata"):
        out.sum().backward()


def test_a_written_input_is_an_error():
    x = rushlight.ones(3, requires_grad=True)
    y = rushlight.ones(3)
    out = checkpoint(lambda a, b: a * b, x, y, use_reentrant=False)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_arguments_are_checked():
    x = rushlight.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoint(lambda a: a * 2, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: b"):
        checkpoint(lambda a, b: a, x, b=1, use_reentrant=True)
    with pytest.warns(UserWarning, match="None of the inputs"):
        checkpoint(lambda a: a * 2, x.detach(), use_reentrant=True)
    with pytest.raises(ValueError, match="2 modules cannot make 3"):
        checkpoint_sequential(nn.Sequential(nn.ReLU(), nn.ReLU()), 3, x, use_reentrant=False)


def test_autocast_is_restored_for_the_second_run():
    model, x = nn.Linear(4, 4), rushlight.randn(2, 4, requires_grad=True)
    seen = []

    def part(v):
        out = model(v)
        seen.append(out.dtype)
        return out.sin()

    with rushlight.autocast("cpu"):
        out = checkpoint(part, x, use_reentrant=False)
    out.float().sum().backward()
    assert seen == [rushlight.bfloat16] * 2 and x.grad is not None


def test_sequential_parts():
    rushlight.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(5)))
    x = rushlight.randn(2, 4, requires_grad=True)
    model(x).sum().backward()
    expected, x.grad = x.grad, None
    checkpoint_sequential(model, 2, x, use_reentrant=False).sum().backward()
    rushlight.testing.assert_close(x.grad, expected)


CALLS = {
    "jacobian": ("jacobian", lambda t: t.exp(), 1, False),
    "jacobian of tuples": ("jacobian", lambda a, b: ((a * b.sum()).sin(), (b**3).sum()), 2, False),
    "hessian": ("hessian", lambda t: (t**3).sum() * t[0], 1, False),
    "hessian of tuples": ("hessian", lambda a, b: (a**2 * b.sum()).sum(), 2, False),
    "vjp": ("vjp", lambda t: t.sin() * 2, 1, True),
    "jvp": ("jvp", lambda t: t.sin() * 2, 1, True),
    "jvp of tuples": ("jvp", lambda a, b: a * b, 2, True),
    "hvp": ("hvp", lambda t: (t**3).sum() * t[0], 1, True),
    "vhp": ("vhp", lambda a, b: (a**3 * b).sum(), 2, True),
    "independent": ("jvp", lambda a, b: a * 2, 2, True),
}


def flat(value):
    if isinstance(value, tuple):
        return [x for item in value for x in flat(item)]
    return [value.tolist()]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_derivatives_are_pytorchs(name):
    real = pytest.importorskip("torch")
    method, function, count, vector = CALLS[name]
    results = []
    for torch, module in ((rushlight, derivatives), (real, real.autograd.functional)):
        inputs = tuple(
            torch.tensor([0.5, 1.0, -0.3], dtype=torch.float64) * (i + 1) for i in range(count)
        )
        v = tuple(x + 1 for x in inputs)
        inputs, v = (inputs, v) if count > 1 else (inputs[0], v[0])
        results.append(flat(getattr(module, method)(function, inputs, *([v] if vector else []))))
    for ours, theirs in zip(*results, strict=True):
        rushlight.testing.assert_close(rushlight.tensor(ours), rushlight.tensor(theirs))


def test_derivatives_can_be_differentiated():
    x = rushlight.tensor([1.0, 2.0], requires_grad=True)
    found = derivatives.jacobian(lambda t: t**3, x, create_graph=True)
    found.sum().backward()
    rushlight.testing.assert_close(x.grad, rushlight.tensor([6.0, 12.0]))


def test_derivatives_check_their_arguments():
    x = rushlight.ones(2)
    with pytest.raises(RuntimeError, match="single element"):
        derivatives.vjp(lambda t: t * 2, x)
    with pytest.raises(RuntimeError, match=r"v\[0\] has shape \[3\]"):
        derivatives.jvp(lambda t: t * 2, x, rushlight.ones(3))
    with pytest.raises(RuntimeError, match="independent of input 1"):
        derivatives.jacobian(lambda a, b: a * 2, (x, x), strict=True)
    with pytest.raises(RuntimeError, match="single Tensor with a single element"):
        derivatives.hessian(lambda t: t * 2, x)
    with pytest.raises(NotImplementedError, match="only implemented for `vectorize=True`"):
        derivatives.jacobian(lambda t: t, x, strategy="forward-mode")
