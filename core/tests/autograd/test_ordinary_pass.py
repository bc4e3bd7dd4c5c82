"""The short pass and the general one: same gradients, who takes which, nothing copied in vain."""

import pytest

import rushlight
from rushlight.autograd import accumulation, engine, ordinary_pass


@pytest.fixture
def passes(monkeypatch):
    """What `ordinary_pass` answered."""
    found = []

    def watched(*args):
        found.append(ordinary_pass.ordinary_pass(*args))
        return found[-1]

    monkeypatch.setattr(engine, "ordinary_pass", watched)
    return found


def leaves():
    rushlight.manual_seed(0)
    return [rushlight.randn(3, 4, requires_grad=True) for _ in range(2)]


def parts(x, y):
    """Broadcasting, several outputs, one leaf often, an output nobody uses."""
    a, b, _ = (x * y + x).split(1)
    value, _ = rushlight.max(x.tanh() * b.sum(), 1)
    return (a * value.unsqueeze(1) + y[:, 0].unsqueeze(1)).exp().mean() + y.norm()


def general(result):
    """Gradients by the general pass: a hook that changes nothing waits at the root."""
    result.register_hook(lambda grad: None)
    result.backward()


def test_both_passes_give_the_same_gradients(passes):
    found = []
    for run in (general, lambda result: result.backward()):
        x, y = leaves()
        run(parts(x, y))
        found.append((x.grad, y.grad))
    assert passes == [False, True]
    for one, other in zip(*found, strict=True):
        assert one.equal(other) and one.abs().sum() > 0


def test_who_takes_the_general_pass(passes):
    class Twice(rushlight.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    def hooked(x):
        x.register_hook(lambda grad: grad * 3)
        return x.exp()

    def posted(x):
        x.register_post_accumulate_grad_hook(lambda leaf: setattr(leaf, "grad", leaf.grad * 0))
        return x.exp()

    def noted(x):
        out = x.exp()
        out.grad_fn.register_hook(lambda pieces, grads: (pieces[0] * 3,))
        return out

    for make, factor in ((Twice.apply, 2), (hooked, 3), (noted, 3), (posted, 0)):
        x = rushlight.zeros(2, requires_grad=True)
        make(x).sum().backward()
        assert passes.pop() is False, make
        assert x.grad.tolist() == [factor, factor]
    x = rushlight.zeros(2, requires_grad=True)
    x.exp().sum().backward(create_graph=True)
    assert x.grad.requires_grad and not passes
    x.exp().sum().backward()
    assert passes == [True]


def test_saved_values_go_unless_they_are_retained():
    x = rushlight.ones(2, requires_grad=True)
    out = x.exp().sum()
    out.backward(retain_graph=True)
    out.backward()
    assert x.grad.tolist() == pytest.approx([2 * 2.718281828] * 2)
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()


def test_a_failing_node_leaves_recording_as_it_was():
    x = rushlight.ones(2, requires_grad=True)
    out = x.exp()
    with rushlight.no_grad():
        out.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.sum().backward()
    assert rushlight.is_grad_enabled()


def test_first_gradients_are_taken_over(monkeypatch):
    copies = []
    real = accumulation._copied
    monkeypatch.setattr(accumulation, "_copied", lambda *given: copies.append(1) or real(*given))
    x, y = leaves()
    ((x * y + x).tanh() * y).backward(rushlight.ones(3, 4))
    assert not copies
    w = rushlight.randn(100, 100, requires_grad=True)  # large enough to lie on a cache line
    (w * 2 + w.exp()).backward(rushlight.ones(100, 100))
    assert not copies and w.grad.abs().sum() > 0
    given = rushlight.ones(3, 4)
    z = rushlight.zeros(3, 4, requires_grad=True)
    (z + 1).backward(given)  # the gradient is the caller's own object
    given.zero_()
    assert copies == [1] and z.grad.sum().item() == 12


def test_one_root_that_is_one_of_several_outputs():
    x = rushlight.arange(4.0, requires_grad=True)
    x.split(2)[1].backward(rushlight.tensor([5.0, 6.0]))
    assert x.grad.tolist() == [0, 0, 5, 6]


def test_gradients_that_are_asked_for(passes):
    """`grad` for leaves, all or some, takes the short pass, and leaves ``.grad`` alone."""
    x, y = leaves()
    parts(x, y).backward()
    grads = rushlight.autograd.grad(parts(x, y), [y, x, y])
    assert passes == [True, True]
    for one, other in zip(grads, (y.grad, x.grad, y.grad), strict=True):
        assert one is not other and one.equal(other) and not one.requires_grad
    before = x.grad
    (found,) = rushlight.autograd.grad(parts(x, y), x)
    assert passes == [True] * 3 and found.equal(x.grad) and x.grad is before
    inner = x.exp()
    (found,) = rushlight.autograd.grad((inner * 2).sum(), inner)
    assert passes[3:] == [False] and found.equal(rushlight.full((3, 4), 2.0))


def test_leaves_without_a_gradient_are_none_or_zeros(passes):
    x, y = leaves()
    for options in ({"allow_unused": True}, {"materialize_grads": True}):
        found = rushlight.autograd.grad(x.sum(), [x, y], **options)
        assert found[0].equal(rushlight.ones(3, 4))
        assert found[1] is None or not found[1].any()
    with pytest.raises(RuntimeError, match="index 1 appears to not have been used"):
        rushlight.autograd.grad(x.sum(), [x, y])
    assert passes == [False] * 3
