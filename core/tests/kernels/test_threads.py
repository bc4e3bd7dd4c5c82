"""The worker pool: chunks, nesting, several Python threads, fork, spawn, resizing."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

from rushlight.kernels.gemm.products import matmul
from rushlight.machine import threads
from rushlight.machine.language.functions import (
    array,
    atomic_add,
    f32,
    i64,
    load_acquire,
    range_kernel,
    real,
    spin_pause,
    store_release,
)
from rushlight.machine.worker_pool import launch as native_launch
from rushlight.machine.worker_pool import scratch


@range_kernel
def relu(args, lo, hi, tid):
    g = array(i64, args)
    x, y = array(real, g[0]), array(real, g[1])
    for i in range(lo, hi):
        y[i] = real(0) if x[i] < 0 else x[i]


@range_kernel
def chunk_borders(args, lo, hi, tid):
    g = array(i64, args)
    array(i64, g[0])[lo] = hi


@range_kernel
def nested(args, lo, hi, tid):
    g = array(i64, args)
    for i in range(lo, hi):
        block = g[4] + 16 * i
        array(i64, block)[0] = g[0] + 4000 * i
        array(i64, block)[1] = g[1] + 4000 * i
        native_launch(g[2], g[3], block, 1000, 100)


@range_kernel
def overwritten_scratch(args, lo, hi, tid):
    g = array(i64, args)
    for i in range(lo, hi):
        words = array(i64, scratch(tid, 8000))
        for j in range(1000):
            words[j] = i
        for _ in range(200):
            spin_pause()
        for j in range(1000):
            if words[j] != i:
                atomic_add(g[1], 1)


@range_kernel
def waits_for_the_next(args, lo, hi, tid):
    """Chunk 0 stays until chunk 1, of the same thread's share, has been done by somebody else."""
    g = array(i64, args)
    for i in range(lo, hi):
        if i == 0:
            for _ in range(1 << 24):
                if load_acquire(g[0] + 8) == 0:
                    spin_pause()
            store_release(g[0], load_acquire(g[0] + 8))
        else:
            store_release(g[0] + 8 * i, i64(1))


@range_kernel
def threads_of_chunks(args, lo, hi, tid):
    """Who ran what, after long enough for the others to wake."""
    g = array(i64, args)
    for i in range(lo, hi):
        for _ in range(20000):
            spin_pause()
        array(i64, g[0])[i] = tid


def check_relu(n=100_003, grain=4096):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    y = np.full(n + 16, np.nan, np.float32)
    threads.run(threads.plan(relu.address(real=f32), n, grain, [0, 0]), x, y)
    assert np.array_equal(y[:n], np.maximum(x, 0))
    assert np.isnan(y[n:]).all()


@pytest.fixture(autouse=True)
def restore_threads():
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 2, 5, 16])
def test_every_item_once_for_any_number_of_threads(count):
    threads.set_num_threads(count)
    assert threads.get_num_threads() == count
    for n, grain in ((100_003, 4096), (1, 1), (5003, 512), (0, 1)):
        check_relu(n, grain)


def borders(n, grain):
    seen = np.zeros(n, np.int64)
    threads.run(threads.plan(chunk_borders.address(), n, grain, [0]), seen)
    return seen


def test_chunks_depend_on_shape_only_and_are_at_most_64():
    results = []
    for count in (1, 2, 5, 16):
        threads.set_num_threads(count)
        results.append(borders(1000, 3))
    assert all(np.array_equal(results[0], other) for other in results)
    assert np.count_nonzero(results[0]) <= 64
    assert np.count_nonzero(borders(100, 40)) == 3


def test_a_share_that_waits_is_taken_over():
    threads.set_num_threads(2)
    done = np.zeros(8, np.int64)
    threads.run(threads.plan(waits_for_the_next.address(), 8, 1, [0]), done)
    assert done.tolist() == [1] * 8


def test_neighbouring_chunks_stay_in_one_thread():
    """Others begin with their own share; only a machine that holds the caller up changes that."""
    threads.set_num_threads(2)
    whole = []
    for _ in range(5):
        who = np.zeros(64, np.int64)
        threads.run(threads.plan(threads_of_chunks.address(), 64, 1, [0]), who)
        assert who.all() and len(set(who.tolist())) <= 2
        whole.append(len(set(who[:8].tolist())) == 1)
    assert any(whole)


def test_launch_by_addresses():
    x = np.linspace(-1, 1, 5000, dtype=np.float32)
    y = np.empty_like(x)
    words = np.array([x.ctypes.data, y.ctypes.data], np.int64)
    threads.launch(relu.address(real=f32), words.ctypes.data, x.size, 100)
    assert np.array_equal(y, np.maximum(x, 0))


