"""``rushlight.cuda``: devices, streams, events, memory, graphs."""

from __future__ import annotations

import gc
import os

import pytest
from kernel_cases import emulator_only, two_devices

import rushlight
from rushlight import cuda, nn
from rushlight.machine.cuda import runtime
from rushlight.machine.cuda.runtime.emulated import EmulatedRuntime


@emulator_only
def test_devices():
    assert cuda.is_available() and cuda.is_initialized()
    assert cuda.why_unavailable() is None
    assert cuda.device_count() == 2
    assert cuda.current_device() == 0
    assert cuda.get_device_name(1) == "Emulated CUDA device"
    assert cuda.get_device_capability() == (8, 0)
    assert cuda.get_device_properties("cuda:1").total_memory > 0
    assert cuda.get_arch_list() == ["sm_80"]
    assert cuda.is_bf16_supported(including_emulation=False)
    assert cuda.can_device_access_peer(0, 1) and not cuda.can_device_access_peer(1, 1)
    assert rushlight.accelerator.current_accelerator().type == "cuda"


@two_devices
def test_the_current_device():
    with cuda.device(1):
        assert cuda.current_device() == 1
        with cuda.device_of(rushlight.ones(1, device="cuda:0")):
            assert cuda.current_device() == 0
        with cuda.device(-1):
            assert cuda.current_device() == 1
    assert cuda.current_device() == 0
    cuda.set_device("cuda:1")
    assert rushlight.ones(1, device="cuda").device.index == 1
    cuda.set_device(0)
    with pytest.raises(RuntimeError, match="CUDA device 5 does not exist; there are 2"):
        cuda.set_device(5)
    with pytest.raises(ValueError, match="Expected a cuda device"):
        cuda.get_device_name("cpu")


def test_without_a_gpu_questions_have_answers(monkeypatch):
    monkeypatch.setitem(os.environ, "RUSHLIGHT_CUDA", "off")
    assert not cuda.is_available()
    assert cuda.device_count() == 0
    assert "RUSHLIGHT_CUDA=off" in cuda.why_unavailable()
    assert cuda.memory_allocated() == 0
    assert cuda.memory_summary().startswith("No GPU memory")
    with pytest.raises(AssertionError, match="computes on the CPU only"):
        cuda.synchronize()
    with pytest.raises(RuntimeError, match="computes on the CPU only"):
        cuda.Stream()
    with pytest.raises(RuntimeError, match="RUSHLIGHT_CUDA=off"):
        rushlight.ones(1, device="cuda")


def test_streams_and_events():
    stream = cuda.Stream()
    assert cuda.current_stream() == cuda.default_stream()
    with cuda.stream(stream):
        assert cuda.current_stream() == stream
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        begin.record()
        value = rushlight.ones(4, device="cuda") * 2
        end.record()
    cuda.current_stream().wait_stream(stream)
    end.synchronize()
    assert stream.query() and end.query()
    assert begin.elapsed_time(end) >= 0
    assert value.tolist() == [2.0] * 4
    value.record_stream(stream)
    with pytest.raises(RuntimeError, match="expected a tensor on a GPU"):
        rushlight.ones(1).record_stream(stream)
    with stream:
        assert cuda.current_stream() == stream
    assert cuda.current_stream() == cuda.default_stream()
    with cuda.stream(None):
        assert cuda.current_stream() == cuda.default_stream()
    last = cuda.device_count() - 1
    with cuda.stream(cuda.Stream(device=last)):
        assert cuda.current_device() == last
    with pytest.raises(ValueError, match="enable_timing=True"):
        plain = cuda.Event()
        plain.record()
        plain.elapsed_time(end)
    with pytest.raises(RuntimeError, match="expected a Stream or None"):
        cuda.stream(3)


def test_streams_and_events_go_back_to_the_runtime_that_made_them(monkeypatch):
    other = EmulatedRuntime()
    other._next = runtime.current()._next  # the same numbers in both
    streams, event = [cuda.Stream() for _ in range(3)], cuda.Event()
    event.record(streams[0])
    numbers = {s.stream_id for s in streams}, event._handle
    monkeypatch.setattr(runtime, "_now", other)
    assert ({other.stream_create() for _ in range(3)}, other.event_create()) == numbers
    del streams, event
    gc.collect()
    assert numbers[0] <= other._streams and numbers[1] in other._events


