"""The real runtime as far as no GPU allows: on stand-ins for CuPy's and cuBLASLt's interfaces.

What this cannot show is whether the stand-ins are right: that takes a device (`ci/gpu_check`).
"""

import ctypes
import gc
import importlib.util
import inspect
import sys
import types

import numpy as np
import pytest
from kernel_cases import BFLOAT16, close, wide
from standin_cupy import BlasLt, MemoryPool, _Memory, make_cudnn, make_cupy

from rushlight.errors import OutOfMemoryError
from rushlight.kernels.attention import products as cpu_attention
from rushlight.kernels.convolution import choice as cpu_convolution
from rushlight.machine.cuda import runtime
from rushlight.machine.cuda.runtime import cublaslt, cudnn_graphs, nvrtc, products, real, streams
from rushlight.machine.cuda.runtime.cudnn_attention import Attention
from rushlight.machine.cuda.runtime.cudnn_graphs import Convolution, Matter
from rushlight.machine.cuda.runtime.emulated import EmulatedRuntime
from rushlight.machine.cuda.runtime.products import Product

TEXT = """
extern "C" __global__ void scale(const float* x, float* y, long long n, float by) {
  extern __shared__ float room[];
  int i = threadIdx.x;
  if (i < n) room[i] = x[i];
  __syncthreads();
  if (i < n) y[i] = room[i] * by;
}
extern "C" __global__ void fails() { __trap(); }
"""


@pytest.fixture
def found(monkeypatch):
    cupy = make_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(real.nvrtc, "compile_text", lambda text, arch, options: (text.encode(), ""))
    monkeypatch.setattr(real.code_cache, "read", lambda folder, key: None)
    monkeypatch.setattr(real.code_cache, "write", lambda folder, key, body: None)
    made = real.RealRuntime()
    made.standin = cupy
    return made


