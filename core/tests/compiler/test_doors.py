"""Built-in functions over kernels: what they take, what they refuse, counts, threads, fallback."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest

from rushlight.compiler import compile_kernel, xp
from rushlight.machine import native_functions as llvm_door

XY = {"x": "f32", "y": "f32"}
A = np.random.default_rng(7).standard_normal((8, 64)).astype(np.float32)

pytestmark = pytest.mark.skipif(
    not llvm_door.is_available(), reason="this interpreter has other object headers"
)


@pytest.fixture(scope="module")
def add():
    return compile_kernel(lambda x, y: x + y, XY, XY, {}, {}, ("f32",))


@pytest.fixture(scope="module")
def scaled():
    scalars = {"a": "f64", "n": "i64"}
    return compile_kernel(lambda x, a, n: x * a + n, {"x": "f32"}, {}, scalars, {}, ("f32",))


def test_fast_results(add, scaled):
    assert type(add.fast) is type(len)
    np.testing.assert_array_equal(add.fast(A, A), A + A)
    np.testing.assert_array_equal(scaled.fast(A, 0.5, 3), A * np.float32(0.5) + 3)
    np.testing.assert_array_equal(scaled.fast(A, -1.0, -1), -A - 1)  # the values that mean errors
    np.testing.assert_array_equal(scaled.fast(A, np.float32(2), np.int64(1)), A * 2 + 1)
    for x in (A[:0], A[0, :1].reshape(()), A[:, :0], A[:1, :1], A[2], A[::1, :]):
        got = add.fast(x, x)
        assert type(got) is np.ndarray and got.shape == x.shape and got.flags.owndata
        np.testing.assert_array_equal(got, x + x)


def test_fast_bfloat16_and_bool():
    names = {"x": "bf16", "y": "bf16"}
    x = A.astype(ml_dtypes.bfloat16)
    got = compile_kernel(lambda x, y: x * y, names, names, {}, {}, ("bf16",)).fast(x, x)
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(got, x * x)
    got = compile_kernel(lambda x, y: x < y, names, names, {}, {}, ("bool",)).fast(
        x, x[::-1].copy()
    )
    np.testing.assert_array_equal(got, x < x[::-1])
    assert (
        compile_kernel(lambda x, y: x, names, names, {}, {}, ("bf16",)).fast(A, A) is NotImplemented
    )


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    out = raw[1:].view(x.dtype).reshape(x.shape)
    out[...] = x
    return out


def test_fast_refuses(add, scaled):
    class Sub(np.ndarray):
        pass

    refused = [
        (A,),
        (A, A, A),
        (),
        (A, A[0]),
        (A, 1.0),
        (A, A.astype(float)),
        (A, A.T.copy().T),
        (A.view(Sub), A),
        (A, None),
        (A, A.astype(">f4")),
        (A, unaligned(A)),
        (A[:, ::2], A[:, ::2]),
        (A.reshape(64, 8), A),
        (np.zeros(1 << 16, np.float32),) * 2,
    ]
    for arguments in refused:
        assert add.fast(*arguments) is NotImplemented
    with pytest.raises(TypeError):
        scaled.fast(A, "x", 1)
    with pytest.raises(TypeError):
        scaled.fast(A, 1.0, 1.5)
    assert scaled.fast(A, 1.0, 1 << 70) is NotImplemented  # the general call wraps or refuses
    assert add.fast(A, 1 << 70) is NotImplemented
    with pytest.raises(OverflowError):
        scaled(A, 1.0, 1 << 70)
    with pytest.raises(TypeError):
        add.fast(A, y=A)


def test_general_call_takes_what_fast_refuses(add):
    for x, y in ((A, A[0]), (A, A.T.copy().T), (A, unaligned(A)), (unaligned(A), unaligned(A))):
        for _ in range(3):
            np.testing.assert_array_equal(add(x, y), x + y)
            target = unaligned(A)
            add.into((target,), x, y)
            np.testing.assert_array_equal(target, x + y)


def test_fast_into(add):
    out = np.empty_like(A)
    assert add.fast_into(A, A, out) is out
    np.testing.assert_array_equal(out, A + A)
    same = A.copy()
    add.fast_into(same, same, same)
    np.testing.assert_array_equal(same, A + A)
    flat = A.ravel().copy()
    assert add.fast_into(flat[1:], flat[1:], flat[:-1]) is NotImplemented
    assert add.fast_into(flat[:-1], flat[:-1], flat[1:]) is NotImplemented
    neighbours = np.zeros((3, 512), np.float32)  # touching is not overlapping
    neighbours[0] = A.ravel()
    assert add.fast_into(neighbours[0], neighbours[2], neighbours[1]) is not NotImplemented
    np.testing.assert_array_equal(neighbours[1], neighbours[0])
    halve = compile_kernel(lambda x: x, {"x": "f64"}, {}, {}, {}, ("f32",))
    wide = np.arange(64.0)
    assert halve.fast_into(wide, wide.view(np.float32)[:64]) is NotImplemented
    halve.into((wide.view(np.float32)[:64],), wide)
    np.testing.assert_array_equal(wide.view(np.float32)[:64], np.arange(64))
    frozen = A.copy()
    frozen.flags.writeable = False
    for target in (frozen, A[0].copy(), A.astype(float), None):
        assert add.fast_into(A, A, target) is NotImplemented


@pytest.mark.parametrize("rows", [16, 500, 3000, 20_000])
def test_larger_results_are_aligned_and_released(add, rows):
    """From 32 KiB on results start on a cache line; what holds their memory goes with them."""
    x = np.tile(A[0], (rows, 8))
    turned = np.asfortranarray(x)

    def results():
        yield add.fast(x, x) if add.fast(x, x) is not NotImplemented else add(x, x)
        yield from (add(x, x), add(x, x[0]), add(turned, turned))

    for got in results():
        assert got.ctypes.data % (64 if got.nbytes >= 1 << 15 else 16) == 0
        assert (
            got.flags.writeable
            and got.flags.aligned
            and not isinstance(getattr(got.base, "base", None), np.ndarray)
        )
        np.testing.assert_array_equal(got, x + (x if got.strides == x.strides else turned))
    assert add(turned, turned).flags.f_contiguous and add(x, x).flags.c_contiguous
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(400_000_000 // x.nbytes // 4):
        for got in results():
            got[0, 0] = 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # KiB


def test_references_are_balanced(add, scaled):
    row, out = A[0].copy(), A.copy()
    dtype = np.dtype(np.float32)
    before = [sys.getrefcount(x) for x in (dtype, A, row, out, NotImplemented)]
    for _ in range(500):
        add.fast(A, A), add.fast(A, 1.0), add.fast_into(A, A, out), add(A, row)
        scaled.fast(A, 1.0, 2), add.into((out,), A, row), add.fast_into(A, A, row)
    after = [sys.getrefcount(x) for x in (dtype, A, row, out, NotImplemented)]
    assert all(abs(a - b) < 50 for a, b in zip(before, after, strict=True))


def test_doors_outlive_their_kernel():
    names = {"x": "f64"}

    def doors(k):
        kernel = compile_kernel(lambda x: x * k + 0.25, names, names, {}, {}, ("f64",))
        kernel(A.T.astype(float))
        return kernel.fast, kernel.fast_into, next(iter(kernel._doors.values()))

    made = [doors(float(k)) for k in range(20)]
    gc.collect()
    x = A.astype(float)
    for k, (fast, fast_into, layout) in enumerate(made):
        np.testing.assert_array_equal(fast(x), x * k + 0.25)
        np.testing.assert_array_equal(fast_into(x, x.copy()), x * k + 0.25)
        np.testing.assert_array_equal(layout(A.T.astype(float)), x.T * k + 0.25)


def test_layouts_are_bounded(add):
    for n in range(1, 600):
        add(A[:1, :1], np.zeros((n, 1), np.float32))
    assert len(add._doors) <= 256


def test_threads_at_once():
    """First use included: code, doors and layouts are made while others call."""
    scalars = {"a": "f64"}
    kernel = compile_kernel(lambda x, y, a: xp.exp(x * a) + y, XY, XY, scalars, {}, ("f32",))
    big = np.tile(A, (200, 1))
    failures = []

    def work(a):
        try:
            for x, y in ((A, A), (A, A[0]), (A.T, A[:, 0]), (big, big), (big, big[0])) * 6:
                want = np.exp(x * np.float32(a)) + y
                np.testing.assert_allclose(kernel(x, y, a), want, rtol=1e-5, atol=1e-6)
                out = np.zeros(want.shape, np.float32)
                kernel.into((out,), x, y, a)
                np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(0.1 * k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_python_door():
    """Without built-in doors everything still works, only slower."""
    code = """
