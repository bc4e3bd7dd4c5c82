"""Losses of differences with a weight for each element."""

import pytest

import rushlight

F = rushlight.nn.functional
NAMES = ["mse_loss", "l1_loss", "huber_loss"]
VALUES = [[1.0, -2.0, 5.0], [0.5, 3.0, 0.0]], [[0.0, 0.5, 0.0]] * 2, [[1.0, 2.0, 4.0], [0, 3, 1]]


def of(library):
    input, target, weight = map(library.tensor, VALUES)
    return input.requires_grad_(), target, weight.requires_grad_()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_pytorchs(name, reduction):
    torch, found = pytest.importorskip("torch"), []
    for library in (rushlight, torch):
        input, target, weight = of(library)
        loss = getattr(library.nn.functional, name)(
            input, target, weight=weight, reduction=reduction
        )
        loss.sum().backward()
        found.append([each.tolist() for each in (loss.detach(), input.grad, weight.grad)])
    for ours, theirs in zip(*found, strict=True):
        rushlight.testing.assert_close(rushlight.tensor(ours), rushlight.tensor(theirs))


def test_the_mean_is_over_the_weights():
    input, target, weight = rushlight.tensor([1.0, 2.0, 5.0]), rushlight.zeros(3), [1.0, 2.0, 4.0]
    weight = rushlight.tensor(weight)
    assert F.mse_loss(input, target, weight=weight).item() == pytest.approx(109 / 7)
    assert F.l1_loss(input, target, weight=weight).item() == pytest.approx(25 / 7)
    assert F.huber_loss(input, target, weight=weight).item() == pytest.approx(21.5 / 3)


@pytest.mark.parametrize("name", NAMES)
def test_errors(name):
    loss, x = getattr(F, name), rushlight.ones(2, 3)
    with pytest.raises(ValueError, match="Weights and input must have the same size"):
        loss(x, x, weight=rushlight.ones(3))
    with pytest.raises(ValueError, match="median"):
        loss(x, x, weight=x, reduction="median")


@pytest.mark.parametrize("name", NAMES)
def test_exports(name):
    class Model(rushlight.nn.Module):
        def forward(self, x, y, weight):
            return getattr(F, name)(x, y, weight=weight)

    args = of(rushlight)
    program = rushlight.export.export(Model(), args)
    rushlight.testing.assert_close(program.module()(*args), Model()(*args))
