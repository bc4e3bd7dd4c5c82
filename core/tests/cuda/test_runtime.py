"""The emulated runtime: memory, streams, events, products, graphs, and the choice of a runtime."""

import gc

import numpy as np
import pytest
from kernel_cases import BFLOAT16, close, emulator, emulator_only, on_device, on_host, wide

from rushlight.compiler.cuda.device_array import empty
from rushlight.errors import OutOfMemoryError
from rushlight.machine.cuda import runtime
from rushlight.machine.cuda.runtime import emulator_build, presence, streams
from rushlight.machine.cuda.runtime.emulated import EmulatedRuntime
from rushlight.machine.cuda.runtime.products import Product, gelu_tanh

pytestmark = emulator_only


@pytest.fixture
def fresh():
    return EmulatedRuntime()


def test_memory_is_counted_and_reused(fresh):
    block = fresh.allocate(1000)
    assert block.address % 256 == 0 and (block.nbytes, block.device) == (1000, 0)
    found = fresh.memory_statistics(0)
    assert (found["allocated_bytes"], found["active_blocks"]) == (1024, 1)
    address = block.address
    del block
    gc.collect()
    again = fresh.allocate(900)
    assert again.address == address
    found = fresh.memory_statistics(0)
    assert found["reserved_bytes"] == 1024 and found["allocations"] == 2
    del again
    gc.collect()
    fresh.empty_cache()
    assert fresh.memory_statistics(0)["reserved_bytes"] == 0
    assert fresh.memory_statistics(0)["peak_allocated_bytes"] == 1024
    fresh.reset_peak(0)
    assert fresh.memory_statistics(0)["peak_allocated_bytes"] == 0
    assert fresh.counters.allocations == 2


def test_fresh_memory_is_poisoned(fresh):
    block = fresh.allocate(64)
    assert (fresh.view(block.address, (64,), None, np.uint8) == 0xCB).all()


def test_out_of_memory_empties_the_cache_first(fresh):
    fresh.set_memory_fraction(0.001)  # 4 MiB
    first = fresh.allocate(3 << 20)
    del first
    gc.collect()
    kept = fresh.allocate(2 << 20)
    assert fresh.memory_statistics(0)["retries"] == 1
    with pytest.raises(
        OutOfMemoryError, match=r"Tried to allocate 3.00 MiB.*2.00 MiB is held by 1"
    ):
        fresh.allocate(3 << 20)
    assert fresh.allocate(100).nbytes == 100 and kept.nbytes == 2 << 20


def test_copies(fresh):
    x = np.arange(6, dtype=np.float32)
    a, b = fresh.allocate(24), fresh.allocate(24)
    fresh.copy_in(a.address, x)
    fresh.copy_within(b.address, a.address, 24)
    fresh.fill_bytes(a.address, 0, 12)
    out = np.empty(6, np.float32)
    fresh.copy_out(out, b.address)
    np.testing.assert_array_equal(out, x)
    fresh.copy_out(out, a.address, 0, False)
    np.testing.assert_array_equal(out, [0, 0, 0, 3, 4, 5])
    assert (fresh.counters.copies_in, fresh.counters.copies_out) == (1, 2)
    assert fresh.counters.synchronizations == 1  # the copy that does not wait is not one
    turned = fresh.view(b.address + 20, (2, 3), (-12, -4), np.float32)
    np.testing.assert_array_equal(turned, x[::-1].reshape(2, 3))


def test_streams_and_events(fresh):
    assert fresh.device_count() == 2
    stream = fresh.stream_create(1)
    assert streams.device_of(stream) == 1 and streams.default(1) == 1
    event, other = fresh.event_create(), fresh.event_create(timing=False)
    with pytest.raises(ValueError, match="recorded"):
        fresh.event_elapsed(event, event)
    fresh.event_record(event, stream)
    fresh.event_record(other, stream)
    fresh.stream_wait_event(stream, event)
    assert fresh.event_query(event) and fresh.stream_query(stream)
    assert fresh.event_elapsed(event, event) == 0
    with pytest.raises(ValueError, match="enable_timing"):
        fresh.event_elapsed(event, other)
    before = fresh.counters.synchronizations
    fresh.event_synchronize(event)
    fresh.stream_synchronize(stream)
    fresh.synchronize(1)
    assert fresh.counters.synchronizations == before + 3
    fresh.stream_destroy(stream)
    with pytest.raises(RuntimeError, match="does not exist"):
        fresh.stream_query(stream)
    with pytest.raises(RuntimeError, match="device 2 does not exist"):
        fresh.synchronize(2)


def test_each_thread_has_its_stream():
    import threading

    stream = emulator().stream_create(0)
    old = streams.set_current(stream)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(streams.current(0)))
    thread.start()
    thread.join()
    assert seen == [0] and streams.current(0) == stream
    streams.set_current(old)
    before = streams.set_device(1)
    assert streams.current_device() == 1 and streams.current() == streams.default(1)
    streams.set_device(before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BFLOAT16], ids=str)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)])
