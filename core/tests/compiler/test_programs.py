"""Tracing, promotion, scalars, several outputs, storage dtypes."""

from __future__ import annotations

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from rushlight.compiler import Kernel, ReferenceKernel, compile_kernel, reference, xp
from rushlight.compiler.graph import substitute, trace
from rushlight.machine.elementwise_engine import engine

X = {"x": "f32"}
XY = {"x": "f32", "y": "f32"}


def test_import_is_light():
    code = (
        "import sys, rushlight.compiler; "
        "heavy = {'llvmlite', 'numba', 'scipy', 'torch'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_scalars_are_weak_and_compile_nothing():
    def softplus(x, beta, threshold):
        scaled = beta * x
        return xp.where(scaled > threshold, x, xp.logaddexp(scaled, 0) / beta)

    scalars = {"beta": "f64", "threshold": "i64"}
    kernel = compile_kernel(softplus, X, X, scalars, {}, ("f32",))
    x = np.linspace(-9, 30, 100, dtype=np.float32)
    kernel(x, 1.0, 20)
    compiled = engine().compiled
    for beta in (0.5, 2.5, 3):
        scaled = beta * x.astype(float)
        want = np.where(scaled > 20, x, np.log1p(np.exp(np.minimum(scaled, 50))) / beta)
        np.testing.assert_allclose(kernel(x, beta, 20), want, rtol=3e-6)
    assert engine().compiled == compiled
    with pytest.raises(TypeError):
        kernel(x, "2", 20)
    with pytest.raises(TypeError, match="1 arrays and 2 numbers, got 2"):
        kernel(x, 2.0)


def test_static_values_select_code():
    def gelu(x, approximate, shape=None):
        if approximate == "tanh":
            return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
        return 0.5 * x * (1 + xp.erf(x * 0.7071067811865476))

    programs = [
        trace(gelu, X, X, {}, {"approximate": a, "shape": (1, 2)}, ("f32",))
        for a in ("tanh", "none")
    ]
    assert programs[0].text != programs[1].text and "tanh" in programs[0].text


def test_equal_programs_have_equal_text():
    texts = {
        trace(lambda x, y: xp.exp(x) * (x + y) + xp.exp(x), XY, XY, {}, {}, ("f32",)).text
        for _ in range(3)
    }
    (text,) = texts
    assert text.count("= exp") == 1  # shared


def test_fusion_is_substitution():
    inner = trace(lambda x: xp.exp(x), X, X, {}, {}, ("f32",)).outputs[0][0]
    outer = trace(lambda x: x * x + 1, X, X, {}, {}, ("f32",)).outputs[0][0]
    (fused,) = substitute([outer], {inner.args[0]: inner})
    direct = trace(lambda x: xp.exp(x) * xp.exp(x) + 1, X, X, {}, {}, ("f32",)).outputs[0][0]
    assert fused is direct


@pytest.mark.parametrize("body", [lambda x: x if x > 0 else -x, lambda x: 0 < x < 1])
def test_control_flow_names_the_cure(body):
    with pytest.raises(TypeError, match=r"xp\.where"):
        compile_kernel(body, X, X, {}, {}, ("f32",))


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="unknown dtype 'float32'"):
        compile_kernel(lambda x: x, {"x": "float32"}, {}, {}, {}, ("f32",))
    with pytest.raises(TypeError, match="scalar 'a' must be 'i64' or 'f64'"):
        compile_kernel(lambda x, a: x * a, X, X, {"a": "f32"}, {}, ("f32",))
    with pytest.raises(TypeError, match="gave 1 results, outputs names 2"):
        compile_kernel(lambda x: x, X, X, {}, {}, ("f32", "f32"))
    with pytest.raises(TypeError, match="not defined for bools"):
        compile_kernel(lambda x: -x, {"x": "bool"}, {}, {}, {}, ("bool",))
    with pytest.raises(TypeError, match="expected integers or bools"):
        compile_kernel(lambda x: x & 1, X, X, {}, {}, ("f32",))
    with pytest.raises(TypeError):
        compile_kernel(lambda x: x + np.ones(3), X, X, {}, {}, ("f32",))
    kernel = compile_kernel(lambda x: x + 1, X, X, {}, {}, ("f32",))
    x = np.zeros(3, np.float32)
    with pytest.raises(TypeError, match="argument 'x' must be float32, got float64"):
        kernel(x.astype(float))
    with pytest.raises(TypeError, match="argument 'x' must be an array"):
        kernel([1.0])
    with pytest.raises(TypeError, match="output 0 must be an array of float32"):
        kernel.into((np.zeros(3),), x)
    with pytest.raises(ValueError, match=r"must have shape \(3,\), got \(2,\)"):
        kernel.into((np.zeros(2, np.float32),), x)
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        kernel.into((frozen,), x)


