"""`TorchDispatchMode` against PyTorch's: which ops it sees, and what it can do to them."""

import math
import threading
import tomllib
from pathlib import Path

import pytest
import torch
import torch.utils._python_dispatch

import rushlight
from rushlight.overrides import TorchFunctionMode
from rushlight.utils._mode_utils import no_dispatch
from rushlight.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _pop_mode_temporarily,
)

aten = rushlight.ops.aten
DIFFERENCES = tomllib.loads((Path(__file__).parent / "dispatch_differences.toml").read_text())


def names_seen(package, program):
    """The names of the ops that a mode sees in a program; views and copies of saved results that
    PyTorch takes by `detach`, and its profiler's marks, are left out."""

    class Names(package.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen, inputs = [], given(package)
    with Names():
        program(package, *inputs)
    return [n for n in seen if n != "aten.detach.default" and not n.startswith("profiler.")]


def given(package):
    x = package.arange(12.0).reshape(4, 3) / 7
    y = package.arange(12.0).reshape(4, 3).cos()
    return x.requires_grad_(), y, package.tensor([0, 1, 2, 0])


def factories(p, x, y, t):
    return p.zeros(3), p.arange(3), p.full((2,), 1.0), p.rand(2), p.empty(2), y.new_zeros(2)


def set_item(p, x, y, t):
    y[0] = 1


def linear(p, x, y, t):
    return p.nn.functional.linear(x, y, y[:, 0])


def convolution(p, x, y, t):
    image = y.view(1, 1, 4, 3)
    return p.nn.functional.conv2d(image, image[:, :, :2, :2], stride=1, padding=1)


def sgd(p, x, y, t):
    x.grad = y
    p.optim.SGD([x], lr=0.1, foreach=False).step()


PROGRAMS = {
    "elementwise": lambda p, x, y, t: (x + y).exp() * 2,
    "number first": lambda p, x, y, t: 1 - x,
    "comparison and choice": lambda p, x, y, t: p.where(x > 0, x, y),
    "in place": lambda p, x, y, t: y.clone().add_(1).mul_(y),
    "copy": lambda p, x, y, t: y.clone().copy_(t[:3]),
    "views": lambda p, x, y, t: x.view(3, 4).t().unsqueeze(0).permute(2, 0, 1),
    "reshape": lambda p, x, y, t: x.reshape(2, 6),
    "reductions": lambda p, x, y, t: (x.sum(1), x.mean(), x.max(1), x.amax(0)),
    "products": lambda p, x, y, t: (x @ y.T, p.bmm(x[None], y.t()[None]), y[0] @ y[1]),
    "linear": linear,
    "convolution": convolution,
    "softmax": lambda p, x, y, t: (x.softmax(1), x.log_softmax(0)),
    "layer norm": lambda p, x, y, t: p.nn.functional.layer_norm(x, (3,), y[0], y[1]),
    "embedding": lambda p, x, y, t: p.nn.functional.embedding(t, y),
    "activations": lambda p, x, y, t: p.nn.functional.gelu(x.relu()).tanh().sigmoid(),
    "joining": lambda p, x, y, t: p.stack(p.cat([x, y]).chunk(2)),
    "casts": lambda p, x, y, t: x.to(p.float64).double(),
    "sorting": lambda p, x, y, t: (y.sort(), y.topk(2)),
    "factories": factories,
    "basic indexing": lambda p, x, y, t: (x[0], x[:, 1], x[None], x[1:, ::2]),
    "advanced indexing": lambda p, x, y, t: x[t],
    "set an item": set_item,
    "cross entropy": lambda p, x, y, t: p.nn.functional.cross_entropy(x, t),
    "backward of a product": lambda p, x, y, t: (x * x).sum().backward(),
    "backward of a function": lambda p, x, y, t: x.exp().mean().backward(),
    "SGD step": sgd,
    "vmap": lambda p, x, y, t: p.func.vmap(lambda row: row * 2)(y),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ops_seen_are_pytorch_s(name):
    expected = names_seen(torch, PROGRAMS[name])
    found = names_seen(rushlight, PROGRAMS[name])
    listed = DIFFERENCES.get(name)
    if listed is None:
        assert found == expected
    else:
        assert (found, expected) == (listed["here"], listed["pytorch"]), listed["reason"]
        assert found != expected


def test_each_listed_difference_has_a_program():
    assert DIFFERENCES.keys() <= PROGRAMS.keys()


class Plain(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def loss_of(package, model, x, t):
    return package.nn.functional.cross_entropy(model(x), t)


def test_training_in_a_mode_gives_the_same_gradients():
    rushlight.manual_seed(0)
    nn = rushlight.nn
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.GELU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(8, 6), nn.LayerNorm(6), nn.ReLU(), nn.Linear(6, 3),
    )  # fmt: skip
    x, t = rushlight.randn(4, 1, 6, 6), rushlight.tensor([0, 1, 2, 0])
    loss_of(rushlight, model, x, t).backward()
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    with Plain():
        loss_of(rushlight, model, x, t).backward()
    for found, wanted in zip(model.parameters(), expected, strict=True):
        assert not found.grad.requires_grad
        rushlight.testing.assert_close(found.grad, wanted)


def test_optimizers_step_the_same_in_a_mode():
    for make in (rushlight.optim.SGD, rushlight.optim.Adam, rushlight.optim.AdamW):
        results = []
        for watched in (False, True):
            x = rushlight.arange(4.0).requires_grad_()
            optimizer = make([x], lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                (x * x).sum().backward()
                if watched:
                    with Plain():
                        optimizer.step()
                else:
                    optimizer.step()
            results.append(x.detach())
        rushlight.testing.assert_close(*results)


def test_results_are_recorded_outside_and_not_by_the_method():
    x = rushlight.arange(3.0).requires_grad_()
    with Plain():
        out = x * 2
    assert out.requires_grad and out.grad_fn is not None
    assert x.is_leaf


@pytest.mark.parametrize("package", [rushlight, torch], ids=["rushlight", "torch"])
def test_a_replaced_result_keeps_the_gradient_of_its_op(package):
    class Doubled(package.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out * 2 if func is package.ops.aten.mul.Tensor else out

    class Zeros(package.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return package.zeros(3) if func is package.ops.aten.mul.Tensor else func(*args)

    x = package.ones(3, requires_grad=True)
    for mode, value in ((Doubled(), 6.0), (Zeros(), 0.0)):
        with mode:
            out = x * 3
        assert out.tolist() == [value] * 3
        (gradient,) = package.autograd.grad(out.sum(), x)
        assert gradient.tolist() == [3.0] * 3


def test_a_mode_that_raises_is_left_in_order():
    class Refusing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is aten.exp.default:
                raise ValueError("no exp here")
            return func(*args, **(kwargs or {}))

    x = rushlight.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="no exp here"), Refusing():
        x.exp()
    assert _get_current_dispatch_mode() is None
    assert rushlight.is_grad_enabled() and x.exp().requires_grad
    with Refusing(), pytest.raises(ValueError, match="no exp here"):
        x.exp()


def test_nested_modes_are_told_innermost_first():
    told = []

    class Told(TorchDispatchMode):
        def __init__(self, label):
            super().__init__()
            self.label = label

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            told.append((self.label, str(func)))
            return func(*args, **(kwargs or {}))

    with Told("outer") as outer, Told("inner") as inner:
        assert _get_current_dispatch_mode() is inner
        rushlight.ones(2).add(1)
        with _pop_mode_temporarily() as popped:
            assert popped is inner and _get_current_dispatch_mode() is outer
    add, ones = "aten.add.Tensor", "aten.ones.default"
    assert told == [("inner", ones), ("outer", ones), ("inner", add), ("outer", add)]
    with pytest.raises(RuntimeError, match="no TorchDispatchMode is active"):
        _pop_mode_temporarily().__enter__()


@pytest.mark.parametrize(
    "off", [_disable_current_modes, no_dispatch, rushlight._C._DisableTorchDispatch]
)
def test_modes_can_be_turned_off(off):
    assert names_seen(rushlight, lambda p, x, y, t: hidden(off, y)) == ["aten.neg.default"]


def hidden(off, y):
    with off():
        (y + 1).exp().new_zeros(2)
    return -y


def test_function_modes_come_first_whenever_they_are_entered():
    class Negated(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {})).neg()

    for program in (
        lambda p, x, y, t: y.exp(),
        lambda p, x, y, t: inside(Negated(), y.exp),
    ):
        expected = ["aten.exp.default", "aten.neg.default"]
        found = names_seen(rushlight, program)
        assert found == expected[: len(found)]
    with Negated():
        found = names_seen(rushlight, lambda p, x, y, t: y.exp())
    assert found == ["aten.exp.default", "aten.neg.default"]


def inside(mode, call):
    with mode:
        return call()


def test_out_and_what_has_no_overload_run_in_a_mode():
    x, out = rushlight.ones(2), rushlight.empty(2)
    with Plain():
        assert rushlight.add(x, x, out=out) is out
        drawn = rushlight.normal(0.0, 1.0, (3,))
    assert out.tolist() == [2.0, 2.0] and drawn.shape == (3,)


@pytest.mark.parametrize("setting", ["autocast", "create_graph", "Function", "in place"])
def test_gradients_with_other_machinery_are_the_same_in_a_mode(setting):
    def run():
        x = rushlight.arange(6.0).reshape(2, 3).div(7).requires_grad_()
        return rushlight.autograd.grad(MACHINERY[setting](x).sum(), x)[0]

    expected = run()
    with Plain():
        found = run()
    rushlight.testing.assert_close(found, expected)


class Square(rushlight.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


def under_autocast(x):
    with rushlight.autocast("cpu", dtype=rushlight.bfloat16):
        return (x @ x.T).float()


def gradient_of_gradient(x):
    return rushlight.autograd.grad((x**3).sum(), x, create_graph=True)[0]


def written_through_a_view(x):
    y = x * 1
    y[0] = 5
    y.view(-1)[4:].mul_(3)
    return y.mul_(2).exp()


MACHINERY = {
    "autocast": under_autocast,
    "create_graph": gradient_of_gradient,
    "Function": Square.apply,
    "in place": written_through_a_view,
}


def test_a_mode_is_of_one_thread():
    def work():
        result.append(rushlight.ones(2) + 1)

    result = []
    seen = names_seen(rushlight, lambda p, x, y, t: run_in_thread(work))
    assert seen == [] and result[0].tolist() == [2.0, 2.0]


def run_in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_counting_products_and_memory_in_public_style():
    class Flops(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            if func in (aten.mm.default, aten.addmm.default):
                left, right = args[-2:]
                self.count += 2 * math.prod(left.shape) * right.shape[1]
            return out

    class Peak(TorchDispatchMode):
        most = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            if isinstance(out, rushlight.Tensor):
                self.most = max(self.most, out.untyped_storage().nbytes())
            return out

    layer, x = rushlight.nn.Linear(3, 5), rushlight.ones(4, 3, requires_grad=True)
    with Peak() as peak, Flops() as flops:
        layer(x).sum().backward()
    assert flops.count == 3 * 2 * 4 * 3 * 5
    assert peak.most == 4 * 5 * 4


def test_a_mode_without_its_method_says_so():
    with TorchDispatchMode(), pytest.raises(NotImplementedError, match="__torch_dispatch__"):
        rushlight.ones(2)


def test_wrapper_helpers():
    from rushlight.utils import _python_dispatch as names

    class Pair(rushlight.Tensor):
        def __tensor_flatten__(self):
            return ["part"], None

        @staticmethod
        def __tensor_unflatten__(parts, context, size, stride):
            out = parts["part"].as_subclass(Pair)
            out.part = parts["part"]
            return out

    pair = Pair.__tensor_unflatten__({"part": rushlight.ones(2)}, None, (2,), (1,))
    assert names.is_traceable_wrapper_subclass(pair)
    assert not names.is_traceable_wrapper_subclass(rushlight.ones(2))
    other = names.transform_subclass(pair, lambda name, part: part * 2)
    assert type(other) is Pair and other.part.tolist() == [2.0, 2.0]


DRAWS = {
    "randn": lambda x, g: rushlight.randn(3, generator=g),
    "rand_like": lambda x, g: rushlight.rand_like(x, generator=g),
    "uniform_": lambda x, g: x.clone().uniform_(generator=g),
    "bernoulli": lambda x, g: rushlight.bernoulli(x, generator=g),
    "multinomial": lambda x, g: rushlight.multinomial(x, 2, generator=g),
    "randint": lambda x, g: rushlight.randint(0, 99, (3,), generator=g),
    "randperm": lambda x, g: rushlight.randperm(9, generator=g),
    "normal": lambda x, g: rushlight.normal(x, 1.0, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_from_a_generator_of_its_own(name):
    x, draw = rushlight.full((3,), 0.5), DRAWS[name]
    expected = draw(x, rushlight.Generator().manual_seed(4))
    with Plain():
        found = draw(x, rushlight.Generator().manual_seed(4))
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", DRAWS)
def test_programs_draw_from_generators_of_the_model(name):
    class Drawing(rushlight.nn.Module):
        def forward(self, x):
            return DRAWS[name](x, generator)

    generator, x = rushlight.Generator().manual_seed(9), rushlight.full((3,), 0.5)
    before = generator.get_state()
    program = rushlight.export.export(Drawing(), (x,))
    assert generator.get_state().equal(before)
    assert program.module()(x).equal(DRAWS[name](x, rushlight.Generator().manual_seed(9)))
