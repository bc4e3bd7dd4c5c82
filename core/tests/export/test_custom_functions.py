"""Custom autograd functions in captured and traced programs: their forward's calls."""

from __future__ import annotations

import pytest

import rushlight
import rushlight.export
from rushlight import jit, nn
from rushlight.fx.experimental.proxy_tensor import make_fx


class Scaled(rushlight.autograd.Function):
    """With a context, and a number among the arguments."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x.exp() * k

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.exp() * ctx.k, None


class Pair(rushlight.autograd.Function):
    """With a context that is set up afterwards, and two results."""

    @staticmethod
    def forward(x):
        return x.sin(), x.cos()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*output)

    @staticmethod
    def backward(ctx, first, second):
        sin, cos = ctx.saved_tensors
        return first * cos - second * sin


class Net(nn.Module):
    """Both, behind a layer."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(2, 2)

    def forward(self, x):
        sin, cos = Pair.apply(self.line(x))
        return Scaled.apply(sin, 2) + cos


@pytest.fixture
def model():
    rushlight.manual_seed(0)
    return Net()


def test_captured_and_traced_values(model):
    x, other = rushlight.rand(3, 2), rushlight.rand(3, 2)
    program = rushlight.export.export(model, (x,))
    names = [n.target.__name__ for n in program.graph.nodes if n.op == "call_function"]
    assert names == ["linear", "sin", "cos", "exp", "mul", "add"]
    for found in (program.module(), jit.trace(model, (x,)), make_fx(model)(x)):
        assert rushlight.equal(found(other), model(other))


def test_gradients_are_those_of_the_calls(model):
    x = rushlight.rand(3, 2)
    model(x).sum().backward()
    expected = model.line.weight.grad.clone()
    program = rushlight.export.export(model, (x,)).module()
    program(x).sum().backward()
    weight = dict(program.named_parameters())["line.weight"]
    found = weight.grad if weight is not model.line.weight else weight.grad - expected
    assert rushlight.allclose(found, expected)