def members(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_both_runtimes_have_the_same_members(found):
    emulated = EmulatedRuntime()
    missing = members(emulated) - members(found) - {"order", "ordered", "reversed_order"}
    assert not missing
    for name in members(emulated) & members(found):
        method = getattr(EmulatedRuntime, name, None)
        if inspect.isfunction(method):
            ours = inspect.signature(getattr(real.RealRuntime, name))
            assert list(ours.parameters) == list(inspect.signature(method).parameters), name


def test_properties(found):
    properties = found.properties(1)
    assert (properties.name, properties.capability) == ("Stand-in", (9, 0))
    assert properties.uuid == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert properties.multi_processor_count == 132
    with pytest.raises(RuntimeError, match="device 2 does not exist; there are 2"):
        found.properties(2)


def test_kernels_and_copies(found):
    x = np.arange(10, dtype=np.float32)
    blocks = [found.allocate(40, 1) for _ in range(3)]
    found.copy_in(blocks[0].address, x, 1)
    kernel = found.load(TEXT).kernel("scale")
    arguments = (blocks[0].address, blocks[1].address, 10, np.float32(3))
    found.launch(kernel, (1, 1, 1), (32, 1, 1), 40, 1, arguments)
    assert found.standin.cuda.runtime.current == 1
    found.copy_within(blocks[2].address, blocks[1].address, 40, 1)
    found.fill_bytes(blocks[2].address, 0, 8, 1)
    out = np.empty(10, np.float32)
    found.copy_out(out, blocks[2].address, 1)
    np.testing.assert_array_equal(out, np.where(np.arange(10) < 2, 0, 3 * x))
    assert (found.counters.launches, found.counters.synchronizations) == (1, 1)
    found.launch(kernel, (1, 1, 1), (32, 1, 1), 60000, 1, arguments)
    found.launch(kernel, (1, 1, 1), (32, 1, 1), 50000, 1, arguments)
    assert found.standin.asked == [(8, 60000)]


def test_faults_name_the_last_kernels(found):
    kernel = found.load(TEXT).kernel("fails")
    with pytest.raises(RuntimeError, match=r"last kernels launched: fails \(CUDA_LAUNCH_BLOCKING"):
        found.launch(kernel, (1, 1, 1), (1, 1, 1), 0, 0, ())


def test_memory(found, monkeypatch):
    block = found.allocate(1000)
    assert found.memory_statistics(0)["allocated_bytes"] == 1024
    stream = found.stream_create(0)
    block.used_by(stream)
    del block
    gc.collect()
    counts = found.memory_statistics(0)
    assert (counts["allocated_bytes"], counts["frees"], counts["active_blocks"]) == (0, 1, 0)
    waits = found.stream_object(0).waits
    assert waits[-1].stream is found.stream_object(stream)
    monkeypatch.setattr(MemoryPool, "limit", 4096)
    kept = found.allocate(2000)
    with pytest.raises(OutOfMemoryError, match="Tried to allocate 3.91 KiB.*held by 1 live"):
        found.allocate(4000)
    counts = found.memory_statistics(0)
    assert (counts["retries"], counts["out_of_memory"]) == (1, 1) and kept.nbytes == 2000
    pinned = found.allocate_pinned(64)
    assert found._is_pinned(pinned[3:]) and not found._is_pinned(np.zeros(3))


def test_a_graphs_pool_frees_nothing_that_its_kernels_may_use(found, monkeypatch):
    stream = found.stream_create(0)
    found.graph_begin(stream)
    kept = found.allocate(2000, 0, stream)
    pool, ordinary = found._capture[stream].pool, found._pools[0].pool
    monkeypatch.setattr(_Memory, "left", 100)
    before = ordinary.freed
    with pytest.raises(OutOfMemoryError, match="Tried to allocate 3.91 KiB"):
        found.allocate(4000, 0, stream)
    # CuPy's own way to make room: addresses that captured kernels refer to would be gone.
    assert not pool.freed and ordinary.freed > before and kept.nbytes == 2000
    found.keep(stream, kept)
    assert found.graph_end(stream).pool.kept == [kept]


def test_streams_events_graphs(found):
    stream = found.stream_create(1, -1)
    assert streams.device_of(stream) == 1 and found.stream_query(stream)
    event = found.event_create()
    with pytest.raises(ValueError, match="recorded"):
        found.event_elapsed(event, event)
    found.event_record(event, stream)
    assert found.event_elapsed(event, event) == 1.5 and found.event_query(event)
    found.stream_wait_event(stream, event)
    found.event_synchronize(event)
    found.graph_begin(stream)
    assert found.is_capturing(stream)
    with pytest.raises(RuntimeError, match="captured"):
        found.synchronize(1)
    block = found.allocate(100, 1, stream)
    graph = found.graph_end(stream)
    graph.launch(stream)
    assert graph.pool.allocations == 1 and found.memory_statistics(1)["allocations"] == 0
    assert block.device == 1
    found.stream_destroy(stream)
    with pytest.raises(RuntimeError, match="does not exist"):
        found.stream_query(stream)


def test_what_others_made_is_adopted(found):
    stream = found.stream_adopt(1234, 1)
    assert found.stream_pointer(stream) == 1234 and streams.device_of(stream) == 1
    array = types.SimpleNamespace(data=types.SimpleNamespace(ptr=4096), nbytes=24)
    block = found.adopt(array, 1)
    assert (block.address, block.nbytes, block.device, block.array) == (4096, 24, 1, array)
    assert found.can_access_peer(0, 1) and found.library is found.cupy


# ---- products ------------------------------------------------------------------------------------


def test_the_structure_of_a_heuristic():
    """Sizes and offsets of cublasLt.h."""
    assert ctypes.sizeof(cublaslt.Heuristic) == 96
    offsets = [getattr(cublaslt.Heuristic, n).offset for n in ("workspace", "state", "waves")]
    assert offsets == [64, 72, 76]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BFLOAT16], ids=str)
