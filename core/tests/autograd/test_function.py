"""User-written functions."""

import weakref

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
    (first,) = rushlight.autograd.grad((Once.apply(x) ** 2).sum(), [x], create_graph=True)
    assert first.requires_grad  # what is not differentiated again is no error
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


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


class Doubled(Function):
    """Doubles its input in place."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(2))
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_a_view_written_to_gives_its_history_to_the_tensor_it_views():
    x = double(4)
    whole = x * 1
    part = whole[:2]
    assert Doubled.apply(part) is part
    whole.sum().backward()
    assert x.grad.tolist() == [2, 2, 1, 1]
    assert part.grad_fn is not None


def test_a_leaf_must_not_be_written_to():
    for written in (double(2), double(4)[:2]):
        with pytest.raises(RuntimeError, match="leaf Variable"):
            Doubled.apply(written)


def test_outputs_that_are_no_tensors():
    class Several(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "label", None

        @staticmethod
        def backward(ctx, grad, label, nothing):
            assert label is nothing is None
            return grad * 2

    x = double(2)
    out, label, nothing = Several.apply(x)
    assert (label, nothing) == ("label", None)
    out.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_the_node_shows_the_context_and_frees_what_it_saved():
    class Noting(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.factor = 3
            ctx.save_for_backward(x * 1)
            return x * 3

        @staticmethod
        def backward(ctx, grad):
            assert len(ctx.saved_tensors) == 1
            return grad * ctx.factor

    x = double(2)
    out = Noting.apply(x)
    (saved,) = out.grad_fn.saved_tensors
    assert out.grad_fn.factor == 3
    assert saved.tolist() == x.tolist()
    gone = weakref.ref(saved)
    del saved
    out.sum().backward()
    assert gone() is None  # though `out` and its node are still here
    with pytest.raises(RuntimeError, match="second time"):
        _ = out.grad_fn.saved_tensors
    with pytest.raises(AttributeError, match="other"):
        _ = out.grad_fn.other


def test_the_former_name_of_tensors_has_its_metaclass():
    from rushlight.autograd.variable import Variable, VariableMeta

    assert type(Variable) is VariableMeta and isinstance(rushlight.ones(2), Variable)
    assert not isinstance(2.0, Variable)
