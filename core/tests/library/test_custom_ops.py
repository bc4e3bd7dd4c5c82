"""`rushlight.library.custom_op`: operators of Python functions with gradients, shapes, batching."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight import Tensor, library
from rushlight.library import custom_op, opcheck


def save(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


@custom_op("tests::cube", mutates_args=())
def cube(x: Tensor, factor: float = 1.0) -> Tensor:
    return rushlight.from_numpy(x.numpy() ** 3 * x.numpy().dtype.type(factor))


@cube.register_fake
def _(x, factor=1.0):
    return rushlight.empty_like(x)


def cube_backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * 3 * x**2, None


cube.register_autograd(cube_backward, setup_context=save)


def test_calls_and_gradients():
    x = rushlight.tensor([1.0, 2.0], requires_grad=True)
    out = rushlight.ops.tests.cube(x)
    assert out.tolist() == [1.0, 8.0]
    assert type(out.grad_fn).__name__ == "GeneratedBackwardFor_tests_cube_defaultBackward"
    assert out.grad_fn.name() == "GeneratedBackwardFor_tests_cube_defaultBackward"
    out.sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]
    assert cube(x.detach(), factor=2.0).grad_fn is None
    assert rushlight.ops.tests.cube.default(x.detach(), 2.0).tolist() == [2.0, 16.0]


def test_second_derivatives_and_transforms():
    x = rushlight.tensor([1.0, 2.0, 3.0])
    second = rushlight.func.grad(lambda v: rushlight.func.grad(lambda w: cube(w).sum())(v).sum())(x)
    assert second.tolist() == [6.0, 12.0, 18.0]
    rows = rushlight.arange(6.0).reshape(3, 2)
    assert rushlight.func.vmap(cube)(rows).tolist() == (rows**3).tolist()
    per_row = rushlight.func.vmap(rushlight.func.grad(lambda v: cube(v).sum()))(rows)
    assert per_row.tolist() == (3 * rows**2).tolist()


def test_meta_tensors_and_devices():
    fake = cube(rushlight.empty(2, 3, device="meta"))
    assert fake.shape == (2, 3) and fake.is_meta

    @custom_op("tests::without_fake", mutates_args=())
    def without_fake(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(RuntimeError, match="register_fake"):
        without_fake(rushlight.empty(1, device="meta"))

    @custom_op("tests::on_cuda", mutates_args=(), device_types="cuda")
    def on_cuda(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(NotImplementedError, match=r"registered for \['cuda'\]"):
        on_cuda(rushlight.ones(1))
    library.register_kernel("tests::on_cuda", "cpu", lambda x: x + 1)
    assert on_cuda(rushlight.ones(1)).tolist() == [2.0]
    with on_cuda.set_kernel_enabled("cpu", False):
        assert on_cuda(rushlight.ones(1)).tolist() == [1.0]
    assert on_cuda(rushlight.ones(1)).tolist() == [2.0]


def test_missing_gradient_is_an_error_in_backward_only():
    @custom_op("tests::no_gradient", mutates_args=())
    def no_gradient(x: Tensor) -> Tensor:
        return x * 2

    out = no_gradient(rushlight.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="Trying to backward through tests.no_gradient.default"):
        out.sum().backward()


def test_mutation():
    @custom_op("tests::double_", mutates_args=("x",))
    def double_(x: Tensor) -> None:
        x.numpy()[...] *= 2

    x = rushlight.ones(2, requires_grad=True)
    y = x * 1
    squared = y * y  # saves y
    assert double_(y.detach()) is None
    assert y.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squared.sum().backward()
    with pytest.raises(RuntimeError, match="non-functional operator"):
        double_.register_autograd(lambda ctx, grad: grad)


def test_results_may_not_be_arguments():
    @custom_op("tests::identity", mutates_args=())
    def identity(x: Tensor) -> Tensor:
        return x

    @custom_op("tests::part", mutates_args=())
    def part(x: Tensor) -> Tensor:
        return x[1:]

    for op in (identity, part):
        with pytest.raises(RuntimeError, match="may not alias any inputs"):
            op(rushlight.ones(3))


def test_lists_several_results_and_keywords():
    @custom_op("tests::mix", mutates_args=())
    def mix(xs: list[Tensor], k: int, *, shift: float = 0.0) -> tuple[Tensor, Tensor]:
        total = sum(x.numpy() for x in xs) * k + np.float32(shift)
        return rushlight.from_numpy(total), rushlight.from_numpy(-total)

    seen = {}

    def setup(ctx, inputs, output, keyword_only_inputs):
        seen.update(keyword_only_inputs)
        ctx.count, ctx.k = len(inputs[0]), inputs[1]

    def backward(ctx, grad, negative):
        return [(grad - negative) * ctx.k] * ctx.count, None

    mix.register_autograd(backward, setup_context=setup)
    x, y = rushlight.ones(2, requires_grad=True), rushlight.ones(2, requires_grad=True)
    first, second = mix([x, y], 3, shift=1.0)
    assert first.tolist() == [7.0, 7.0] and seen == {"shift": 1.0}
    (first.sum() + 2 * second.sum()).backward()
    assert x.grad.tolist() == y.grad.tolist() == [-3.0, -3.0]


def test_a_list_of_results():
    @custom_op("tests::halves", mutates_args=())
    def halves(x: Tensor) -> list[Tensor]:
        return [x[: len(x) // 2].clone(), x[len(x) // 2 :].clone()]

    halves.register_autograd(lambda ctx, grads: rushlight.cat(grads))
    x = rushlight.arange(4.0, requires_grad=True)
    first, second = halves(x)
    assert isinstance(halves(x), list)
    (first.sum() * 2 + second.sum()).backward()
    assert x.grad.tolist() == [2.0, 2.0, 1.0, 1.0]


def test_batching_rule():
    @custom_op("tests::row_sum", mutates_args=())
    def row_sum(x: Tensor) -> Tensor:
        return x.sum(-1)

    calls = []

    @row_sum.register_vmap
    def rule(info, in_dims, x):
        calls.append((info.batch_size, in_dims))
        return row_sum(x.movedim(in_dims[0], 0)), 0

    x = rushlight.arange(6.0).reshape(2, 3)
    assert rushlight.func.vmap(row_sum, in_dims=1)(x.T).tolist() == [3.0, 12.0]
    assert calls == [(2, (0,))]


def test_autocast():
    @custom_op("tests::dtype_seen", mutates_args=())
    def dtype_seen(x: Tensor, n: int) -> Tensor:
        return rushlight.zeros(n, dtype=x.dtype)

    library.register_autocast("tests::dtype_seen", "cpu", rushlight.bfloat16)
    assert dtype_seen(rushlight.ones(1), 2).dtype is rushlight.float32
    with rushlight.autocast("cpu", dtype=rushlight.bfloat16):
        assert dtype_seen(rushlight.ones(1), 2).dtype is rushlight.bfloat16


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cube(), "missing value for argument 'x'"),
        (lambda: cube(3), "Expected a value of type 'Tensor' for argument 'x'"),
        (lambda: cube(rushlight.ones(1), 1.0, 2), "at most 2 argument"),
        (lambda: cube(rushlight.ones(1), scale=1.0), "Unknown keyword argument 'scale'"),
        (lambda: cube(rushlight.ones(1), "2"), "Expected a value of type 'float'"),
        (lambda: library.register_fake("tests::nothing", len), "does not exist"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_names():
    with pytest.raises(ValueError, match="namespace::name"):
        custom_op("plain", mutates_args=())(lambda x: x)
    with pytest.raises(ValueError, match="taken by a module"):
        custom_op("losses::mine", mutates_args=(), schema="(Tensor x) -> Tensor")(lambda x: x)
    with pytest.raises(AttributeError, match="'tests' object has no attribute 'nothing'"):
        rushlight.ops.tests.nothing  # noqa: B018 - the look-up is the test
    assert repr(cube) == "<CustomOpDef(tests::cube)>"
    assert str(rushlight.ops.tests.cube) == "tests.cube"
    assert str(rushlight.ops.tests.cube.default) == "tests.cube.default"
    assert rushlight.ops.tests.cube.overloads() == ["default"]
    with pytest.raises(NotImplementedError, match="custom_op"):
        rushlight.ops.load_library(__file__)
    with pytest.raises(OSError, match="Could not load this library: nowhere.so"):
        rushlight.ops.load_library("nowhere.so")


def test_opcheck():
    arguments = (rushlight.randn(3, requires_grad=True),)
    assert set(opcheck(cube, arguments).values()) == {"SUCCESS"}

    @custom_op("tests::liar", mutates_args=())
    def liar(x: Tensor) -> Tensor:
        x.numpy()[...] = 0
        return rushlight.ones(2)

    liar.register_fake(lambda x: rushlight.empty_like(x))
    found = opcheck(liar, (rushlight.ones(3),), raise_exception=False)
    assert "not defined as mutable" in str(found["test_schema"])
    assert "shape [3]" in str(found["test_faketensor"])
    assert found["test_autograd_registration"] == "SUCCESS"
    with pytest.raises(library.OpCheckError, match="test_schema failed"):
        opcheck(liar, (rushlight.ones(3),))
    with pytest.raises(ValueError, match="unknown checks"):
        opcheck(liar, (), test_utils="test_everything")


def test_opcheck_sees_a_gradient_that_changes():
    @custom_op("tests::fickle", mutates_args=())
    def fickle(x: Tensor) -> Tensor:
        return x.clone()

    count = iter(range(100))
    fickle.register_autograd(lambda ctx, grad: grad * next(count))
    found = opcheck(
        fickle,
        (rushlight.ones(2, requires_grad=True),),
        test_utils="test_aot_dispatch_dynamic",
        raise_exception=False,
    )
    assert "backward passes differ" in str(found["test_aot_dispatch_dynamic"])


@pytest.mark.parametrize("kinds", ["default", None])
def test_a_kernel_for_devices_without_one(kinds):
    library.define(f"tests::halved_{kinds}", "(Tensor x) -> Tensor")
    name = f"tests::halved_{kinds}"
    library.register_kernel(name, kinds, lambda x: x / 2)
    halved = getattr(rushlight.ops.tests, f"halved_{kinds}")
    assert halved(rushlight.ones(1)).tolist() == [0.5]
    library.register_kernel(name, "cpu", lambda x: x / 4)
    assert halved(rushlight.ones(1)).tolist() == [0.25]


def test_a_numba_kernel():
    numba = pytest.importorskip("numba")

    @numba.njit
    def run(x, out):
        total = 0.0
        for i in range(x.size):
            total = 0.5 * total + x[i]
            out[i] = total

    @custom_op("tests::smooth", mutates_args=())
    def smooth(x: Tensor) -> Tensor:
        out = rushlight.empty_like(x)
        run(x.numpy(), out.numpy())
        return out

    smooth.register_autograd(lambda ctx, grad: smooth(grad.flip(0)).flip(0))
    x = rushlight.randn(6, dtype=rushlight.float64, requires_grad=True)
    assert rushlight.autograd.gradcheck(smooth, (x,))
    assert rushlight.autograd.gradgradcheck(smooth, (x,))


def test_a_scipy_routine():
    special = pytest.importorskip("scipy.special")

    @custom_op("tests::erfcx", mutates_args=())
    def erfcx(x: Tensor) -> Tensor:
        return rushlight.from_numpy(special.erfcx(x.numpy()))

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (2 * x * erfcx(x) - 2 / np.sqrt(np.pi))

    erfcx.register_autograd(backward, setup_context=save)
    x = rushlight.randn(5, dtype=rushlight.float64, requires_grad=True)
    assert rushlight.autograd.gradcheck(erfcx, (x,))