import numpy as np
from rushlight.compiler import compile_kernel
names = {"x": "f32", "y": "f32"}
kernel = compile_kernel(lambda x, y, a: x * a + y, names, names, {"a": "f64"}, {}, ("f32",))
assert kernel.fast is None and kernel.fast_into is None
a = np.arange(512, dtype=np.float32).reshape(8, 64)
big = np.ones((300, 400), np.float32)
for x, y in ((a, a), (a, a[0]), (a.T, a.T), (a[:0], a[:0]), (a[:, ::-2], a[:, ::2]), (big, big)):
    for _ in range(2):
        np.testing.assert_array_equal(kernel(x, y, 2.0), x * 2 + y)
        out = np.zeros(x.shape, np.float32)
        kernel.into((out,), x, y, 2.0)
        np.testing.assert_array_equal(out, x * 2 + y)
assert not kernel._doors and not kernel._doors_into
"""
    environment = {**os.environ, "RUSHLIGHT_FAST_PATH": "off"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_self_test_notices_another_layout(monkeypatch):
    assert llvm_door._layout_is_known()
    for name in ("DATA_AT", "NDIM_AT", "SHAPE_AT", "DTYPE_AT", "FLAGS_AT"):
        with monkeypatch.context() as patch:
            patch.setattr(llvm_door, name, getattr(llvm_door, name) - 8)
            assert not llvm_door._layout_is_known()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    """A child computes, compiles and uses threads of its own."""
    code = """
