"""Elementwise ops of complex numbers: calls by one NumPy function give what programs do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight as rl
from rushlight.compiler import compile_kernel, xp
from rushlight.compiler.kernel import ReferenceKernel

BODIES = {
    "abs": (lambda a: xp.abs(a), ("c64",), "f32"),
    "exp": (lambda a: xp.exp(a), ("c128",), "c128"),
    "multiply": (lambda a, b: a * b, ("c64", "c64"), "c64"),
    "divide": (lambda a, b: a / b, ("c64", "c64"), "c64"),
}


def kernel_of(name):
    body, dtypes, out = BODIES[name]
    names = body.__code__.co_varnames[: len(dtypes)]
    dtypes = dict(zip(names, dtypes, strict=True))
    return compile_kernel(body, dtypes, dtypes, {}, {}, (out,))


def operands(kernel, layout):
    rng, found = np.random.default_rng(1), []
    for position, dtype in enumerate(kernel.inputs):
        shape = (1, 5) if layout == "broadcast" and position else (4, 1, 5)
        x = (rng.standard_normal((4, 1, 5)) + 1j * rng.standard_normal((4, 1, 5))).astype(dtype)
        if layout == "transposed":
            x = x.transpose(2, 1, 0)
        if layout == "every other":
            x = np.repeat(x, 2, -1)[..., ::2]
        found.append(x[0] if len(shape) == 2 else x)
    return found


@pytest.mark.parametrize("layout", ["dense", "transposed", "every other", "broadcast"])
@pytest.mark.parametrize("name", BODIES)
def test_short_calls_are_the_program(name, layout):
    kernel = kernel_of(name)
    assert isinstance(kernel, ReferenceKernel)
    arrays = operands(kernel, layout)
    want = kernel(*arrays)
    found = kernel.short(*arrays)
    assert found.dtype == want.dtype and found.strides == want.strides
    assert np.array_equal(found, want)
    out = np.empty_like(want)
    assert kernel.short_into(*arrays, out) is out
    assert np.array_equal(out, want)
    assert kernel.short_into(*arrays, np.empty((2, 3), want.dtype)) is NotImplemented
    assert kernel.short(*[x.tolist() for x in arrays]) is NotImplemented


def test_programs_of_several_nodes_have_no_short_call():
    kernel = compile_kernel(lambda a: xp.abs(a) * 2, {"a": "c64"}, {"a": "c64"}, {}, {}, ("f32",))
    assert kernel.short is None and kernel.short_into is None


def test_second_calls_warn_of_nothing_and_keep_infinities():
    z = rl.tensor([complex("inf"), complex("nan"), 0, 3 + 4j])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            found, ratio = z.abs(), z / rl.zeros_like(z)
    assert found[0] == float("inf") and found[1].isnan() and found[3] == 5
    assert ratio.isfinite().sum() == 0


def test_calls_in_place_reach_views_and_graphs():
    z = rl.arange(6).to(rl.complex64).reshape(2, 3)
    for _ in range(2):
        z[:, ::2].mul_(2.0)
    assert z.tolist() == [[0, 1, 8], [12, 4, 20]]
    leaf = rl.ones(3, dtype=rl.complex64, requires_grad=True)
    for _ in range(2):
        made = leaf * 3.0
        made.mul_(2.0)
    made.abs().sum().backward()
    assert leaf.grad.tolist() == [6, 6, 6]
    with pytest.raises(RuntimeError, match="inplace"):
        made = leaf * leaf
        factor = made * made
        made.mul_(2.0)
        factor.abs().sum().backward()


@pytest.mark.parametrize("make", [rl.view_as_real, lambda z: z.real, lambda z: z.imag])
def test_parts_share_memory_versions_and_history(make):
    z = (rl.arange(4) + 2j).requires_grad_()
    for _ in range(3):
        part = make(z.detach())
        version = part._version
        part.add_(0)
        assert part._version == version + 1 and part.dtype is rl.float32
        assert part._base is not None or part.data_ptr() >= z.data_ptr()
        make(z).square().sum().backward()
    want = rl.autograd.grad((make(z) * 3).square().sum() / 9, z)[0]
    assert rl.allclose(z.grad, 3 * want)


def test_pairs_as_complex_numbers_share_memory():
    pairs = rl.arange(6.0).reshape(3, 2)
    for _ in range(3):
        whole = rl.view_as_complex(pairs)
        whole += 1
    assert pairs[:, 0].tolist() == [3, 5, 7] and whole.dtype is rl.complex64
    with pytest.raises(RuntimeError, match="last dimension of size 2"):
        rl.view_as_complex(pairs.t())


@pytest.mark.parametrize("dtype", [rl.complex64, rl.complex128, rl.float32])
def test_one_kernel_serves_all_complex_numbers(dtype):
    x = rl.tensor([1.0, -2.0, 3.0]).to(dtype)
    numbers = [complex(k, 1 - k) for k in range(50)]
    kernels = rl.mul.op.paths.kernels
    assert (x * numbers[0]).is_complex()
    before = len(kernels)
    for number in numbers:
        found = (x * number).numpy()
        assert found.dtype == (np.complex128 if dtype is rl.complex128 else np.complex64)
        assert np.array_equal(found, x.numpy() * found.dtype.type(number))
    assert len(kernels) == before


def test_complex_numbers_in_gradients_and_beyond_the_range():
    z = rl.tensor([1 + 1j, 2 - 1j], requires_grad=True)
    ((2 - 1j) * z + 3j).real.sum().backward()
    assert z.grad.tolist() == [2 + 1j, 2 + 1j]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (rl.ones(1, dtype=rl.complex64) * complex(1e300, 0)).real.item() == float("inf")
