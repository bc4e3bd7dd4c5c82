"""Passes that are about some of the inputs compute the gradients of no others."""

import random

import pytest

import rushlight

pytest.importorskip("torch")  # what is imported next needs it
from tests.autograd.test_hook_rules import agree  # noqa: E402

F = rushlight.nn.functional

# Functions of several tensors that all require gradients, and their shapes.
CALLS = {
    "mul": (lambda lib, x, w: x * w, (3, 4), (4,)),
    "matmul": (lambda lib, x, w: x @ w, (3, 4), (4, 5)),
    "addmm": (lambda lib, b, x, w: lib.addmm(b, x, w), (5,), (3, 4), (4, 5)),
    "linear": (lambda lib, *a: lib.nn.functional.linear(*a), (3, 4), (5, 4), (5,)),
    "conv2d": (lambda lib, *a: lib.nn.functional.conv2d(*a), (2, 3, 6, 6), (4, 3, 3, 3), (4,)),
    "conv_transpose2d": (
        lambda lib, *a: lib.nn.functional.conv_transpose2d(*a), (2, 3, 4, 4), (3, 4, 3, 3), (4,)
    ),
    "layer_norm": (
        lambda lib, x, w, b: lib.nn.functional.layer_norm(x, (4,), w, b), (3, 4), (4,), (4,)
    ),
    "group_norm": (
        lambda lib, x, w, b: lib.nn.functional.group_norm(x, 2, w, b), (3, 4, 5), (4,), (4,)
    ),
    "group_norm of rows": (
        lambda lib, x, w, b: lib.nn.functional.group_norm(x, 2, w, b), (3, 4), (4,), (4,)
    ),
    "batch_norm": (
        lambda lib, x, w, b: lib.nn.functional.batch_norm(x, None, None, w, b, True),
        (3, 4, 5), (4,), (4,),
    ),
    "batch_norm of planes": (
        lambda lib, x, w, b: lib.nn.functional.batch_norm(x, None, None, w, b, True),
        (3, 4, 9, 5), (4,), (4,),
    ),
    "batch_norm of few channels": (  # whose images are divided
        lambda lib, x, w, b: lib.nn.functional.batch_norm(x, None, None, w, b, True),
        (7, 2, 9, 5), (2,), (2,),
    ),
    "cat": (lambda lib, *a: lib.cat(a) ** 2, (2, 3), (1, 3), (4, 3)),
    "where": (lambda lib, x, y: lib.where(x > 0, x, y), (3, 4), (3, 1)),
    "lerp": (lambda lib, x, y, w: lib.lerp(x, y, w), (3, 4), (3, 4), (3, 4)),
    "attention": (
        lambda lib, *a: lib.nn.functional.scaled_dot_product_attention(*a),
        (2, 3, 4), (2, 5, 4), (2, 5, 4),
    ),
}  # fmt: skip


def tensors_of(lib, shapes):
    rushlight.manual_seed(3)
    drawn = [rushlight.randn(s, dtype=rushlight.float64) for s in shapes]
    return [lib.tensor(x.tolist(), dtype=lib.float64, requires_grad=True) for x in drawn]


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_each_alone_is_what_all_together_are(name, create):
    call, *shapes = CALLS[name]
    inputs = tensors_of(rushlight, shapes)
    out = call(rushlight, *inputs)
    grad = rushlight.autograd.grad
    together = grad((out**2).sum(), inputs, retain_graph=True, create_graph=create)
    for x, expected in zip(inputs, together, strict=True):
        (alone,) = grad((out**2).sum(), x, retain_graph=True, create_graph=create)
        assert alone.equal(expected)
        (out**2).sum().backward(inputs=[x], retain_graph=True, create_graph=create)
        assert x.grad.equal(expected)
        x.grad = None
        if create:
            again = [grad((g**2).sum(), x, retain_graph=True)[0] for g in (alone, expected)]
            assert again[0].equal(again[1])


@pytest.mark.parametrize("name", ["mul", "matmul", "conv2d", "layer_norm", "lerp"])
def test_hooks_see_what_the_pass_is_about(name):
    call, *shapes = CALLS[name]

    def program(lib, log):
        for place in range(len(shapes)):
            inputs = tensors_of(lib, shapes)
            out = call(lib, *inputs)
            out.grad_fn.register_hook(lambda given, _: log([g is None for g in given]))
            lib.autograd.grad(out.sum(), inputs[place], retain_graph=True)
            inputs[place].grad = None
            out.sum().backward(inputs=[inputs[place]], retain_graph=True)
            out.sum().backward()

    agree(program)


