"""`gradcheck` of forward mode and of batched passes."""

import pytest

import rushlight
from rushlight.autograd import Function, gradcheck

X = rushlight.tensor([0.3, -1.2, 2.0], dtype=rushlight.float64, requires_grad=True)
ALL = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
}


def test_everything_agrees():
    assert gradcheck(lambda x, y: (x.sin() * y, (x * y).sum()), (X, X.detach() * 2), **ALL)


class Wrong(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.size = inputs[0].shape

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 3


def test_a_wrong_tangent_is_found():
    assert gradcheck(Wrong.apply, (X,), check_batched_grad=True)
    with pytest.raises(RuntimeError, match="tangent of output 0"):
        gradcheck(Wrong.apply, (X,), check_forward_ad=True)
    assert not gradcheck(Wrong.apply, (X,), check_forward_ad=True, raise_exception=False)


def test_nothing_to_check_is_an_error():
    with pytest.raises(AssertionError, match="at least one"):
        gradcheck(Wrong.apply, (X,), check_backward_ad=False)
