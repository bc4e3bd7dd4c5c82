"""`make_fx`: the ops that run, as a graph."""

import sys
import warnings
from pathlib import Path

import pytest
import torch

import rushlight
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

sys.path.insert(0, str(Path(__file__).parents[1] / "export"))


def graph_of(function, *args, **options):
    return make_fx(function, **options)(*args)


def targets_of(module):
    return [str(n.target) for n in module.graph.nodes if n.op == "call_function"]


def values():
    rushlight.manual_seed(0)
    return rushlight.randn(2, 3)


PROGRAMS = {
    "parts": lambda lib, x: (x[0], x[:, 1:], x[None], x[..., 0], x[:, lib.tensor([0, 1])]),
    "arithmetic": lambda lib, x: (x + 1, 1 - x, x * 2 - x / 3, x**2, -x, x > 0, (x == x) & (x < 1)),
    "reductions": lambda lib, x: (
        x.sum(), x.sum(1), x.mean(0), x.mean((0, 1), keepdim=True), x.max(1), x.max(), x.argmax(1),
        x.amax(1), x.prod(), x.cumsum(0), x.any(), x.all(1), x.logsumexp(1),
    ),
    "shapes": lambda lib, x: (
        x.view(3, 2), x.reshape(-1), x.t(), x.transpose(0, 1), x.permute(1, 0), x.unsqueeze(1),
        x.expand(4, 2, 3), x.flatten(), x.chunk(3, 1), x.split(2, 1), x.split([1, 2], 1),
        x.unbind(), x.repeat(2, 1), x.flip(0), lib.roll(x, 1, 0), lib.cat([x, x], 1),
        lib.stack([x, x]), x.unsqueeze(0).squeeze(0), x.narrow(1, 0, 2), x.select(1, 2),
    ),
    "choices": lambda lib, x: (
        lib.where(x > 0, x, 0.0), x.masked_fill(x > 0, 1.0), x.clamp(min=0), x.topk(2),
        x.sort(1), x.gather(1, x.argmax(1, keepdim=True)), x.tril(), x.index_select(0, x.argmax(0)),
        x.scatter(1, x.argmax(1, keepdim=True), 2.0),
    ),
    "made": lambda lib, x: (
        lib.zeros(2, 3) + x, lib.ones((2, 3)), lib.full((2,), 1.5), lib.arange(3), lib.arange(1, 5),
        lib.arange(0, 1, 0.25), lib.eye(3), lib.linspace(0, 1, 4), lib.zeros_like(x),
        lib.ones_like(x), x.new_zeros(2), x.new_full((2,), 3.0), lib.full_like(x, 2.0),
        lib.tensor([1.0, 2.0]) * 2,
    ),
    "products": lambda lib, x: (
        x @ x.t(), lib.mm(x, x.t()), lib.addmm(x, x, lib.ones(3, 3)), lib.einsum("ij,kj->ik", x, x),
        lib.bmm(x[None], x.t()[None]), lib.nn.functional.linear(x, lib.ones(4, 3)),
    ),
    "functions": lambda lib, x: (
        x.relu(), x.sigmoid(), x.tanh(), x.exp(), x.abs().log(), x.sin(), x.abs().sqrt(), x.sign(),
        lib.nn.functional.gelu(x), lib.nn.functional.silu(x), lib.nn.functional.softmax(x, -1),
        lib.nn.functional.log_softmax(x, -1), lib.nn.functional.leaky_relu(x),
        lib.nn.functional.softplus(x), lib.erf(x), x.floor(), x.round(),
    ),
    "dtypes": lambda lib, x: (x.to(lib.float64), x.double(), x.long(), x.bool(), x.type(lib.int32)),
    "detached": lambda lib, x: (x.detach() + 1, x.clone(), x.contiguous()),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("mode", ["real", "fake"])
def test_the_graph_computes_what_the_function_does(name, mode):
    from capture_agreement import same_values

    x = values()
    module = graph_of(lambda x: PROGRAMS[name](rushlight, x), x, tracing_mode=mode)
    same_values(module(x), PROGRAMS[name](rushlight, x), exact=False)
    other = x * 2
    if name not in ("choices",):
        same_values(module(other), PROGRAMS[name](rushlight, other), exact=False)


# Where ATen's name is not PyTorch's choice for a call: the program -> targets of ours and theirs.
CHOICES = {
    "arithmetic": {"aten.bitwise_and.Tensor": "aten.__and__.Tensor"},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_ops_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    from capture_agreement import calls
    from torch.fx.experimental.proxy_tensor import make_fx as theirs

    program = PROGRAMS[name]
    x = values()
    ours = calls(make_fx(lambda x: program(rushlight, x), pre_dispatch=True)(x).graph)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = theirs(lambda x: program(torch, x), pre_dispatch=True)(torch.tensor(x.tolist()))
    names = CHOICES.get(name, {})
    assert [(names.get(t, t), *rest) for t, *rest in ours] == calls(module.graph)


def test_nodes_have_shapes_and_lines():
    module = graph_of(lambda x: (x * 2).sum(1), values(), tracing_mode="fake")
    nodes = {n.name: n for n in module.graph.nodes}
    assert tuple(nodes["mul"].meta["val"].shape) == (2, 3)
    assert nodes["sum_1"].meta["tensor_meta"].shape == (2,)
    assert nodes["sum_1"].meta["val"].dtype is rushlight.float32
    assert "test_make_fx.py" in nodes["mul"].stack_trace


def test_writes_stay_writes():
    def fill(x):
        y = rushlight.zeros(2, 3)
        y[0] = 1
        y[:, 0] = x[0, 0]
        y.add_(x)
        z = y.view(-1)
        z.mul_(2)
        return y

    x = values()
    module = graph_of(fill, x, tracing_mode="fake")
    assert "aten.fill_.Scalar" in targets_of(module) and "aten.mul_.Tensor" in targets_of(module)
    assert module(x).tolist() == fill(x).tolist()


def test_an_input_that_is_written_to():
    def step(x):
        x.add_(1)
        x[0, 0] = 5
        return x * 2

    module = graph_of(step, values(), tracing_mode="fake")
    ours, theirs = values(), values()
    assert module(ours).tolist() == step(theirs).tolist()
    assert ours.tolist() == theirs.tolist()


def test_index_put():
    def put(x, i):
        y = x.clone()
        y[i] = 0.5
        y.index_put_((i,), rushlight.ones(2, 3), accumulate=True)
        return y

    i = rushlight.tensor([1, 0])
    module = graph_of(put, values(), i)
    assert targets_of(module).count("aten.index_put_.default") == 2
    assert module(values(), i).tolist() == put(values(), i).tolist()


def test_samples_are_drawn_when_the_graph_runs():
    def noisy(x):
        y = rushlight.empty(3).uniform_(1, 2) + rushlight.randn(3) + rushlight.rand(3)
        return y, rushlight.nn.functional.dropout(x), x.clone().normal_(), rushlight.randperm(4)

    x = values()
    before = rushlight.get_rng_state()
    module = graph_of(noisy, x, tracing_mode="fake")
    assert rushlight.equal(before, rushlight.get_rng_state())
    rushlight.manual_seed(3)
    ours = module(x)
    rushlight.manual_seed(3)
    for a, b in zip(ours, noisy(x), strict=True):
        assert a.tolist() == b.tolist()
    assert module(x)[0].tolist() != ours[0].tolist()


def test_gradients_inside_are_ops():
    def loss(x):
        return (rushlight.nn.functional.softmax(x, -1).sin() * x).sum()

    x = values()
    module = graph_of(rushlight.func.grad(loss), x)
    assert "aten.cos.default" in targets_of(module)
    rushlight.testing.assert_close(module(x * 2), rushlight.func.grad(loss)(x * 2))


def test_autograd_grad_inside():
    def loss(x, w):
        y = (x @ w).relu().sum()
        return rushlight.autograd.grad(y, (x, w))

    x, w = values().requires_grad_(), rushlight.ones(3, 2).requires_grad_()
    module = graph_of(loss, x, w)
    for ours, theirs in zip(module(x, w), loss(x, w), strict=True):
        rushlight.testing.assert_close(ours, theirs)


def test_vmap_inside():
    module = graph_of(rushlight.vmap(lambda x: x.sin().sum()), values())
    assert targets_of(module) == ["aten.sin.default", "aten.sum.dim_IntList"]


def test_structures_of_arguments():
    def f(pair, options):
        return {"sum": pair[0] + options["b"], "same": pair[1]}

    x = values()
    module = graph_of(f, [x, x * 2], {"b": x})
    found = module([x, x * 3], {"b": x})
    assert found["sum"].tolist() == (x + x).tolist()
    assert found["same"].tolist() == (x * 3).tolist()


def test_decompositions_are_called_in_place_of_ops():
    relu = rushlight.ops.aten.relu.default
    table = {relu: lambda x: x.clamp(min=0)}
    module = graph_of(lambda x: x.relu() + 1, values(), decomposition_table=table)
    assert targets_of(module) == ["aten.clamp.default", "aten.add.Tensor"]


def test_a_constant_is_read_from_the_module():
    weight = rushlight.ones(3)
    module = graph_of(lambda x: x * weight, values())
    assert [n.target for n in module.graph.nodes if n.op == "get_attr"] == ["_tensor_constant0"]


def test_what_asks_for_values_is_refused_with_the_line():
    def choose(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(GuardOnDataDependentSymNode, match=r"test_make_fx.py:\d+, in choose"):
        graph_of(choose, values())
    with pytest.raises(GuardOnDataDependentSymNode, match="item"):
        graph_of(lambda x: x * x.sum().item(), values(), tracing_mode="fake")
    with pytest.raises(ValueError, match="tracing_mode"):
        make_fx(choose, tracing_mode="imaginary")
    with pytest.raises(GuardOnDataDependentSymNode):
        graph_of(choose, values(), tracing_mode="symbolic")


def test_nothing_stays_behind():
    from rushlight.tensor.dispatch import STATE, stack

    def broken(x):
        raise KeyError("x")

    with pytest.raises(KeyError):
        graph_of(broken, values())
    assert STATE.levels == 0 and not stack.levels
    assert type(rushlight.zeros(2)) is rushlight.Tensor


@pytest.mark.parametrize("index", [lambda x: x > 0, lambda x: rushlight.tensor([0, 1])])
def test_indices_of_the_program_into_what_asks_for_gradients(index):
    x = rushlight.randn(3, 4, requires_grad=True)
    module = make_fx(lambda x: x[index(x)])(x)
    assert "aten.index.Tensor" in module.code
    assert module(x).tolist() == x[index(x)].tolist()


@pytest.mark.parametrize(
    "index",
    [
        lambda i: (True,),
        lambda i: (False,),
        lambda i: (True, 1),
        lambda i: (True, i),
        lambda i: (i, True),
        lambda i: (i, True, i),
        lambda i: (True, ..., i),
        lambda i: (True, slice(None), i),
    ],
)
def test_truth_values_in_an_index(index):
    """A dimension of one element, whether other items are tensors or not."""
    x, i = rushlight.arange(24.0).reshape(2, 3, 4), rushlight.tensor([0, 1])
    made = make_fx(lambda x: x[index(i)])(x)
    expected = torch.arange(24.0).reshape(2, 3, 4)[index(torch.tensor([0, 1]))]
    for found in (x[index(i)], made(x)):
        assert found.shape == expected.shape
        assert found.tolist() == expected.tolist()