def test_nested_launch_runs_inline():
    x = np.random.default_rng(1).standard_normal(8000).astype(np.float32)
    y, blocks = np.empty_like(x), np.zeros(16, np.int64)
    _, pool = threads.launch_entry()
    plan = threads.plan(nested.address(), 8, 1, [0, 0, pool, relu.address(real=f32), 0])
    threads.run(plan, x, y, pool, relu.address(real=f32), blocks)
    assert np.array_equal(y, np.maximum(x, 0))


def check_scratch():
    errors = np.zeros(1, np.int64)
    threads.run(threads.plan(overwritten_scratch.address(), 64, 1, [0, 0]), None, errors)
    assert errors[0] == 0


@pytest.mark.parametrize("count", [2, 5, 16])
def test_python_threads_at_once(count):
    threads.set_num_threads(count)
    failures = []

    def body():
        try:
            for _ in range(200):
                check_relu(5003, 512)
            check_scratch()
        except BaseException as error:  # reported by the assertion below
            failures.append(error)

    group = [threading.Thread(target=body) for _ in range(4)]
    for thread in group:
        thread.start()
    for thread in group:
        thread.join()
    assert not failures


def test_fork_in_use_and_again():
    check_relu()
    for _ in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                check_relu()
                check_scratch()
                status = 0
            finally:
                os._exit(status)
        check_relu()
        assert os.waitpid(child, 0)[1] == 0


def test_fork_while_other_threads_launch():
    stop = threading.Event()

    def body():
        while not stop.is_set():
            check_relu(50_003, 512)

    worker = threading.Thread(target=body)
    worker.start()
    statuses = []
    for _ in range(5):
        with warnings.catch_warnings():
            # CPython 3.12 warns of the second Python thread: it is what this test is about
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            status = 1
            try:
                x = np.arange(-50_000, 50_000, dtype=np.float32)
                y = np.empty_like(x)
                threads.run(threads.plan(relu.address(real=f32), x.size, 512, [0, 0]), x, y)
                status = int(not np.array_equal(y, np.maximum(x, 0)))
            finally:
                os._exit(status)
        statuses.append(os.waitpid(child, 0)[1])
    stop.set()
    worker.join()
    assert statuses == [0] * 5


def test_spawned_process():
    check_relu()
    a = np.random.default_rng(0).standard_normal((200, 300)).astype(np.float32)
    with multiprocessing.get_context("spawn").Pool(1) as processes:
        got = processes.apply(matmul, (a, a.T))
    assert np.array_equal(got, matmul(a, a.T))


def test_python_door_gives_the_same(tmp_path):
    code = (
        "import numpy as np\n"
        "from rushlight.kernels.gemm.products import matmul\n"
        "a = np.arange(200 * 300, dtype=np.float32).reshape(200, 300) % 7\n"
        "print(float(matmul(a, a.T).sum()))\n"
    )
    outputs = []
    for switch in ("off", "on"):
        environment = dict(os.environ, RUSHLIGHT_FAST_PATH=switch)
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("bad", [0, -1, 1.5])
def test_bad_number_of_threads(bad):
    with pytest.raises(RuntimeError, match="positive integer"):
        threads.set_num_threads(bad)


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({"RUSHLIGHT_NUM_THREADS": "3"}, "3"),
        ({"OMP_NUM_THREADS": "3"}, "3"),
        ({"OMP_NUM_THREADS": " 5,2"}, "5"),
        ({"OMP_NUM_THREADS": "7", "RUSHLIGHT_NUM_THREADS": "2"}, "2"),
        ({"OMP_NUM_THREADS": "many", "RUSHLIGHT_NUM_THREADS": "2"}, "2"),
    ],
)
def test_environment_sets_threads(variables, expected):
    code = "from rushlight.machine import threads; print(threads.get_num_threads())"
    names = ("OMP_NUM_THREADS", "RUSHLIGHT_NUM_THREADS")
    others = {name: value for name, value in os.environ.items() if name not in names}
    run = subprocess.run(
        [sys.executable, "-c", code], env=others | variables, capture_output=True, text=True
    )
    assert run.stdout.strip() == expected


@pytest.mark.parametrize("value", ["", "0", "-1", "many"])
def test_a_useless_omp_num_threads_changes_nothing(monkeypatch, value):
    monkeypatch.delenv("RUSHLIGHT_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    usual = threads._default_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert threads._default_threads() == usual
