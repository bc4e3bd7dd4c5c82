"""The printer of CUDA C++: values, forms, layouts and rounding of generated kernels."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import emulator_only

import rushlight
from rushlight.compiler import xp
from rushlight.compiler.cuda import kernel as cuda_kernel
from rushlight.compiler.cuda import text as cuda_text
from rushlight.compiler.cuda.device_array import empty, from_host
from rushlight.compiler.cuda.kernel import DeviceKernel
from rushlight.compiler.cuda.text import FORMS, Printer
from rushlight.compiler.graph import trace
from rushlight.compiler.kernel import ReferenceKernel
from rushlight.compiler.storage import NUMPY
from rushlight.machine.cuda import runtime


def program(body, *dtypes, out=None, **scalars):
    """A traced program of arrays x0, x1, ... and run-time numbers."""
    inputs = {f"x{i}": d for i, d in enumerate(dtypes)}
    return trace(body, inputs, dict(inputs), scalars, {}, (out or dtypes[0],))


def values(dtype, *shape, seed=0):
    """Test values of a dtype, edges among floats."""
    generator = np.random.default_rng(seed)
    kind = NUMPY[dtype]
    if kind.kind == "b":
        return generator.random(shape) > 0.5
    if kind.kind in "iu":
        return generator.integers(0 if kind.kind == "u" else -50, 50, shape).astype(kind)
    found = generator.normal(scale=3, size=shape).astype(kind)
    if found.size > 6:
        edges = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0]).astype(kind)
        found.reshape(-1)[:5] = edges
    return found


BODIES = {
    "arithmetic": lambda x0, x1: (x0 + x1) * x0 - x1 / 3,
    "exponentials": lambda x0, x1: xp.exp(x0 * 0.1) + xp.log1p(xp.abs(x1)) - xp.tanh(x0),
    "circles": lambda x0, x1: xp.sin(x0) * xp.atan2(x0, x1) + xp.cos(x1 * 1e6),
    "errors": lambda x0, x1: xp.erf(x0) + xp.erfc(x1) + xp.erfinv(xp.tanh(x0) * 0.9),
    "gamma": lambda x0, x1: xp.lgamma(xp.abs(x0) + 0.5) + xp.digamma(xp.abs(x1) + 0.5),
    "powers": lambda x0, x1: xp.power(xp.abs(x0), x1 * 0.1) + xp.sqrt(xp.abs(x1)),
    "choices": lambda x0, x1: xp.where((x0 > x1) | xp.isnan(x0), xp.maximum(x0, x1), -x1),
    "remainders": lambda x0, x1: xp.fmod(x0, x1) + xp.remainder(x0, x1) + xp.floor_divide(x0, x1),
    "rounding": lambda x0, x1: xp.round(x0) + xp.floor(x1) - xp.trunc(x0) + xp.ceil(x1),
    "signs": lambda x0, x1: xp.copysign(x0, x1) + xp.sign(x0) + xp.hypot(x0, x1),
}


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "f16"])
@pytest.mark.parametrize("name", BODIES)
def test_values_are_those_of_the_reference(name, dtype):
    found = program(BODIES[name], dtype, dtype)
    a, b = values(dtype, 1003), values(dtype, 1003, seed=1)
    expected = ReferenceKernel(found)(a, b).astype(np.float64)
    result = DeviceKernel(found)(from_host(a), from_host(b)).get().astype(np.float64)
    tolerance = {"f32": 3e-6, "f64": 1e-13, "bf16": 1e-2, "f16": 2e-3}[dtype]
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


INTEGERS = {
    "wrap": lambda x0, x1: x0 * x0 * x1 + x1 - x0,
    "division": lambda x0, x1: xp.floor_divide(x0, x1) + xp.remainder(x0, x1),
    "bits": lambda x0, x1: (x0 & x1) | (x0 ^ 5) + ~x1,
    "shifts": lambda x0, x1: xp.left_shift(x0, 3) + xp.right_shift(x1, 2),
    "powers": lambda x0, x1: xp.power(x0, xp.abs(x1)),
    "extremes": lambda x0, x1: xp.maximum(x0, x1) - xp.minimum(xp.abs(x0), x1),
}


@pytest.mark.parametrize("dtype", ["u8", "i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap_and_divide_as_on_the_cpu(name, dtype):
    found = program(INTEGERS[name], dtype, dtype)
    a, b = values(dtype, 257), values(dtype, 257, seed=1)
    result = DeviceKernel(found)(from_host(a), from_host(b)).get()
    np.testing.assert_array_equal(result, ReferenceKernel(found)(a, b))


LAYOUTS = {
    "odd length": (lambda a: a[:1001], lambda b: b[:1001]),
    "one element": (lambda a: a[:1], lambda b: b[5:6]),
    "misaligned": (lambda a: a[1:], lambda b: b[1:]),
    "every other": (lambda a: a[::2], lambda b: b[1::2]),
    "reversed": (lambda a: a[::-1], lambda b: b),
    "transposed": (lambda a: a.reshape(32, 32).T, lambda b: b.reshape(32, 32)),
    "row for all": (lambda a: a.reshape(32, 32), lambda b: b[:32]),
    "column for all": (lambda a: a.reshape(32, 32), lambda b: b[:32].reshape(32, 1)),
    "one for all": (lambda a: a.reshape(4, 8, 32), lambda b: b[7:8].reshape(())),
    "outer": (lambda a: a[:31].reshape(31, 1), lambda b: b[:33]),
    "six dimensions": (
        lambda a: a.reshape(4, 4, 2, 4, 2, 4).transpose(5, 0, 3, 1, 4, 2),
        lambda b: b.reshape(4, 4, 4, 4, 2, 2),
    ),
    "nothing": (lambda a: a[:0], lambda b: b[:0]),
}


@pytest.mark.parametrize("order", ["forwards", pytest.param("backwards", marks=emulator_only)])
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout(name, order):
    found = program(lambda x0, x1: x0 * 2 + x1, "f32", "f32")
    kernel, expected = DeviceKernel(found), ReferenceKernel(found)
    a, b = values("f32", 1024), values("f32", 1024, seed=1)
    first, second = LAYOUTS[name]
    x, y = first(from_host(a)), second(from_host(b))
    if order == "backwards":
        with runtime.current().reversed_order():
            result = kernel(x, y)
    else:
        result = kernel(x, y)
    np.testing.assert_array_equal(result.get(), expected(first(a), second(b)))


def test_results_lie_as_their_operands():
    found = program(lambda x0: x0 + 1, "f32")
    x = from_host(values("f32", 2, 3, 4)).transpose(0, 2, 1)
    assert DeviceKernel(found)(x).strides == x.strides


def test_in_place_and_overlapping_outputs():
    kernel = DeviceKernel(program(lambda x0, x1: x0 + x1, "f32", "f32"))
    host = np.arange(20, dtype=np.float32)
    x = from_host(host)
    kernel.into((x,), x, x)
    np.testing.assert_array_equal(x.get(), 2 * host)
    x = from_host(host)
    kernel.into((x[1:],), x[:-1], x[1:])
    host[1:] = host[:-1] + host[1:]
    np.testing.assert_array_equal(x.get(), host)
    out = empty((3, 4), np.dtype(np.float32))
    kernel.into((out.T,), from_host(np.ones((4, 3), np.float32)), from_host(np.ones(3, "f4")))
    np.testing.assert_array_equal(out.get(), np.full((3, 4), 2.0))


def test_several_outputs():
    found = trace(
        lambda x0: (x0 + 1, x0 > 0), {"x0": "f32"}, {"x0": "f32"}, {}, {}, ("f32", "bool")
    )
    host = values("f32", 100)
    more, positive = DeviceKernel(found)(from_host(host))
    np.testing.assert_array_equal(more.get(), host + 1)
    np.testing.assert_array_equal(positive.get(), host > 0)


def test_numbers_are_arguments_and_compile_nothing():
    kernel = DeviceKernel(program(lambda x0, a, b: x0 * a + b, "f32", a="f64", b="i64"))
    x = from_host(np.arange(5, dtype=np.float32))
    kernel(x, 1.0, 2)
    before = runtime.current().counters.snapshot()
    result = kernel(x, 0.5, -7)
    assert runtime.current().counters.since(before)["compilations"] == 0
    np.testing.assert_array_equal(result.get(), np.arange(5) * 0.5 - 7)


def test_new_attributes_of_ops_compile_nothing():
    x = rushlight.randn(64, device="cuda")
    rushlight.nn.functional.softplus(x, 1.25)
    x.add(2.5).clamp(-0.3, 0.4)
    before = runtime.current().counters.snapshot()
    for beta in (2.0, 3.5):
        rushlight.nn.functional.softplus(x, beta)
        x.add(beta).clamp(-beta, beta)
    assert runtime.current().counters.since(before)["compilations"] == 0


def test_host_numbers_join_as_arguments():
    kernel = DeviceKernel(program(lambda x0, x1: x0 - x1, "f32", "f32"))
    x = from_host(np.arange(5, dtype=np.float32))
    before = runtime.current().counters.snapshot()
    result = kernel(x, np.array(2.5, np.float32))
    assert runtime.current().counters.since(before)["copies_in"] == 0
    np.testing.assert_array_equal(result.get(), np.arange(5) - 2.5)
    with pytest.raises(TypeError, match=r"'x1' is a host array of shape \(5,\)"):
        kernel(x, np.zeros(5, np.float32))


def test_indices_beyond_31_bits(monkeypatch):
    """64-bit division of the index, chosen by size, computes the same."""
    monkeypatch.setattr(cuda_text, "NARROW", 16)
    kernel = DeviceKernel(program(lambda x0, x1: x0 + x1 * 77, "f32", "f32"))
    a, b = values("f32", 30, 7), values("f32", 7, seed=1)
    form, words = cuda_kernel._layout((30, 7), [from_host(a)], [from_host(a.T.copy()).T])
    assert form == "strided" and int(words["count"]) == 210
    np.testing.assert_array_equal(kernel(from_host(a), from_host(b)).get(), a + b * 77)
    narrow, wide = Printer(kernel.program).text(("strided",)).split("} else {")
    assert "(layout.count <= 16ll)" in narrow and "    unsigned left" in narrow
    assert "    unsigned long long left" in wide


def test_dimensions_are_merged_by_layout():
    x = from_host(np.zeros((2, 3, 4, 5), np.float32))
    shape, steps = cuda_kernel.merged(x.shape, [x.strides, x.strides], [x])
    assert (shape, steps) == ((120,), [(4,), (4,)])
    part = x[:, :, 1:]
    shape, _ = cuda_kernel.merged(part.shape, [x[:, :, 1:].copy().strides, part.strides], [part])
    assert shape == (6, 15)


def test_texts_are_shared_and_load_16_bytes():
    first = Printer(program(lambda x0: x0 * 2, "bf16"))
    second = Printer(program(lambda x0: x0 * 2, "bf16"))
    assert first.name == second.name and first.text() == second.text()
    assert "pack<bfloat_bits, 8>" in first.text(("flat",))
    assert [f"{first.name}_{form}" in first.text() for form in FORMS] == [True] * 2


def test_fused_gradients_are_one_launch():
    x = rushlight.randn(300, device="cuda", requires_grad=True)
    rushlight.nn.functional.gelu(x).sum().backward()
    x.grad = None
    y = rushlight.nn.functional.gelu(x)
    before = runtime.current().counters.snapshot()
    y.backward(rushlight.ones_like(y))
    assert runtime.current().counters.since(before)["launches"] <= 3, "ones, gradient, accumulate"
