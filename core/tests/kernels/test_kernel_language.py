"""The kernel language: semantics against Python, errors, and the disk cache."""

from __future__ import annotations

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from rushlight.machine import machine_code, threads
from rushlight.machine.language.functions import (
    Parameter,
    array,
    bf16,
    f16,
    f32,
    f64,
    function,
    i32,
    i64,
    independent,
    masked,
    range_kernel,
    real,
    static,
    stored,
)
from rushlight.machine.language.values import KernelError
from rushlight.machine.processors import MODELS

flavour = Parameter("flavour")


@function
def quotient_and_rest(a, b):
    return a // b, a % b


@function
def first_above(x, n, limit):
    for i in range(n):
        if x[i] > limit:
            return i
    return i64(-1)


@range_kernel
def integers(args, lo, hi, tid):
    g = array(i64, args)
    x, y = array(i64, g[0]), array(i64, g[1])
    for i in range(lo, hi):
        q, r = quotient_and_rest(x[2 * i], x[2 * i + 1])
        y[4 * i], y[4 * i + 1] = q, r
        y[4 * i + 2] = x[2 * i] % 8 + (x[2 * i] // 8) * 100
        total = i64(0)
        for j in range(10):
            if j == 3:
                continue
            if j > 6 or (j > 4 and x[2 * i] < 0):
                break
            total += j
        y[4 * i + 3] = total if 0 <= x[2 * i] < 50 else -total


@range_kernel
def floats(args, lo, hi, tid):
    g = array(i64, args)
    x, y = array(real, g[0]), array(real, g[1])
    for i in range(lo, hi):
        value = x[i] * 2.0 - 1
        if flavour == 1:
            value = -value
        for k in static(3):
            value += k
        y[i] = value if not value != value else real(7)
    if lo == 0:
        array(i64, g[2])[0] = first_above(x, hi, real(0))


@range_kernel
def wrong(args, lo, hi, tid):
    value = array(i32, args)[0]
    array(f32, args)[0] = value


def test_integers_follow_python():
    x = np.array([[7, 2], [-7, 2], [7, -2], [-7, -2], [100, 9], [-1, 8], [0, 5]], np.int64)
    y = np.zeros((len(x), 4), np.int64)
    threads.run(threads.plan(integers.address(), len(x), 100, [0, 0]), x, y)
    for (a, b), got in zip(x.tolist(), y.tolist(), strict=True):
        total = sum(j for j in range(7 if a >= 0 else 5) if j != 3)
        assert got == [a // b, a % b, a % 8 + a // 8 * 100, total if 0 <= a < 50 else -total]


@pytest.mark.parametrize("flavour_value", [0, 1])
@pytest.mark.parametrize("kind", [f32, f64])
def test_types_and_parameters_are_chosen_by_the_caller(kind, flavour_value):
    x = np.array([-3, -1, 0, np.nan, 2], np.float32 if kind is f32 else np.float64)
    y, found = np.zeros_like(x), np.zeros(1, np.int64)
    code = floats.address(real=kind, flavour=flavour_value)
    threads.run(threads.plan(code, len(x), 100, [0, 0, 0]), x, y, found)
    want = (x * 2 - 1) * (-1 if flavour_value else 1) + 3
    assert np.array_equal(y, np.where(np.isnan(want), 7, want))
    assert found[0] == 4


@range_kernel(reassociate=True)
def halves(args, lo, hi, tid):
    g = array(i64, args)
    n, x, y, total = g[3], array(real, g[0]), array(real, g[1]), real(0)
    for i in masked(n):
        y[i] = x[i] / real(2)
        total += x[i]
    for i in masked(2, n):
        y[i] = y[i] + 1
    array(real, g[2])[0] = total


@pytest.mark.parametrize("kind", [f32, f64])
def test_masked_loops_take_exactly_their_elements(kind):
    dtype = np.float32 if kind is f32 else np.float64
    code = halves.address(real=kind)
    for n in range(70):
        x, y, total = np.arange(100, dtype=dtype), np.full(100, -1, dtype), np.zeros(1, dtype)
        threads.run(threads.plan(code, 1, 1, [0, 0, 0, n]), x, y, total)
        want = x[:n] / 2
        want[2:] += 1
        assert y.tolist() == [*want, *[-1] * (100 - n)] and total[0] == n * (n - 1) // 2


@range_kernel(reassociate=True)
def doubles(args, lo, hi, tid):
    g = array(i64, args)
    first, n, x, y, total = g[3], g[4], array(real, g[0]), array(real, g[1]), real(0)
    for i in independent(first, n):
        y[i] = x[i] * real(2)
        total += x[i]
    array(real, g[2])[0] = total


@pytest.mark.parametrize("kind", [f32, f64])
@pytest.mark.parametrize("first", [0, 3, 64])
def test_independent_loops_take_exactly_their_elements(kind, first):
    dtype = np.float32 if kind is f32 else np.float64
    code = doubles.address(real=kind)
    for n in [*range(70), 127, 128, 131, 200]:
        x, y, total = np.arange(300, dtype=dtype), np.full(300, -1, dtype), np.zeros(1, dtype)
        threads.run(threads.plan(code, 1, 1, [0, 0, 0, first, n]), x, y, total)
        want = np.full(300, -1, dtype)
        want[first:n] = 2 * x[first:n]
        assert y.tolist() == want.tolist() and total[0] == x[first:n].sum()


def test_type_errors_name_the_line():
    with pytest.raises(KernelError, match=r"test_kernel_language.py:\d+: a value of type i32"):
        wrong.address()


def run_product(environment):
    code = (
        "import numpy as np\n"
        "from rushlight.kernels.gemm.products import matmul\n"
        "a = np.ones((64, 128), np.float32)\n"
        "assert (matmul(a, a.T) == 128).all()\n"
        "from rushlight.machine import code_cache, processors as cpu\n"
        "print(code_cache.folder(code_cache.version(cpu.processor())))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=dict(os.environ, **environment),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.compiled("the reference compiles nothing")
def test_torn_cache_files_are_replaced(tmp_path):
    folder = run_product({"RUSHLIGHT_CACHE_DIR": str(tmp_path)})
    assert folder.startswith(str(tmp_path))
    files = [os.path.join(folder, name) for name in os.listdir(folder)]
    assert len(files) > 3
    for path in files:
        with open(path, "r+b") as file:
            file.truncate(50)
    run_product({"RUSHLIGHT_CACHE_DIR": str(tmp_path)})
    assert all(os.path.getsize(path) > 50 for path in files)


def test_old_builds_are_forgotten(tmp_path):
    old, recent, other = tmp_path / ("0" * 24), tmp_path / ("1" * 24), tmp_path / "notes"
    for folder in (old, recent, other):
        folder.mkdir()
        (folder / "file.o").write_bytes(b"code")
    for folder in (old, other):
        os.utime(folder, (0, 0))
    run_product({"RUSHLIGHT_CACHE_DIR": str(tmp_path)})
    assert not old.exists()
    assert recent.exists()
    assert other.exists()


@pytest.mark.compiled("the reference compiles nothing")
def test_processes_may_compile_at_once(tmp_path):
    code = (
        "import numpy as np\n"
        "from rushlight.kernels.gemm.products import matmul\n"
        "a = np.ones((64, 128), np.float32)\n"
        "assert (matmul(a, a.T) == 128).all()\n"
    )
    environment = dict(os.environ, RUSHLIGHT_CACHE_DIR=str(tmp_path))
    processes = [subprocess.Popen([sys.executable, "-c", code], env=environment) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    names = [path.name for path in tmp_path.glob("*/*")]
    assert names
    assert all(name.endswith(".o") for name in names)


def test_unusable_cache_folder_falls_back(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    folder = run_product({"RUSHLIGHT_CACHE_DIR": str(blocked)})
    assert not folder.startswith(str(tmp_path))


def test_processors_agree(tmp_path):
    code = (
        "import os\n"
        "import numpy as np\n"
        "from rushlight.kernels.gemm.products import matmul\n"
        "a = np.random.default_rng(0).standard_normal((61, 200)).astype(np.float32)\n"
        "b = np.random.default_rng(1).standard_normal((200, 77)).astype(np.float32)\n"
        "for left, right in ((a, b), (a.T.copy().T, b), (a, b.T.copy().T)):\n"
        "    assert np.abs(matmul(left, right) - left.astype('d') @ right).max() < 1e-4\n"
        "import rushlight\n"
        "x = rushlight.from_numpy(a)\n"
        "expected = np.exp((a * a + 1) ** -0.5)\n"
        "assert np.abs((x * x + 1).rsqrt().exp().numpy() - expected).max() < 1e-6\n"
        "from rushlight import nn\n"
        "model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(),\n"
        "                      nn.Linear(128, 4), nn.Sigmoid()).eval()\n"
        "images = rushlight.rand(2, 3, 8, 8)\n"
        "steps = model[3](model[0](images).relu().flatten(1)).sigmoid()\n"
        "with rushlight.no_grad():\n"
        "    for _ in range(3):\n"
        "        assert (model(images) - steps).abs().max() < 1e-6\n"
        "assert rushlight.machine.processors.get_cpu_capability() == os.environ['WIDEST']\n"
    )
    for name, model in MODELS.items():
        environment = dict(
            os.environ,
            RUSHLIGHT_PROCESSOR=name,
            RUSHLIGHT_CACHE_DIR=str(tmp_path),
            WIDEST="AVX512" if "avx512f" in model.features else "AVX2" if model.features
            else "DEFAULT",
        )  # fmt: skip
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr


def test_importing_kernels_imports_no_compiler():
    code = (
        "import sys, rushlight.kernels.gemm.products, rushlight.machine.threads\n"
        "import rushlight.machine.memory\n"
        "assert not {'numba', 'llvmlite'} & set(sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_loaded_kernels_are_named():
    threads.pool()
    assert "rl_machine_worker_pool_launch" in machine_code.compiled_symbols()


@range_kernel
def doubled(args, lo, hi, tid):
    g = array(i64, args)
    x, y = array(stored, g[0]), array(stored, g[1])
    for i in range(lo, hi):
        y[i] = real(2) * x[i]
        y[i] *= real(1)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_arrays_of_half_width(kind, fast, monkeypatch):
    from rushlight.machine.language import half_floats

    if half_floats.is_fast() is not fast:
        if kind == "float16" and not fast:
            monkeypatch.setattr(half_floats, "is_fast", lambda: False)
            monkeypatch.setattr(doubled, "__name__", "doubled_by_bits")
        elif fast:
            pytest.skip("this processor converts by bits")
    dtype = np.dtype(np.float16 if kind == "float16" else ml_dtypes.bfloat16)
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    y = np.empty_like(x)
    code = doubled.address(real=f32, stored=f16 if kind == "float16" else bf16)
    threads.run(threads.plan(code, x.size, x.size, [0, 0]), x, y)
    with np.errstate(all="ignore"):
        want = (2 * x.astype(np.float32)).astype(dtype)
    assert np.array_equal(np.isnan(want), np.isnan(y))
    number = ~np.isnan(want)
    assert np.array_equal(y[number].view(np.uint16), want[number].view(np.uint16))