def test_products(dtype, turned):
    generator, (m, n, k, batch) = np.random.default_rng(0), (3, 5, 4, 2)
    dtype = np.dtype(dtype)
    a = generator.standard_normal((batch, k, m) if turned[0] else (batch, m, k)).astype(dtype)
    b = generator.standard_normal((n, k) if turned[1] else (k, n)).astype(dtype)
    bias, old = (generator.standard_normal(s).astype(dtype) for s in ((n,), (batch, m, n)))
    full = (wide(a).swapaxes(1, 2) if turned[0] else wide(a)) @ (
        wide(b).T if turned[1] else wide(b)
    )
    ends = {
        "none": lambda x: x,
        "bias": lambda x: x + wide(bias),
        "relu_bias": lambda x: np.maximum(x + wide(bias), 0),
        "gelu_bias": lambda x: gelu_tanh(x + wide(bias)),
    }
    for epilogue, end in ends.items():
        out = on_device(old)
        product = Product(
            dtype, m, n, k, (1, m) if turned[0] else (k, 1), (1, k) if turned[1] else (n, 1),
            (n, 1), batch, (m * k, 0, m * n), 0.5, 2.0, epilogue,
        )  # fmt: skip
        on = [on_device(array) for array in (a, b, bias)]
        row = on[2].address if epilogue != "none" else 0
        emulator().gemm(product, on[0].address, on[1].address, out.address, row)
        close(on_host(out), end(0.5 * full + 2 * wide(old)), dtype, 4)


def test_products_are_checked():
    good = {"dtype": np.dtype(np.float32), "m": 3, "n": 5, "k": 4, "out_strides": (5, 1)}
    with pytest.raises(ValueError, match=r"a of \[3, 4\] has strides \(2, 1\)"):
        Product(**good, a_strides=(2, 1), b_strides=(5, 1)).checked()
    with pytest.raises(ValueError, match="epilogue 'sine'"):
        Product(**good, a_strides=(4, 1), b_strides=(5, 1), epilogue="sine").checked()
    good["dtype"] = np.dtype(np.int32)
    with pytest.raises(ValueError, match="dtype int32"):
        Product(**good, a_strides=(4, 1), b_strides=(5, 1)).checked()


def test_graphs_record_and_replay():
    found = emulator()
    stream = found.stream_create(0)
    a, b = on_device(np.arange(4, dtype=np.float32)), empty((4,), np.float32)
    found.fill_bytes(b.address, 0, 16)
    with pytest.raises(RuntimeError, match="default stream"):
        found.graph_begin(0)
    found.graph_begin(stream)
    assert found.is_capturing(stream) and not found.is_capturing(0)
    inside = found.allocate(16, 0, stream)
    found.copy_within(inside.address, a.address, 16, stream)
    found.copy_within(b.address, inside.address, 16, stream)
    for forbidden in (
        lambda: found.synchronize(0),
        lambda: found.stream_synchronize(stream),
        lambda: found.copy_out(np.empty(4, np.float32), a.address, stream),
    ):
        with pytest.raises(RuntimeError, match="captured"):
            forbidden()
    graph = found.graph_end(stream)
    assert len(graph) == 2 and not on_host(b).any()
    reserved = graph.pool.statistics()["reserved_bytes"]
    graph.launch(stream)
    assert on_host(b).tolist() == [0, 1, 2, 3]
    found.copy_in(a.address, np.full(4, 9, np.float32))
    graph.launch(stream)
    assert on_host(b).tolist() == [9] * 4
    assert graph.pool.statistics()["reserved_bytes"] == reserved
    found.synchronize(0)


# ---- the choice ----------------------------------------------------------------------------------


@pytest.fixture
def choosing(monkeypatch):
    yield monkeypatch
    monkeypatch.undo()
    runtime.reset()


def test_off(choosing):
    choosing.setenv("RUSHLIGHT_CUDA", "off")
    assert not runtime.available() and "RUSHLIGHT_CUDA=off" in runtime.why_unavailable()
    with pytest.raises(RuntimeError, match="CUDA is not available: CUDA is switched off"):
        runtime.current()


def test_a_word_that_is_none(choosing):
    choosing.setenv("RUSHLIGHT_CUDA", "on")
    assert "expected one of real, emu, off" in runtime.why_unavailable()


def test_no_compiler_for_the_emulator(choosing):
    choosing.setenv("RUSHLIGHT_EMULATOR_CXX", "absent-compiler")
    runtime.reset()
    assert not runtime.available() and "apt-get install g++" in runtime.why_unavailable()
    assert emulator_build.why_unavailable() == emulator_build.NO_COMPILER


@pytest.mark.parametrize(
    ("driver", "cupy", "message"),
    [
        (None, None, "no NVIDIA driver was found"),
        (13000, None, "CuPy is not installed; `pip install rushlight"),
        (13000, ("cupy-cuda13x", "13.6.0"), "CuPy 14.2 or newer, below 15, is needed"),
        (12080, ("cupy-cuda13x", "14.2.0"), "serves CUDA 12.8, but cupy-cuda13x needs 13.0"),
    ],
)
def test_reasons(choosing, driver, cupy, message):
    choosing.setattr(presence, "_driver", lambda: driver)
    choosing.setattr(presence, "cupy_version", lambda: cupy)
    choosing.setattr(presence.importlib.util, "find_spec", lambda name: cupy)
    assert message in presence.why_unavailable()
    for wish in ("real", ""):
        choosing.setenv("RUSHLIGHT_CUDA", wish)
        runtime.reset()
        assert not runtime.available()
        assert message in runtime.why_unavailable()