@pytest.mark.parametrize("turned", [(a, b, o) for a in (0, 1) for b in (0, 1) for o in (0, 1)])
def test_products(found, monkeypatch, dtype, turned):
    standin = BlasLt()
    monkeypatch.setattr(cublaslt, "open_library", lambda stem: standin)
    generator, (m, n, k, batch) = np.random.default_rng(0), (3, 5, 4, 2)
    dtype = np.dtype(dtype)

    def matrix(rows, columns, is_turned):
        """Elements in memory with room between rows, and strides."""
        long, short = (columns, rows) if is_turned else (rows, columns)
        memory = generator.standard_normal((batch, long, short + 2)).astype(dtype)
        view = memory[:, :, :short]
        strides = (1, short + 2) if is_turned else (short + 2, 1)
        return memory, (view.swapaxes(1, 2) if is_turned else view), strides

    (a, at, sa), (b, bt, sb) = matrix(m, k, turned[0]), matrix(k, n, turned[1])
    memory, out, so = matrix(m, n, turned[2])
    bias = generator.standard_normal(n).astype(dtype)
    for epilogue in products.EPILOGUES if not turned[2] else ("none",):
        product = Product(
            dtype, m, n, k, sa, sb, so, batch, (a[0].size, b[0].size, memory[0].size), 0.5, 2.0,
            epilogue,
        )  # fmt: skip
        before = memory.copy()
        expected = np.array(out)
        products.compute(product, at, bt, expected, bias)
        row = bias.ctypes.data if epilogue != "none" else 0
        places = (a.ctypes.data, b.ctypes.data, memory.ctypes.data)
        found.gemm(product, *places, row, 0)
        close(out, wide(expected), dtype, 4)
        spared = np.ones(memory.shape[2], bool)
        spared[: memory.shape[2] - 2] = False
        np.testing.assert_array_equal(memory[:, :, spared], before[:, :, spared])
    assert set(standin.asked[0]) == {1, 5, 6, 7, 8} and standin.asked[0][1] == 32 << 20


def test_epilogues_that_are_not_fused_follow(found, monkeypatch):
    standin = BlasLt()
    standin.refused = (4, 6, 36)
    monkeypatch.setattr(cublaslt, "open_library", lambda stem: standin)
    generator = np.random.default_rng(0)
    a, b, bias = (generator.standard_normal(s) for s in ((2, 3, 4), (4, 5), (5,)))
    for epilogue in products.EPILOGUES[1:]:
        out, expected = np.empty((2, 3, 7)), np.empty((2, 3, 5))
        product = Product(np.dtype(np.float64), 3, 5, 4, (4, 1), (5, 1), (7, 1), 2, (12, 0, 21),
                          epilogue=epilogue)  # fmt: skip
        products.compute(product, a, b, expected, bias)
        places = [array.ctypes.data for array in (a, b, out, bias)]
        found.gemm(product, *places, 0)
        np.testing.assert_allclose(out[:, :, :5], expected, rtol=1e-12)


def test_products_without_depth(found):
    block = found.allocate(60)
    product = Product(np.dtype(np.float32), 3, 5, 0, (1, 1), (5, 1), (5, 1))
    found.gemm(product, 0, 0, block.address)
    out = np.empty(15, np.float32)
    found.copy_out(out, block.address)
    assert not out.any()


def test_compute_types():
    def types(dtype, tf32=False):
        return cublaslt.compute_types(
            Product(np.dtype(dtype), 1, 1, 1, (1, 1), (1, 1), (1, 1), tf32=tf32)
        )

    assert types(np.float32) == (68, 0) and types(np.float32, True) == (77, 0)
    assert types(BFLOAT16, True) == (68, 0) and types(np.float64) == (70, 1)


def test_a_bias_needs_rows():
    with pytest.raises(ValueError, match="row-major"):
        cublaslt.arrange(
            Product(np.dtype(np.float32), 3, 5, 4, (4, 1), (5, 1), (1, 3), epilogue="bias")
        )


