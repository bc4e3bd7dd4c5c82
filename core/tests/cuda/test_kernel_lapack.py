"""Linear algebra of devices over stand-ins for cuBLAS and cuSOLVER: results are the CPU's, for all
dtypes, batches and shapes, and what has failed is told by number."""

from __future__ import annotations

import numpy as np
import pytest
import standin_solver
from kernel_cases import ON_DEVICE

import rushlight
from rushlight.compiler.cuda.device_array import DeviceArray, from_host
from rushlight.kernels.linalg import cuda as lapack
from rushlight.kernels.linalg import lapack as cpu
from rushlight.machine.cuda import runtime

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
BATCHES = ((), (3,), (2, 2))
TOLERANCE = {np.float32: 2e-4, np.complex64: 2e-4, np.float64: 1e-10, np.complex128: 1e-10}


@pytest.fixture(autouse=True)
def _solver(_emulated, monkeypatch):
    standin_solver.calls.clear()
    if ON_DEVICE:
        return
    found = standin_solver.standin()
    monkeypatch.setattr(type(runtime.current()), "solver", lambda self: found)


def random(dtype, *shape):
    generator = np.random.default_rng(sum(shape))
    parts = generator.standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1] if np.dtype(dtype).kind == "c" else parts[0]).astype(dtype)


def agree_on_factors(a, dtype):
    """LU: the factors are the CPU's; a device may choose other pivots among complex numbers, by
    another size of theirs, so there the product is compared."""
    if not ON_DEVICE or np.dtype(dtype).kind != "c":
        return agree("lu", a, dtype=dtype)
    found = lapack.lu(from_host(a))
    lower, upper, pivots = (x.get() for x in lapack.lu_parts(from_host(a)))
    order = cpu.permutations(pivots, a.shape[-2], np.dtype(dtype))
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(order @ lower @ upper, a, rtol=tolerance, atol=tolerance)
    return found


def agree(name, *arguments, dtype, **options):
    """A function here and there: equal results, of equal dtypes."""
    there = [from_host(a) if isinstance(a, np.ndarray) else a for a in arguments]
    found = getattr(lapack, name)(*there, **options)
    expected = getattr(cpu, name)(*arguments, **options)
    assert isinstance(found, tuple) == isinstance(expected, tuple)
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    for a, b in zip(found, expected, strict=True):
        if b is None:
            assert a is None
            continue
        assert type(a) is DeviceArray and a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a.get(), b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    return found


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_square_matrices(dtype, batch):
    a, b = random(dtype, *batch, 20, 20), random(dtype, *batch, 20, 3)
    sure = a / 20 + np.eye(20, dtype=dtype)
    positive = a @ np.swapaxes(a, -1, -2).conj() + 20 * np.eye(20, dtype=dtype)
    for upper in (False, True):
        agree("cholesky", positive, upper=upper, dtype=dtype)
        for left in (True, False):
            other = b if left else np.ascontiguousarray(np.swapaxes(b, -1, -2))
            for unit in (True, False):
                agree("solve_triangular", sure, other, upper, left, unit, dtype=dtype)
    for upper in (False, True):
        agree("cholesky_solve", cpu.cholesky(positive, upper)[0], b, upper, dtype=dtype)
    factors, pivots, _ = agree_on_factors(a, dtype)
    if factors.dtype.kind != "c" or not ON_DEVICE:
        agree("lu_parts", a, dtype=dtype)
        agree("triangle_of", a, dtype=dtype)
    agree("permutations", pivots.get(), 20, np.dtype(dtype), dtype=dtype)
    for adjoint in (False, True):
        agree("lu_solve", factors.get(), pivots.get(), b, adjoint, dtype=dtype)
    agree("inverse", a, dtype=dtype)
    agree("solve", a, b, dtype=dtype)
    agree("determinant", a / 4, dtype=dtype)
    agree("ldl", positive, True, dtype=dtype)
    factors, pivots, _ = cpu.ldl(positive, True)
    agree("ldl_solve", factors, pivots, b, True, dtype=dtype)
    batched = [name for name in standin_solver.calls if name.endswith("Batched")]
    assert bool(batched) == bool(batch) or ON_DEVICE