def test_memory_is_counted():
    gc.collect()
    before = cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    value = rushlight.zeros(1 << 16, device="cuda")
    assert cuda.memory_allocated() - before >= 4 << 16
    del value
    assert cuda.memory_allocated() == before
    assert cuda.max_memory_allocated() - before >= 4 << 16
    assert cuda.memory_reserved() >= cuda.memory_allocated()
    stats = cuda.memory_stats()
    assert stats["allocation.all.allocated"] >= stats["allocation.all.freed"]
    assert cuda.get_device_name(0) in cuda.memory_summary()
    cuda.empty_cache()
    free, total = cuda.mem_get_info()
    assert 0 < free <= total


def test_memory_runs_out_and_the_program_goes_on():
    cuda.set_per_process_memory_fraction(0.01)
    try:
        with pytest.raises(cuda.OutOfMemoryError, match="Tried to allocate"):
            rushlight.empty(cuda.mem_get_info()[1] // 50, dtype=rushlight.uint8, device="cuda")
        assert rushlight.ones(2, device="cuda").sum().item() == 2.0
    finally:
        cuda.set_per_process_memory_fraction(1.0)
    with pytest.raises(ValueError, match="Allowed range: 0~1"):
        cuda.set_per_process_memory_fraction(2.0)
    with pytest.raises(TypeError, match="must be `float`"):
        cuda.set_per_process_memory_fraction(1)


def test_graphs_replay_and_draw_new_numbers():
    value = rushlight.ones(4, device="cuda")
    rushlight.rand(1, device="cuda")
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        assert cuda.is_current_stream_capturing()
        doubled = value * 2
        drawn = rushlight.rand(4, device="cuda")
    graph.replay()
    first = drawn.clone()
    value.fill_(5)
    graph.replay()
    assert doubled.tolist() == [10.0] * 4
    assert not rushlight.equal(first, drawn)
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        cuda.CUDAGraph().replay()


def test_waiting_while_capturing_is_an_error_and_capturing_ends():
    value = rushlight.ones(4, device="cuda")
    with pytest.raises(RuntimeError, match="not allowed while a CUDA graph is being captured"):
        with cuda.graph(cuda.CUDAGraph()):
            (value + 1).sum().item()
    assert not cuda.is_current_stream_capturing()
    assert (value + 1).sum().item() == 8.0


def test_a_capture_that_cannot_begin_leaves_the_stream_alone():
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        with pytest.raises(RuntimeError):
            with cuda.graph(cuda.CUDAGraph(), stream=cuda.Stream()):
                raise AssertionError("a capture inside of a capture has begun")
    assert cuda.current_stream() == cuda.default_stream()
    broken = cuda.graph(cuda.CUDAGraph(), stream=cuda.Stream())
    broken.cuda_graph.capture_begin = None
    with pytest.raises(TypeError):
        broken.__enter__()
    assert cuda.current_stream() == cuda.default_stream()
    assert (rushlight.ones(4, device="cuda") + 1).sum().item() == 8.0


def test_graphed_callables_have_gradients():
    rushlight.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).cuda()
    twin = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).cuda()
    twin.load_state_dict(model.state_dict())
    sample = rushlight.randn(3, 4, device="cuda").requires_grad_()
    graphed = cuda.make_graphed_callables(twin, (sample,))
    for _ in range(2):
        a = rushlight.randn(3, 4, device="cuda").requires_grad_()
        b = a.detach().clone().requires_grad_()
        model(a).square().sum().backward()
        graphed(b).square().sum().backward()
        assert rushlight.allclose(a.grad, b.grad)
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        assert rushlight.allclose(p.grad, q.grad)


def test_ranges_are_nested():
    assert cuda.nvtx.range_push("outer") == 0
    with cuda.nvtx.range("inner {}", 1):
        assert cuda.nvtx.range_push("innermost") == 2
        assert cuda.nvtx.range_pop() == 2
    assert cuda.nvtx.range_pop() == 0
    assert cuda.nvtx.range_pop() == -1
