"""User-written functions."""

import pytest

import rushlight
from rushlight.autograd import Function, gradcheck, gradgradcheck
from rushlight.autograd.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x


class SplitSum(Function):
    @staticmethod
    def forward(x, y, scale):
        return x * scale + y, x - y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.scale = inputs[2]

    @staticmethod
    def backward(ctx, first, second):
        return first * ctx.scale + second, first - second, None


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad * 2


def double(*shape):
    return rushlight.rand(*shape, dtype=rushlight.float64).requires_grad_()


def test_gradients_to_second_order():
    assert gradcheck(Cube.apply, (double(3),))
    assert gradgradcheck(Cube.apply, (double(3),))


def test_two_outputs_in_the_new_style():
    def call(x, y):
        return SplitSum.apply(x, y, 3.0)

    assert gradcheck(call, (double(3), double(3)))


def test_missing_gradients_arrive_as_zeros():
    x, y = double(3), double(3)
    first, _ = SplitSum.apply(x, y, 3.0)
    first.sum().backward()
    assert x.grad.tolist() == [3.0] * 3 and y.grad.tolist() == [1.0] * 3


def test_node_and_leaf_rules():
    out = Cube.apply(double(2))
    assert out.grad_fn.name() == "CubeBackward" and not out.is_leaf
    assert not Cube.apply(rushlight.ones(2)).requires_grad


def test_once_differentiable_refuses_second_order():
    x = double(2)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        rushlight.autograd.grad(Once.apply(x).sum(), [x], create_graph=True)


def test_wrong_number_of_gradients():
    class Bad(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = double(2)
    with pytest.raises(RuntimeError, match="incorrect number of gradients.*expected 2, got 1"):
        Bad.apply(x, x).sum().backward()


def test_saved_tensors_are_checked_for_writes():
    x = double(2) * 1
    y = Cube.apply(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