def test_a_formula_that_is_not_there_is_not_missed():
    x, y = tensors_of(rushlight, [(4,), (4,)])

    @rushlight.library.custom_op("parts::scaled", mutates_args=())
    def scaled(x: rushlight.Tensor, y: rushlight.Tensor) -> rushlight.Tensor:
        return x * y

    seen = []

    def backward(context, grad):
        seen.append(context.needs_input_grad)
        return grad * 2, grad * 3

    scaled.register_autograd(backward)
    (found,) = rushlight.autograd.grad(scaled(x, y).sum(), x)
    assert found.tolist() == [2.0] * 4 and seen == [(True, True)]  # a user's function sees the call


def test_transforms_by_one_argument():
    x, w = tensors_of(rushlight, [(3, 4), (5, 4)])

    def loss(x, w):
        return (F.linear(x, w) ** 3).sum()

    by_x, by_w = rushlight.func.grad(loss, argnums=(0, 1))(x, w)
    assert rushlight.func.grad(loss)(x, w).equal(by_x)
    each = rushlight.vmap(rushlight.func.grad(lambda row, w: loss(row, w)), (0, None))(x, w)
    assert rushlight.allclose(each, by_x)
    mixed = rushlight.func.jacrev(rushlight.func.grad(loss), argnums=1)(x, w)
    other = rushlight.func.jacrev(rushlight.func.grad(loss, argnums=1))(x, w)
    assert rushlight.allclose(mixed, other.permute(2, 3, 0, 1)) and by_w.shape == w.shape


def test_saved_values_are_still_checked():
    x, w = tensors_of(rushlight, [(4,), (4,)])
    kept = w * 1
    out = x * kept
    kept += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        rushlight.autograd.grad(out.sum(), x)


STEPS = [
    lambda x, y: x * y,
    lambda x, y: x + y,
    lambda x, y: x.sin(),
    lambda x, y: x @ y,
    lambda x, y: rushlight.cat([x, y])[:4],
    lambda x, y: x.unbind(0)[0].expand(4, 4) * y,
    lambda x, y: F.layer_norm(x, (4,), y[0], y[1]),
    lambda x, y: rushlight.zeros(4, 4, dtype=x.dtype),
]


@pytest.mark.parametrize("seed", range(60))
def test_some_leaves_of_any_graph(seed):
    """With and without a hook, which the general pass takes, and all leaves or some."""
    draw = random.Random(seed)
    rushlight.manual_seed(seed)
    leaves = [rushlight.randn(4, 4, dtype=rushlight.float64, requires_grad=True) for _ in range(4)]
    values = list(leaves)
    for _ in range(draw.randrange(2, 9)):
        values.append(draw.choice(STEPS)(draw.choice(values), draw.choice(values)))
    out = values[-1].sum() + (values[-2] * leaves[0]).cos().sum()
    every = rushlight.autograd.grad(out, leaves, retain_graph=True, allow_unused=True)
    places = [i for i in range(4) if draw.random() < 0.5] or [1]
    some = [leaves[i] for i in places]
    found = rushlight.autograd.grad(out, some, retain_graph=True, allow_unused=True)
    handle = leaves[0].register_hook(lambda grad: None)
    general = rushlight.autograd.grad(out, some, retain_graph=True, allow_unused=True)
    handle.remove()
    last = rushlight.autograd.grad(out, some, allow_unused=True)
    for i, *others in zip(places, found, general, last, strict=True):
        for one in others:
            assert (one is None) == (every[i] is None)
            assert one is None or rushlight.allclose(one, every[i], 1e-12, equal_nan=True)


@pytest.mark.parametrize("rows", [3, 4, 5, 7, 64])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_some_gradients_of_rows(name, rows):
    """By kernels of their own, which add up in another order."""
    inputs = tensors_of(rushlight, ((rows, 40), (40,), (40,))[: 3 if name == "layer_norm" else 2])
    out = getattr(F, name)(inputs[0], (40,), *inputs[1:])
    grad = out.detach() ** 2
    together = rushlight.autograd.grad(out, inputs, grad, retain_graph=True)
    for part in ([0], [1], [*range(1, len(inputs))]):
        alone = rushlight.autograd.grad(out, [inputs[i] for i in part], grad, retain_graph=True)
        for i, one in zip(part, alone, strict=True):
            assert rushlight.allclose(one, together[i], 1e-12)
