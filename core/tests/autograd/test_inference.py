"""What inference mode makes of tensors, compared with PyTorch."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")

VIEWS = {
    "view": lambda x: x.view(-1),
    "item": lambda x: x[0],
    "rows": lambda x: x[:1],
    "new dimension": lambda x: x[:, None],
    "negative": lambda x: x[-1],
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "permute": lambda x: x.permute(1, 0),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.view(2, 1, 3).squeeze(1),
    "select": lambda x: x.select(1, 2),
    "chunk": lambda x: x.chunk(2)[1],
    "view_as": lambda x: x.view_as(x),
    "expand": lambda x: x.expand(2, 2, 3),
    "narrow": lambda x: x.narrow(0, 0, 1),
    "diagonal": lambda x: x.diagonal(),
    "reshape": lambda x: x.reshape(3, 2),
    "flatten": lambda x: x.flatten(),
    "split": lambda x: x.split(1)[0],
    "unbind": lambda x: x.unbind()[1],
    "unfold": lambda x: x.unfold(1, 2, 1),
    "as_strided": lambda x: x.as_strided((2,), (1,)),
    "view of a view": lambda x: x.view(-1)[2:],
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "copy": lambda x: x.clone(),
    "rows by a list": lambda x: x[[0]],
    "sum": lambda x: x + 1,
}


def _made(module, kind):
    if kind == "inference":
        with module.inference_mode():
            return module.ones(2, 3)
    x = module.ones(2, 3, requires_grad=kind != "plain")
    return x * 2 if kind == "computed" else x


def _facts(tensor):
    return tensor.is_inference(), tensor.requires_grad, tensor.is_leaf, tensor.grad_fn is None


@pytest.mark.parametrize("kind", ["plain", "leaf", "computed", "inference"])
@pytest.mark.parametrize("view", VIEWS)
def test_views_are_of_the_kind_of_their_base(view, kind):
    found = []
    for module in (rushlight, torch):
        base = _made(module, kind)
        for _ in range(3):  # the first ways into an op, and those that machine code takes later
            with module.inference_mode():
                out = VIEWS[view](base)
        found.append(_facts(out))
    assert found[0] == found[1]


@pytest.mark.parametrize("view", VIEWS)
def test_views_taken_later_of_inference_tensors(view):
    found = [VIEWS[view](_made(m, "inference")).is_inference() for m in (rushlight, torch)]
    assert found[0] == found[1]


def test_inference_tensors_count_no_writes():
    x = _made(rushlight, "inference")
    for tensor in (x, x.view(-1), x.detach()):
        with pytest.raises(RuntimeError, match="do not track version counter"):
            _ = tensor._version
    plain = rushlight.ones(2)
    with rushlight.inference_mode():
        plain.view(-1).add_(1)
        assert plain._version == 1 and plain.tolist() == [2.0, 2.0]


def test_writes_through_views_of_the_mode():
    x = rushlight.ones(2, requires_grad=True)
    y = x * 1
    with rushlight.inference_mode():
        view, plain = y.view(-1), rushlight.ones(2)[:1]
        view.mul_(3)
        outer = rushlight.ones(2)
    assert y.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="created in inference mode and is being modified"):
        view.mul_(3)
    for tensor in (plain, outer.view(-1)):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            tensor.mul_(2)
    with rushlight.inference_mode():
        free = (base := rushlight.ones(2).clone()).view(-1)
        free.add_(1)
    assert base.tolist() == [2.0, 2.0]


WRITES = {
    "add_": lambda x: x.add_(x),
    "mul_": lambda x: x.mul_(2),
    "relu_": lambda x: x.relu_(),
    "clamp_": lambda x: x.clamp_(0, 1),
    "addcmul_": lambda x: x.addcmul_(x, x),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(2.0),
    "copy_": lambda x: x.copy_(rushlight.zeros(2, 3)),
    "uniform_": lambda x: x.uniform_(),
    "masked_fill_": lambda x: x.masked_fill_(rushlight.ones(2, 3) > 0, 3.0),
}


@pytest.mark.parametrize("write", WRITES)
def test_writes_to_inference_tensors(write):
    """By the long way and by those that machine code takes later: as to others in the mode, refused
    outside of it."""
    for _ in range(3):
        rushlight.manual_seed(0)
        plain = rushlight.arange(6.0).view(2, 3).clone()
        WRITES[write](plain)
        with rushlight.inference_mode():
            rushlight.manual_seed(0)
            x = rushlight.arange(6.0).view(2, 3).clone()
            assert WRITES[write](x) is x
        assert x.is_inference() and rushlight.equal(x, plain)
        for context in (rushlight.enable_grad, rushlight.no_grad):
            with context(), pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
                WRITES[write](x)
        assert rushlight.equal(x, plain)


def test_a_plain_tensors_view_is_free_outside():
    x, w = rushlight.ones(2), rushlight.ones(2, requires_grad=True)
    with rushlight.inference_mode():
        view = x.view(-1)
    view.mul_(3)
    (w * view).sum().backward()
    assert w.grad.tolist() == [3.0, 3.0] and view._version == x._version == 1


def test_what_may_be_saved():
    w = rushlight.ones(2, requires_grad=True)
    with rushlight.inference_mode():
        outer = rushlight.ones(2, 2)[0]
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        _ = (w * outer).sum()
    (w + outer).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_a_view_that_needs_a_gradient_gets_its_own():
    x = rushlight.ones(2, requires_grad=True)
    with rushlight.inference_mode():
        view = x.view(-1)
    view.sum().backward()
    assert x.grad is None and view.grad.tolist() == [1.0, 1.0]


def test_functions_save_in_the_mode():
    class Double(rushlight.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    with rushlight.inference_mode():
        assert Double.apply(rushlight.ones(2)).tolist() == [2.0, 2.0]


class Kept(rushlight.autograd.Function):
    """Keeps both of its inputs."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, None


SAVING = {
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "mm": lambda a, b: a @ b,
    "linear": lambda a, b: rushlight.nn.functional.linear(b, a),
    "bmm": lambda a, b: rushlight.bmm(a[None], b[None]),
    "atan2": rushlight.atan2,
    "outer": lambda a, b: rushlight.outer(a[0], b[0]),
    "custom function": Kept.apply,
}


@pytest.mark.parametrize("name", SAVING)
def test_views_made_outside_are_not_saved_either(name):
    """However often the operation was recorded before: machine code records it then."""
    call = SAVING[name]
    weight, normal = rushlight.ones(3, 3, requires_grad=True), rushlight.ones(3, 3)
    for _ in range(4):
        call(weight, normal).sum().backward()
    with rushlight.inference_mode():
        made = rushlight.ones(3, 3)
    for view in (made, made.view(3, 3), made.t(), made[:], made.view(9).view(3, 3)):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
                call(weight, view)
        with rushlight.no_grad():
            call(weight, view)
    call(weight, made.clone().view(3, 3)).sum().backward()