import os, numpy as np
from rushlight.compiler import compile_kernel, xp
def make(c):
    return compile_kernel(lambda x: x * c, {"x": "f32"}, {}, {}, {}, ("f32",))
x = np.ones(200_000, np.float32)
first = make(2.0)
assert first(x)[-1] == 2
pid = os.fork()
good = first(x)[-1] == 2 and make(3.0)(x)[-1] == 3 and make(5.0)(x[:7])[-1] == 5
if pid == 0:
    os._exit(0 if good else 1)
assert good and os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_recent_layouts_pass_through_the_fast_door():
    kernel = compile_kernel(lambda x, y: x + y, XY, XY, {}, {}, ("f32",))
    base, row, column = np.ones((7, 5), "f4"), np.arange(5, dtype="f4"), np.ones((7, 1), "f4")
    pairs = [(base, row), (row, base), (base, column), (base.T, base.T), (column, row)]
    pairs += [(base[:, ::2], base[:, :3]), *((base[:n], row) for n in range(7))]
    for x, y in pairs:
        kernel(x, y)
    for x, y in pairs[-llvm_door.RECENT_LAYOUTS :]:
        np.testing.assert_array_equal(kernel.short(x, y), x + y, strict=True)
    assert kernel.short(base, column) is NotImplemented  # displaced by later ones
    assert kernel.short(base[:6].astype("f8"), row) is NotImplemented
    assert kernel.short([1], row) is NotImplemented
    assert kernel.fast(base[:6], row) is NotImplemented  # gradients count on equal shapes
    target = np.zeros((7, 5), "f4")
    kernel.into((target,), base, row)
    assert kernel.short_into(base, row, target) is target
    np.testing.assert_array_equal(target, base + row)
    target.flags.writeable = False
    assert kernel.short_into(base, row, target) is NotImplemented