# ---- convolutions --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16], ids=str)
@pytest.mark.parametrize(("spatial", "last"), [((9, 8), False), ((9, 8), True), ((11,), False)])
def test_convolutions(found, monkeypatch, dtype, spatial, last):
    """Descriptions for cuDNN, read back by a stand-in that computes them as they say."""
    standin = make_cudnn()
    monkeypatch.setitem(sys.modules, "cudnn", standin)
    generator, dims = np.random.default_rng(0), len(spatial)
    draw = lambda *shape: generator.standard_normal(shape).astype(dtype)  # noqa: E731

    def placed(array):
        if not last:
            return array
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)

    settings = ((2, 1)[:dims], (1, 0)[:dims], (1, 2)[:dims])
    x, w = placed(draw(2, 4, *spatial)), placed(draw(6, 2, *(3, 2)[:dims]))
    full = [wide(x), wide(w)]
    y = cpu_convolution.convolution_forward(*full, None, *settings, 2)
    g = placed(draw(*y.shape))
    wanted = {
        "forward": (x, w, y),
        "input": (g, w, cpu_convolution.convolution_input_gradient(
            wide(g), full[1], x.shape, *settings, 2)),
        "weight": (g, x, cpu_convolution.convolution_weight_gradient(
            wide(g), full[0], w.shape, *settings, 2)),
    }  # fmt: skip
    assert found.has_cudnn()
    for kind, (first, second, expected) in wanted.items():
        out = placed(np.zeros(expected.shape, dtype))
        matters = [Matter.of(a) for a in (first, second, out)]
        asked = Convolution(kind, np.dtype(dtype), *matters, *settings, False, True)
        places = [a.ctypes.data for a in (first, second, out)]
        for _ in range(2):
            out[...] = 0
            assert found.run_cudnn(asked, places, 0)
            close(out, expected, dtype, 4)
    assert standin.built == 3 and found.cudnn_version() == 92800
    notes = ["NONDETERMINISTIC"]
    if dtype == np.float32:
        notes = ["TENSOR_CORE", "DOWN_CONVERT_INPUTS", *notes]
    assert standin.notes == notes


@pytest.mark.parametrize("heads", [4, 2], ids=["all heads", "shared heads"])
@pytest.mark.parametrize("causal", [False, True], ids=["all keys", "causal"])
@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16], ids=str)
def test_attention_by_cudnn(found, monkeypatch, dtype, causal, heads):
    """Operands, results and settings arrive where they belong."""
    standin = make_cudnn()
    monkeypatch.setitem(sys.modules, "cudnn", standin)
    generator = np.random.default_rng(0)

    def draw(*shape):  # heads side by side in memory, as a projection leaves them
        batch, heads, length, width = shape
        made = generator.standard_normal((batch, length, heads, width)).astype(dtype)
        return made.swapaxes(1, 2)

    q, k, v, g = draw(2, 4, 9, 8), draw(2, heads, 7, 8), draw(2, heads, 7, 16), draw(2, 4, 9, 16)
    full = [a.astype(np.float32) for a in (q, k, v)]
    out, sums = cpu_attention.attention_forward(*full, None, causal, 0.3)
    wanted = cpu_attention.attention_backward(
        g.astype(np.float32), *full, None, out, sums, causal, 0.3
    )
    found_out, found_sums = np.zeros_like(g), np.zeros((2, 4, 9, 1), np.float32)
    gradients = [np.zeros_like(a) for a in (q, k, v)]

    def run(kind, *arrays):
        asked = Attention(kind, np.dtype(dtype), tuple(map(Matter.of, arrays)), causal, 0.3, True)
        assert found.run_cudnn(asked, [a.ctypes.data for a in arrays], 0)

    run("forward", q, k, v, found_out, found_sums)
    run("backward", q, k, v, found_out, g, found_sums, *gradients)
    close(found_out, out, dtype, 2)
    np.testing.assert_allclose(found_sums[..., 0], sums, rtol=1e-5)
    for one, other in zip(gradients, wanted, strict=True):
        close(one, other, dtype, 4)
    assert standin.notes is True


