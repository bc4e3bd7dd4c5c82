"""`triton_op` of functions without kernels of Triton does what PyTorch's does."""

import pytest

import rushlight
from rushlight.fx.experimental.proxy_tensor import make_fx

torch = pytest.importorskip("torch")


def told(module, space):
    """What an operator gives, in numbers and words."""

    @module.library.triton_op(f"{space}::sine", mutates_args={})
    def sine(x: module.Tensor, by: float) -> module.Tensor:
        return module.sin(x) * by

    x = module.linspace(0.0, 1.0, 4, dtype=module.float64).requires_grad_()
    y = sine(x, 2.0)
    found = [type(sine).__name__, str(getattr(module.ops, space).sine.default._schema)]
    found += [y.tolist(), y.requires_grad, list(sine(module.empty(3, 2, device="meta"), 1.0).shape)]
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()

    def backward(ctx, grad):
        return grad * 10, None

    sine.register_autograd(backward)
    (grad,) = module.autograd.grad(sine(x, 2.0).sum(), x)
    return [*found, grad.tolist()]


def test_values_and_gradients_are_pytorchs():
    found, wanted = told(rushlight, "triton_ours"), told(torch, "triton_theirs")
    assert found[0] == wanted[0] and found[3:5] == wanted[3:5]
    assert found[1] == wanted[1].replace("triton_theirs", "triton_ours")
    assert found[2] == pytest.approx(wanted[2]) and found[5] == wanted[5]


def test_captured_programs_have_a_node():
    @rushlight.library.triton_op("triton_ours::cube", mutates_args=())
    def cube(x: rushlight.Tensor) -> rushlight.Tensor:
        return x * x * x

    module = make_fx(lambda x: cube(x) + 1, tracing_mode="fake")(rushlight.ones(3))
    targets = [str(node.target) for node in module.graph.nodes if node.op == "call_function"]
    assert targets == ["triton_ours.cube.default", "aten.add.Tensor"]
    assert module(rushlight.full((3,), 2.0)).tolist() == [9.0, 9.0, 9.0]


def test_arguments_that_are_written_to():
    @rushlight.library.triton_op("triton_ours::add_to", mutates_args={"x"})
    def add_to(x: rushlight.Tensor, y: rushlight.Tensor) -> None:
        x.add_(y)

    x = rushlight.ones(2)
    version = x._version
    add_to(x, rushlight.tensor([1.0, 2.0]))
    assert x.tolist() == [2.0, 3.0] and x._version > version
    with pytest.raises(ValueError, match="must have a type annotation"):
        rushlight.library.triton_op("triton_ours::bad", lambda x: x, mutates_args=())
