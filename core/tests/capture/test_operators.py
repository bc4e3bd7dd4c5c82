"""Operators of namespaces in compiled programs: steps of one graph, as in PyTorch."""

import numpy as np
import pytest

import rushlight
from rushlight import library
from rushlight.library import custom_op

calls = []


@custom_op("compiled::scaled", mutates_args=())
def scaled(x: rushlight.Tensor, factor: float, shift: int = 1) -> rushlight.Tensor:
    calls.append(tuple(x.shape))
    return x * factor + shift


@scaled.register_fake
def _(x, factor, shift=1):
    return rushlight.empty_like(x)


scaled.register_autograd(
    lambda ctx, grad: (grad * ctx.factor, None, None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
)


@custom_op("compiled::parts", mutates_args=())
def parts(xs: list[rushlight.Tensor], dims: list[int]) -> tuple[rushlight.Tensor, rushlight.Tensor]:
    return xs[0].sum(dims), xs[-1] * 2


@parts.register_fake
def _(xs, dims):
    return xs[0].sum(dims), rushlight.empty_like(xs[-1])


@custom_op("compiled::doubled_", mutates_args=("x",))
def doubled_(x: rushlight.Tensor) -> None:
    x.mul_(2)


def chain(x):
    y = (x * 2).relu()
    z = scaled(y, 0.5)
    w = rushlight.ops.compiled.scaled.default(z + y, 2.0, shift=-3)
    return (w - y).tanh() + z


def several(x):
    total, twice = parts([x, x + 1], [0])
    return total.exp() + twice


@pytest.mark.parametrize("program", [chain, several])
@pytest.mark.parametrize("freezing", [False, True])
def test_programs_with_operators_are_one_graph(program, freezing):
    options = {"freezing": True} if freezing else None
    compiled = rushlight.compile(program, fullgraph=True, options=options)
    with rushlight.inference_mode():
        for rows in (3, 3, 5, 1):
            x = rushlight.randn(rows, 4)
            before = x.clone()
            np.testing.assert_allclose(compiled(x).numpy(), program(x).numpy(), rtol=1e-6)
            assert x.equal(before)


def test_the_kernel_runs_at_every_call():
    compiled = rushlight.compile(chain, fullgraph=True)
    x = rushlight.randn(2, 2)
    with rushlight.no_grad():
        compiled(x)
        calls.clear()
        compiled(x)
        assert calls == [(2, 2), (2, 2)]


def test_gradients_are_those_of_the_formula():
    compiled = rushlight.compile(chain, fullgraph=True)
    x = rushlight.randn(3, 4, dtype=rushlight.float64, requires_grad=True)
    for _ in range(2):
        (found,) = rushlight.autograd.grad(compiled(x).sum(), x)
        (expected,) = rushlight.autograd.grad(chain(x).sum(), x)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


def test_backends_get_the_operator_as_a_node():
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module.forward

    x = rushlight.randn(2, 3)
    found = rushlight.compile(chain, backend=backend)(x)
    np.testing.assert_allclose(found.numpy(), chain(x).numpy(), rtol=1e-6)
    assert len(graphs) == 1
    nodes = [n for n in graphs[0].graph.nodes if n.target is rushlight.ops.compiled.scaled.default]
    assert [n.args[1] for n in nodes] == [0.5, 2.0]


def test_writing_operators_stay_outside_of_graphs():
    def program(x):
        y = x + 1
        doubled_(y)
        return y.sin()

    x = rushlight.randn(3)
    np.testing.assert_allclose(rushlight.compile(program)(x).numpy(), program(x).numpy(), rtol=1e-6)
    with pytest.raises(rushlight._dynamo.exc.Unsupported, match="writes to its arguments"):
        rushlight.compile(program, fullgraph=True)(x)


def test_operators_without_shapes_stay_outside_of_graphs():
    space = library.Library("compiled_plainly", "DEF")
    space.define("halved(Tensor x) -> Tensor")
    space.impl("halved", lambda x: x / 2, "CompositeImplicitAutograd")

    def program(x):
        return rushlight.ops.compiled_plainly.halved(x + 1).sin()

    x = rushlight.randn(3)
    np.testing.assert_allclose(rushlight.compile(program)(x).numpy(), program(x).numpy(), rtol=1e-6)


def test_what_an_operator_refuses_it_says():
    def program(x):
        return scaled(x, "two")

    with pytest.raises((TypeError, RuntimeError), match="factor"):
        program(rushlight.ones(2))
    with pytest.raises(Exception, match="factor"):
        rushlight.compile(program)(rushlight.ones(2))


def test_packets_choose_their_overload():
    space = library.Library("compiled_overloads", "DEF")
    space.define("made(Tensor x) -> Tensor")
    space.define("made.by(Tensor x, float factor) -> Tensor")
    space.impl("made", lambda x: x + 1, "CPU")
    space.impl("made.by", lambda x, factor: x * factor, "CPU")
    for name in ("made", "made.by"):
        library.register_fake(
            f"compiled_overloads::{name}", lambda x, factor=0.0: rushlight.empty_like(x)
        )

    def program(x):
        made = rushlight.ops.compiled_overloads.made
        return made(made(x), 3.0).sin()

    x = rushlight.randn(3)
    compiled = rushlight.compile(program, fullgraph=True)
    with rushlight.no_grad():
        np.testing.assert_allclose(compiled(x).numpy(), program(x).numpy(), rtol=1e-6)