def test_several_outputs_and_in_place_state():
    """Adam: three results, two of them written over their inputs."""

    def adam(p, grad, m, v, rate):
        m = m + (grad - m) * 0.1
        v = 0.999 * v + 0.001 * grad * grad
        return p - rate * m / (xp.sqrt(v) + 1e-8), m, v

    names = dict.fromkeys(("p", "grad", "m", "v"), "f32")
    kernel = compile_kernel(adam, names, names, {"rate": "f64"}, {}, ("f32",) * 3)
    assert kernel.fast is None
    generator = np.random.default_rng(1)
    for shape in ((7,), (4, 33), (), (200, 300)):
        p, grad, m, v = (generator.random(shape).astype(np.float32) for _ in range(4))
        m64 = m + (grad - m.astype(float)) * 0.1
        v64 = 0.999 * v.astype(float) + 0.001 * grad.astype(float) ** 2
        want = p - 0.01 * m64 / (np.sqrt(v64) + 1e-8), m64, v64
        for _ in range(3):
            got = kernel(p, grad, m, v, 0.01)
            assert isinstance(got, tuple) and len(got) == 3
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
        for _ in range(3):
            state = p.copy(), m.copy(), v.copy()
            kernel.into(state, state[0], grad, state[1], state[2], 0.01)
            for a, b in zip(state, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_gradient_formula_is_a_program():
    def backward(grad, input, out):
        return grad * out * (1 - out), grad * input

    names = dict.fromkeys(("grad", "input", "out"), "bf16")
    kernel = compile_kernel(backward, names, names, {}, {}, ("bf16", "f32"))
    arrays = [np.linspace(-1, 1, 99).astype(ml_dtypes.bfloat16) for _ in range(3)]
    grad, input, out = (a.astype(np.float32) for a in arrays)
    first, second = kernel(*arrays)
    np.testing.assert_array_equal(first, (grad * out * (1 - out)).astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(second, grad * input)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_half_width_rounds_once(dtype):
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else np.float16
    names = {"x": dtype, "y": dtype}
    kernel = compile_kernel(lambda x, y: x * y + 0.5, names, names, {}, {}, (dtype,))
    generator = np.random.default_rng(0)
    x, y = (generator.standard_normal(5000).astype(kind) for _ in range(2))
    want = (x.astype(np.float32) * y.astype(np.float32) + np.float32(0.5)).astype(kind)
    np.testing.assert_array_equal(kernel(x, y), want)
    every = np.arange(65536, dtype=np.uint16).view(kind)
    same = compile_kernel(lambda x: x, {"x": dtype}, {}, {}, {}, (dtype,))(every)
    finite = ~np.isnan(every.astype(np.float32))
    np.testing.assert_array_equal(same.view(np.uint16)[finite], every.view(np.uint16)[finite])
    assert np.isnan(same[~finite].astype(np.float32)).all()


def test_rounding_inside_a_body():
    body = lambda x: xp.cast(xp.cast(x * 1.1, "bf16") * 1.1, "f32")
    x = np.linspace(1, 2, 100, dtype=np.float32)
    inner = (x * np.float32(1.1)).astype(ml_dtypes.bfloat16).astype(np.float32)
    for maker in (compile_kernel, reference):
        np.testing.assert_array_equal(
            maker(body, X, X, {}, {}, ("f32",))(x), inner * np.float32(1.1)
        )
        operand = maker(lambda x: x * 2, X, {"x": "bf16"}, {}, {}, ("f32",))(x)
        np.testing.assert_array_equal(operand, x.astype(ml_dtypes.bfloat16).astype(np.float32) * 2)


@pytest.mark.parametrize("dtype", ["u8", "i8", "i16", "i32", "i64"])
def test_integers_wrap(dtype):
    kind = np.dtype({"u8": "u1"}.get(dtype, "i" + str(int(dtype[1:]) // 8)))
    info = np.iinfo(kind)
    x = np.array([0, 1, 2, 5, info.max, info.max - 1, info.min, info.min + 1], kind)
    y = x[::-1].copy()
    names = {"x": dtype, "y": dtype}
    for body in (
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y * 3,
        lambda x, y: -x + ~y,
    ):
        for maker in (compile_kernel, reference):
            got = maker(body, names, names, {}, {}, (dtype,))(x, y)
            assert got.dtype == kind
            np.testing.assert_array_equal(got, body(x, y))


def test_integer_division_never_traps():
    for dtype, kind in (("i32", np.int32), ("i64", np.int64), ("i8", np.int8)):
        smallest = np.iinfo(kind).min
        x = np.array([7, -7, 0, smallest, smallest, 5], kind)
        y = np.array([0, 0, 0, -1, 0, -1], kind)
        names = {"x": dtype, "y": dtype}
        for name in ("floor_divide", "remainder", "fmod"):
            word = getattr(xp, name)
            got = compile_kernel(lambda x, y, w=word: w(x, y), names, names, {}, {}, (dtype,))(x, y)
            want = reference(lambda x, y, w=word: w(x, y), names, names, {}, {}, (dtype,))(x, y)
            np.testing.assert_array_equal(got, want)
            assert got[5] == (-5 if name == "floor_divide" else 0)


def test_wide_integers_divide_exactly():
    generator = np.random.default_rng(0)
    x = generator.integers(-(2**62), 2**62, 20_000) >> generator.integers(0, 62, 20_000)
    y = generator.integers(-(2**62), 2**62, 20_000) >> generator.integers(0, 62, 20_000)
    y[y == 0] = 7
    edges = np.array([2**53, 2**53 - 1, 2**53 + 1, 2**54 - 1, 1 - 2**53, 3 * 2**51 - 1])
    x, y = np.concatenate([x, edges, edges]), np.concatenate([y, edges[::-1], edges // 3 + 1])
    names = {"x": "i64", "y": "i64"}
    for word, function in ((xp.floor_divide, np.floor_divide), (xp.remainder, np.remainder)):
        got = compile_kernel(lambda x, y, w=word: w(x, y), names, names, {}, {}, ("i64",))(x, y)
        np.testing.assert_array_equal(got, function(x, y))


CONVERSIONS = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]


@pytest.mark.parametrize("source", CONVERSIONS)
@pytest.mark.parametrize("target", CONVERSIONS)
def test_conversions(source, target):
    torch = pytest.importorskip("torch")
    names = {
        "bool": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32",
        "i64": "int64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    }  # fmt: skip
    values = [0, 1, -1, 2, 100, 127, 3.5, -3.5, 0.25, -0.0, -128, 30000]
    tensor = torch.tensor(values, dtype=torch.float64).to(getattr(torch, names[source]))
    want = tensor.to(getattr(torch, names[target]))
    x = (
        tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        if source == "bf16"
        else tensor.numpy()
    )
    for maker in (compile_kernel, reference):
        got = maker(lambda x: x, {"x": source}, {}, {}, {}, (target,))(x)
        np.testing.assert_array_equal(got.astype(np.float64), want.double().numpy())


def test_operands_are_cast_before_the_body():
    inputs = {"x": "i64", "y": "u8", "mask": "bool"}
    operands = {"x": "f32", "y": "f32", "mask": "bool"}
    body = lambda x, y, mask: xp.where(mask, x / y, y)
    x, y = np.array([1, 2, 3]), np.array([2, 0, 5], np.uint8)
    mask = np.array([True, True, False])
    for maker in (compile_kernel, reference):
        got = maker(body, inputs, operands, {}, {}, ("f32",))(x, y, mask)
        np.testing.assert_array_equal(got, np.array([0.5, np.inf, 5], np.float32))


def test_uniform_results_and_no_inputs():
    constant = compile_kernel(lambda x, a: a * 2, X, X, {"a": "f64"}, {}, ("f64",))
    np.testing.assert_array_equal(constant(np.zeros(70, np.float32), 1.25), np.full(70, 2.5))
    fill = compile_kernel(lambda value: value, {}, {}, {"value": "f64"}, {}, ("bf16",))
    assert fill.fast is None
    for shape in ((), (5,), (3, 100)):
        out = np.zeros(shape, ml_dtypes.bfloat16)
        for value in (1.5, -2.0):
            fill.into((out,), value)
            assert (out == value).all()
    with pytest.raises(TypeError, match="without input arrays"):
        fill(1.0)


def test_reference_has_the_same_interface(monkeypatch):
    monkeypatch.setattr("rushlight.compiler.compilation.kernels_mode", lambda: "reference")
    kernel = compile_kernel(lambda x, a: x * a, X, X, {"a": "i64"}, {}, ("f32",))
    assert isinstance(kernel, ReferenceKernel) and not isinstance(kernel, Kernel)
    x = np.asfortranarray(np.ones((3, 4), np.float32))
    assert kernel.fast is None and kernel(x, 2).strides == x.strides
    kernel.into((x,), x, 3)
    assert (x == 3).all()


def test_reference_mode_by_environment():
    code = (
        "import sys, numpy as np; from rushlight.compiler import compile_kernel, ReferenceKernel; "
        "k = compile_kernel(lambda x: x + 1, {'x': 'f32'}, {}, {}, {}, ('f32',)); "
        "assert type(k) is ReferenceKernel and k(np.zeros(2, 'f'))[0] == 1; "
        "assert 'llvmlite' not in sys.modules"
    )
    environment = {**os.environ, "RUSHLIGHT_KERNELS": "reference"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize("n", [1, 7, 33, 1 << 16])
def test_every_bfloat16_is_read_and_rounded(n):
    """All bits of a bfloat16; float32 halfway between two, beside that, subnormal, NaN."""
    every = np.arange(1 << 16, dtype=np.uint16)[-n:].view(ml_dtypes.bfloat16)
    wide = compile_kernel(lambda x: x * 1.0, {"x": "bf16"}, {}, {}, {}, ("f32",))
    found, exact = wide(every), every.astype(np.float32)
    np.testing.assert_array_equal(found, exact)
    narrow = compile_kernel(lambda x: xp.abs(x), X, X, {}, {}, ("bf16",))
    inner = compile_kernel(
        lambda x: xp.cast(xp.cast(xp.abs(x), "bf16"), "f32"), X, X, {}, {}, ("f32",)
    )
    for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        x = (every.view(np.uint16).astype(np.uint32) << 16 | low).view(np.float32)
        number = ~np.isnan(x)
        with np.errstate(invalid="ignore"):
            want = np.abs(x).astype(ml_dtypes.bfloat16).view(np.uint16)
        got = narrow(x).view(np.uint16)
        np.testing.assert_array_equal(got[number], want[number])
        assert np.isnan(got[~number].view(ml_dtypes.bfloat16).astype(np.float32)).all()
        np.testing.assert_array_equal(inner(x)[number], want[number].view(ml_dtypes.bfloat16))
        assert np.isnan(inner(x)[~number]).all()