def test_graphs_of_cudnn_are_launched_without_the_package_where_they_can_be():
    """By the compiled graph and the plan that was built, with addresses by number of operand."""
    asked, plan = [], types.SimpleNamespace(cpp_index=3)
    graph = types.SimpleNamespace(
        selected_engine=None, _plan_index=1, _plans=[None, plan],
        _lowered_graph=types.SimpleNamespace(_execute_plan_at_index=lambda *a: asked.append(a)),
        execute=lambda buffers, space, handle: asked.append((buffers, space, handle)),
    )  # fmt: skip
    graph._materialize_backend_plan = lambda index: graph._plans[index]
    operands = [types.SimpleNamespace(get_uid=lambda n=n: n) for n in (11, 7)]
    handle = types.SimpleNamespace(backend_handle=5)
    cudnn_graphs.launcher(graph, operands, handle)((100, 200), 300)
    assert asked == [({11: 100, 7: 200}, 300, 3, 5)]
    graph.selected_engine = "in Python"
    cudnn_graphs.launcher(graph, (1, 2), handle)((100, 200), 300)
    assert asked[1] == ({1: 100, 2: 200}, 300, handle)


def test_convolutions_that_cudnn_refuses_are_ours(found, monkeypatch):
    standin = make_cudnn(refuses=True)
    monkeypatch.setitem(sys.modules, "cudnn", standin)
    matter = Matter((1, 1, 2, 2), (4, 4, 2, 1))
    asked = Convolution("forward", np.dtype(np.float32), *[matter] * 3, (1, 1), (0, 0), (1, 1))
    assert not found.run_cudnn(asked, (0, 0, 0), 0) and not found.run_cudnn(asked, (0, 0, 0), 0)
    assert standin.built == 1
    assert "no engine" in found._cudnn.refused[(0, asked)]


def test_without_cudnn(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "cudnn", None)
    assert not found.has_cudnn() and found.cudnn_version() is None
    assert "ModuleNotFoundError" in found.why_no_cudnn


# ---- without a driver ----------------------------------------------------------------------------


def test_the_default_choice_without_a_driver(monkeypatch):
    """Where there is no driver there is a reason; where there is one, a device."""
    monkeypatch.setenv("RUSHLIGHT_CUDA", "")
    runtime.reset()
    try:
        reason = runtime.why_unavailable()
        assert runtime.available() == (reason is None)
    finally:
        monkeypatch.undo()
        runtime.reset()


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_cupy_has_what_is_called():
    import cupy

    assert callable(cupy.cuda.driver.launchKernel) and callable(cupy.cuda.alloc_pinned_memory)
    for name in ("UnownedMemory", "MemoryPointer", "ExternalStream", "Event", "get_elapsed_time"):
        assert callable(getattr(cupy.cuda, name))
    assert issubclass(cupy.cuda.driver.CUDADriverError, Exception)
    names = "deviceCanAccessPeer getDeviceCount setDevice getDevice deviceSynchronize memcpyAsync"
    for name in f"{names} memsetAsync memGetInfo getDeviceProperties".split():
        assert callable(getattr(cupy.cuda.runtime, name))
    for name in ("malloc", "free_all_blocks", "total_bytes", "free_bytes", "set_limit"):
        assert callable(getattr(cupy.cuda.memory.MemoryPool, name))
    for name in ("begin_capture", "end_capture", "wait_event", "synchronize"):
        assert callable(getattr(cupy.cuda.Stream, name))
    assert cupy.cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES == 8


LOG = """\
ptxas info    : Compiling entry function 'one' for 'sm_90'
ptxas info    : Function properties for one
ptxas         .     8 bytes stack frame, 56 bytes spill stores, 60 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers
ptxas info    : Compiling entry function 'two' for 'sm_90'
ptxas info    : Function properties for two
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 20 registers, used 0 barriers
"""


def test_usage_of_registers_is_read():
    found = nvrtc.usage(LOG)
    assert found == {"one": nvrtc.Usage(32, 8, 56, 60), "two": nvrtc.Usage(20, 0, 0, 0)}
