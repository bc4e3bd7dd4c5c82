"""Programs that ask for gradients themselves, recorded by make_fx, beside PyTorch's values."""

import numpy as np
import pytest

import rushlight
from rushlight.fx.experimental.proxy_tensor import make_fx

torch = pytest.importorskip("torch")


def programs(library):
    grad, functional = library.autograd.grad, library.nn.functional

    def detached(x):
        y = x.detach().requires_grad_()
        return grad((y * y).sum(), y)[0]

    def in_place(x):
        y = x * 2
        y.requires_grad_()
        return grad((y.sin() * y).sum(), [y])[0] + y.detach()

    def made(x):
        weight = library.ones(3, requires_grad=True)
        (found,) = grad((x * weight).pow(2).sum(), weight)
        return weight.detach() - 0.1 * found

    def twice(x):
        y = x.detach().requires_grad_()
        (first,) = grad((y**3).sum(), y, create_graph=True)
        return first.detach(), grad(first.sum(), y)[0]

    def backward(x):
        y, z = (x.detach().requires_grad_() for _ in range(2))
        (y * z).sum().backward()
        (y * 2).sum().backward()
        return y.grad, z.grad

    def layers(x):
        y = x.clone().requires_grad_()
        out = functional.linear(functional.layer_norm(y, (3,)), library.ones(2, 3)).tanh()
        return x - 0.1 * grad((out * out).sum(), y)[0]

    def several(x):
        parts = [library.zeros(3).requires_grad_() for _ in range(3)]
        loss = ((x + parts[0]) * (1 + parts[1])).sum()
        found = grad(loss, parts, allow_unused=True)
        return tuple(v for v in found if v is not None)

    return (detached, in_place, made, twice, backward, layers, several)


def leaves(value):
    return value if isinstance(value, tuple | list) else (value,)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("at", range(7))
def test_values(at, mode):
    ours, theirs = programs(rushlight)[at], programs(torch)[at]
    x = rushlight.arange(6.0).reshape(2, 3) / 3 + 0.2
    module = make_fx(ours, tracing_mode=mode)(x.clone())
    for value in (x, x * -1.5):
        expected = leaves(theirs(torch.tensor(value.numpy())))
        for found in (module(value.clone()), ours(value.clone())):
            for mine, other in zip(leaves(found), expected, strict=True):
                assert not mine.requires_grad
                np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def test_numbers_that_have_no_gradients_are_refused():
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype"):
        make_fx(lambda x: x.detach().requires_grad_())(rushlight.arange(3))


def test_transforms_inside_are_asked_for_gradients_themselves():
    program = rushlight.func.vmap(lambda x: x.detach().requires_grad_().sum())
    with pytest.raises((RuntimeError, NotImplementedError)):
        make_fx(program)(rushlight.ones(2, 3))