@pytest.mark.parametrize("shape", [(18, 20), (20, 18), (3, 24, 18), (2, 18, 18)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_rectangular_matrices(dtype, shape):
    a = random(dtype, *shape)
    agree_on_factors(a, dtype)
    packed, tau = agree("geqrf", a, dtype=dtype)
    for complete in (False, True):
        agree("qr", a, complete, dtype=dtype)
    agree("qr", a, False, False, dtype=dtype)
    tall = shape[-2] >= shape[-1]
    if tall:
        agree("householder_product", packed.get(), tau.get(), dtype=dtype)
        agree("householder_product", packed.get(), tau.get()[..., :0], dtype=dtype)
    narrow = packed.get()[..., : min(shape[-2:])]
    other = random(dtype, *shape[:-1], 4)
    for transpose in (False, True):
        agree("multiply_reflectors", narrow, tau.get(), other, True, transpose, dtype=dtype)
        turned = np.ascontiguousarray(np.swapaxes(other, -1, -2))
        agree("multiply_reflectors", narrow, tau.get(), turned, False, transpose, dtype=dtype)
    found = agree_on_least_squares(a, other, dtype)
    assert found[3].get().tolist() == np.zeros(shape[:-2], np.int32).tolist()
    agree("least_squares", a, other, 1e-6, "gelsd", dtype=dtype)


def agree_on_least_squares(a, other, dtype):
    """The solution, and the residuals' lengths: the residuals themselves have other signs."""
    n = a.shape[-1]
    found = lapack.least_squares(from_host(a), from_host(other), 0.0, "gels")
    expected = cpu.least_squares(a, other, 0.0, "gels")
    close = {"rtol": 10 * TOLERANCE[dtype], "atol": 10 * TOLERANCE[dtype]}
    np.testing.assert_allclose(found[0].get()[..., :n, :], expected[0][..., :n, :], **close)
    lengths = [np.linalg.norm(x[..., n:, :], axis=-2) for x in (found[0].get(), expected[0])]
    np.testing.assert_allclose(*lengths, **close)
    assert [x.dtype for x in found] == [x.dtype for x in expected]
    assert [x.shape for x in found] == [x.shape for x in expected]
    return found


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_failures_are_told_by_number(batch):
    a = np.broadcast_to(np.eye(4, dtype=np.float32), (*batch, 4, 4)).copy()
    a[..., 2, 2] = -1
    assert (lapack.cholesky(from_host(a))[1].get() == 3).all()
    a[..., 2, 2] = 0
    assert (lapack.lu(from_host(a))[2].get() == 3).all()
    assert (lapack.inverse(from_host(a))[1].get() == 3).all()
    found = lapack.least_squares(from_host(a), from_host(a), 0.0, "gels")
    assert (found[3].get() == 3).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0, 2, 2)], ids=str)
def test_nothing_is_no_call(shape):
    a = np.zeros(shape, np.float32)
    agree("lu", a, dtype=np.float32)
    agree("geqrf", a, dtype=np.float32)
    if shape[-1] == shape[-2]:
        agree("cholesky", a, dtype=np.float32)
        agree("inverse", a, dtype=np.float32)
    assert not standin_solver.calls


def test_tensors_use_the_library():
    a = rushlight.randn(3, 18, 18, device="cuda", requires_grad=True)
    b = rushlight.randn(3, 18, 2, device="cuda")
    found = rushlight.linalg.solve(a, b)
    assert ON_DEVICE or {"sgetrfBatched", "sgetrsBatched"} <= set(standin_solver.calls)
    found.sum().backward()
    rushlight.testing.assert_close(a.detach() @ found.detach(), b, rtol=1e-3, atol=1e-3)
    here = a.detach().cpu().requires_grad_()
    rushlight.linalg.solve(here, b.cpu()).sum().backward()
    rushlight.testing.assert_close(a.grad.cpu(), here.grad, rtol=1e-2, atol=1e-2)
    with pytest.raises(rushlight.linalg.LinAlgError, match="singular"):
        rushlight.linalg.inv(rushlight.zeros(2, 2, device="cuda"))
