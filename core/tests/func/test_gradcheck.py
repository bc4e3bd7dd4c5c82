"""`gradcheck`: full Jacobians and random directions, forward mode, batched passes."""

import inspect

import pytest

import rushlight
from rushlight.autograd import Function, gradcheck, gradgradcheck

torch = pytest.importorskip("torch")

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


def test_every_entry_is_compared_by_default():
    class Off(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 + rushlight.tensor([0, 0, 1.0]).double() * grad[0]

    with pytest.raises(
        RuntimeError, match="Jacobian mismatch for output 0.*with respect to input 0"
    ):
        gradcheck(Off.apply, (X,))


@pytest.mark.parametrize("fast", [True, False])
def test_complex_inputs_and_outputs(fast):
    z = rushlight.tensor([0.3 + 1j, -1.2 - 0.4j], dtype=rushlight.complex128, requires_grad=True)

    def several(z):
        return z * z, z.conj().exp(), z.abs()

    assert gradcheck(several, z, fast_mode=fast)
    assert gradgradcheck(several, z, fast_mode=fast, gen_non_contig_grad_outputs=True)


@pytest.mark.parametrize("fast", [True, False])
def test_outputs_that_record_nothing_must_not_change(fast):
    assert gradcheck(lambda x: x.detach() * 0, X, fast_mode=fast)
    with pytest.raises(RuntimeError, match="no output requires grad"):
        gradcheck(lambda x: x.detach() * 2, X, fast_mode=fast)


@pytest.mark.parametrize("fast", [True, False])
def test_passes_that_differ_are_found(fast):
    class Shaking(Function):
        calls = 0

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            Shaking.calls += 1
            return grad * (2 + 1e-7 * Shaking.calls)

    with pytest.raises(RuntimeError, match="not reentrant"):
        gradcheck(Shaking.apply, X, fast_mode=fast)
    assert gradcheck(Shaking.apply, X, fast_mode=fast, nondet_tol=1e-5)


def test_undefined_gradients_count_as_zero():
    class Careless(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return (1.0 if first is None else first) * 2 + (0 if second is None else second * 3)

    assert gradcheck(Careless.apply, X, check_undefined_grad=False, fast_mode=True)
    with pytest.raises(RuntimeError, match="undefined"):
        gradcheck(Careless.apply, X, fast_mode=True)
    assert gradcheck(lambda x: x.unbind()[1:], X)


def test_inputs_that_share_elements_are_moved_one_by_one():
    shared = rushlight.tensor([0.5], dtype=rushlight.float64).expand(3).requires_grad_()
    assert gradcheck(lambda x: x.sin(), shared)


def test_inputs_that_cannot_be_checked():
    with pytest.raises(ValueError, match="at least one input tensor"):
        gradcheck(lambda x: x, X.detach())
    with pytest.warns(UserWarning, match="input 0 requires gradient and is of dtype"):
        gradcheck(lambda x: x * 2, X.detach().float().requires_grad_(), eps=1e-2, rtol=1e-2)


def test_signatures_are_those_of_pytorch():
    for own, theirs in (
        (gradcheck, torch.autograd.gradcheck),
        (gradgradcheck, torch.autograd.gradgradcheck),
    ):
        own, theirs = inspect.signature(own).parameters, inspect.signature(theirs).parameters
        assert [(n, p.default, p.kind) for n, p in own.items()] == [
            (n, p.default, p.kind) for n, p in theirs.items()
        ]


def test_forward_over_reverse_by_itself():
    x = X
    assert gradgradcheck(lambda t: t**3, (x,), check_fwd_over_rev=True)
    alone = {"check_fwd_over_rev": True, "check_rev_over_rev": False}
    assert gradgradcheck(lambda t: t**3, (x,), check_undefined_grad=False, **alone)
    with pytest.raises(AssertionError, match="check_undefined_grad=True requires"):
        gradgradcheck(lambda t: t**3, (x,), **alone)
    with pytest.raises(AssertionError, match="at least one of check_fwd_over_rev"):
        gradgradcheck(lambda t: t**3, (x,), check_rev_over_rev=False)


def test_checks_that_need_another_one():
    x = X
    with pytest.raises(AssertionError, match="requires check_forward_ad"):
        gradcheck(rushlight.sin, (x,), check_batched_forward_grad=True)
    with pytest.raises(AssertionError, match="requires check_backward_ad"):
        gradcheck(
            rushlight.sin, (x,), check_batched_grad=True, check_backward_ad=False,
            check_forward_ad=True,
        )  # fmt: skip
    assert gradcheck(rushlight.sin, (x,), masked=True)
    with pytest.raises(NotImplementedError, match="sparse tensors"):
        gradcheck(rushlight.sparse.sum, (x.detach().to_sparse().requires_grad_(),), masked=True)
