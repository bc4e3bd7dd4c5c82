"""Stand-ins for CuPy and cuBLASLt on host memory, as narrow as what the real runtime calls.

They follow the documented signatures. Kernels go to the emulator with the very array of argument
addresses that a driver would get; cuBLASLt's descriptions are read back and computed in columns.
"""

from __future__ import annotations

import ctypes
import types

import ml_dtypes
import numpy as np

from rushlight.machine.cuda.runtime.emulated import _Launch
from rushlight.machine.cuda.runtime.emulated_memory import host_view


class CUDARuntimeError(RuntimeError):
    """What CuPy raises for the runtime's errors."""

    def __init__(self, message="", status=None):
        super().__init__(message)
        self.status = status


class OutOfMemoryError(MemoryError):
    """What CuPy raises when a pool cannot get memory."""


class _Memory:
    left = 1 << 40  # bytes that the driver has for graphs

    def __init__(self, size):
        self.size = -(-size // 512) * 512
        self.array = np.full(self.size + 256, 0xCB, np.uint8)


class _Pointer:
    def __init__(self, memory):
        self.mem = memory
        self.ptr = (memory.array.ctypes.data + 255) & ~255


def driver_memory(size):
    """``cupy.cuda.memory.Memory``: from the driver, which may have none."""
    if _Memory.left < size:
        raise CUDARuntimeError("cudaErrorMemoryAllocation: out of memory", 2)
    return _Memory(size)


class MemoryPool:
    """``cupy.cuda.memory.MemoryPool``."""

    limit = 1 << 40

    def __init__(self, allocate=None):
        self.total, self.freed, self.allocate = 0, 0, allocate

    def malloc(self, size):
        if self.total + size > self.limit:
            raise OutOfMemoryError(size)
        try:
            made = _Pointer(_Memory(size)) if self.allocate is None else self.allocate(size)
        except CUDARuntimeError:  # as CuPy's: makes room in this very pool
            self.free_all_blocks()
            raise OutOfMemoryError(size) from None
        self.total += -(-size // 512) * 512
        return made

    def free_all_blocks(self, stream=None):
        self.freed += 1

    def total_bytes(self):
        return self.total

    def free_bytes(self):
        return 0

    def set_limit(self, size=None, fraction=None):
        self.limit = int(fraction * (8 << 20))


class Stream:
    """``cupy.cuda.Stream``."""

    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
        self.ptr, self.done, self.waits, self.capturing = id(self), True, [], False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def synchronize(self):
        if self.capturing:
            raise CUDARuntimeError("operation not permitted when stream is capturing")

    def wait_event(self, event):
        self.waits.append(event)

    def begin_capture(self, mode=None):
        self.capturing = True

    def end_capture(self):
        self.capturing = False
        return types.SimpleNamespace(launch=lambda stream: None)


class ExternalStream(Stream):
    """``cupy.cuda.ExternalStream``."""

    def __init__(self, ptr, device_id=-1):
        super().__init__()
        self.ptr = ptr


Stream.null = Stream(null=True)
Stream.null.ptr = 0


class Event:
    """``cupy.cuda.Event``."""

    def __init__(self, block=False, disable_timing=False, interprocess=False):
        self.done, self.stream = True, None

    def record(self, stream=None):
        self.stream = stream

    def synchronize(self):
        assert self.stream is not None


class Function:
    """``cupy.cuda.function.Function``: a kernel of the emulator."""

    known: dict = {}

    def __init__(self, kernel):
        self.kernel, self.ptr = kernel, id(kernel)
        self.known[self.ptr] = self


class Module:
    """``cupy.cuda.function.Module``; its cubin is the text for the emulator."""

    def load(self, cubin):
        from rushlight.machine.cuda.runtime.emulated import Module as Emulated

        self.module = Emulated(cubin.decode(), ())

    def get_function(self, name):
        return Function(self.module.kernel(name))


def launch_kernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra):
    """``cupy.cuda.driver.launchKernel``."""
    assert isinstance(stream, int) and extra == 0
    kernel = Function.known[function].kernel
    shape = _Launch((gx, gy, gz), (bx, by, bz), shared, 0)
    if kernel.entry(ctypes.c_void_p(params), ctypes.byref(shape)):
        raise CUDARuntimeError("cudaErrorLaunchFailure: unspecified launch failure")


class Runtime:
    """``cupy.cuda.runtime`` with two devices."""

    CUDARuntimeError = CUDARuntimeError
    current = 0

    def getDeviceCount(self):  # noqa: N802 - CuPy's names
        return 2

    def getDevice(self):  # noqa: N802
        return self.current

    def setDevice(self, device):  # noqa: N802
        self.current = device

    def deviceSynchronize(self):  # noqa: N802
        return None

    def memGetInfo(self):  # noqa: N802
        return 1 << 20, 8 << 20

    def getDeviceProperties(self, device):  # noqa: N802
        return {
            "name": b"Stand-in", "major": 9, "minor": 0, "totalGlobalMem": 8 << 20,
            "multiProcessorCount": 132, "warpSize": 32, "maxThreadsPerBlock": 1024,
            "maxThreadsPerMultiProcessor": 2048, "sharedMemPerBlock": 49152,
            "sharedMemPerBlockOptin": 232448, "uuid": bytes(range(16)), "integrated": 0,
        }  # fmt: skip

    def deviceCanAccessPeer(self, device, other):  # noqa: N802
        return 1

    def memcpyAsync(self, to, source, size, kind, stream):  # noqa: N802
        assert kind in (1, 2, 3) and isinstance(stream, int)
        ctypes.memmove(to, source, size)

    def memsetAsync(self, address, value, size, stream):  # noqa: N802
        assert isinstance(stream, int)
        ctypes.memset(address, value, size)


def make_cupy():
    """A module object that has what the real runtime asks of CuPy."""
    driver = types.SimpleNamespace(
        launchKernel=launch_kernel,
        CUDADriverError=CUDARuntimeError,
        funcSetAttribute=lambda function, attribute, value: asked.append((attribute, value)),
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
    )
    asked: list = []
    cuda = types.SimpleNamespace(
        runtime=Runtime(), driver=driver, Stream=Stream, Event=Event, ExternalStream=ExternalStream,
        memory=types.SimpleNamespace(
            MemoryPool=MemoryPool, OutOfMemoryError=OutOfMemoryError, Memory=driver_memory,
            MemoryPointer=lambda memory, offset: _Pointer(memory),
        ),
        function=types.SimpleNamespace(Module=Module),
        alloc_pinned_memory=lambda size: bytearray(size),
        get_current_stream=lambda: Stream.null,
        get_elapsed_time=lambda start, end: 1.5,
    )  # fmt: skip
    return types.SimpleNamespace(cuda=cuda, asked=asked)


# ---- cuBLASLt ------------------------------------------------------------------------------------

_TYPES = {0: np.float32, 1: np.float64, 2: np.float16, 14: ml_dtypes.bfloat16}
_ALL = ctypes.c_char_p


class BlasLt:
    """cuBLASLt's functions on host memory; descriptions are numbers into `made`."""

    def __init__(self, workspace=1000):
        self.made, self.workspace, self.asked, self.refused = {}, workspace, [], ()

    def _new(self, out, **fields):
        number = 1000 + len(self.made)
        self.made[number] = {**fields, "attributes": {}}
        out._obj.value = number
        return 0

    def _set(self, what, attribute, value, size):
        assert size.value == ctypes.sizeof(value._obj)
        self.made[what.value]["attributes"][attribute.value] = value._obj.value
        return 0

    cublasLtMatmulDescSetAttribute = _set  # noqa: N815 - the library's names
    cublasLtMatrixLayoutSetAttribute = _set  # noqa: N815
    cublasLtMatmulPreferenceSetAttribute = _set  # noqa: N815

    def cublasLtCreate(self, out):  # noqa: N802
        out._obj.value = 1
        return 0

    def cublasLtMatmulDescCreate(self, out, compute, scale):  # noqa: N802
        return self._new(out, compute=compute.value, scale=scale.value)

    def cublasLtMatrixLayoutCreate(self, out, kind, rows, columns, leading):  # noqa: N802
        return self._new(out, kind=kind.value, shape=(rows.value, columns.value),
                         leading=leading.value)  # fmt: skip

    def cublasLtMatmulPreferenceCreate(self, out):  # noqa: N802
        return self._new(out)

    def cublasLtMatmulPreferenceDestroy(self, preference):  # noqa: N802
        return 0

    def cublasLtMatmulAlgoGetHeuristic(  # noqa: N802
        self, handle, operation, a, b, c, d, preference, asked, found, count
    ):
        assert asked.value == 1 and c.value == d.value
        if self.made[operation.value]["attributes"][7] in self.refused:
            return 15
        self.asked.append(self.made[preference.value]["attributes"])
        found._obj.workspace, count._obj.value = self.workspace, 1
        return 0

    def _matrix(self, layout, address):
        row = self.made[layout.value]
        rows, columns = row["shape"]
        dtype = np.dtype(_TYPES[row["kind"]])
        assert row["leading"] >= rows
        batch, stride = (row["attributes"].get(n, 1 - n + 5) for n in (5, 6))
        strides = (stride * dtype.itemsize, dtype.itemsize, row["leading"] * dtype.itemsize)
        return host_view(address, (batch, rows, columns), strides, dtype)

    def cublasLtMatmul(self, handle, operation, alpha, a, a_layout, b, b_layout, beta, c,  # noqa: N802
                       c_layout, d, d_layout, algorithm, workspace, size, stream):  # fmt: skip
        assert size.value == self.workspace and bool(workspace.value) == bool(size.value)
        row = self.made[operation.value]
        said = row["attributes"]
        real = np.float64 if row["scale"] == 1 else np.float32
        first = self._matrix(a_layout, a.value).astype(real)
        second = self._matrix(b_layout, b.value).astype(real)
        first = first.swapaxes(1, 2) if said[3] else first
        second = second.swapaxes(1, 2) if said[4] else second
        out = self._matrix(d_layout, d.value)
        result = real(alpha._obj.value) * (first @ second)
        if beta._obj.value:
            result = result + real(beta._obj.value) * out.astype(real)
        if said[7] != 1:
            assert said[26] == self.made[d_layout.value]["kind"]
            bias = host_view(said[8], (out.shape[1],), None, out.dtype).astype(real)
            result = result + bias[:, None]
        if said[7] == 6:
            result = np.maximum(result, 0)
        if said[7] == 36:
            cube = 0.7978845608028654 * (result + 0.044715 * result**3)
            result = 0.5 * result * (1 + np.tanh(cube))
        out[...] = result.astype(out.dtype)
        return 0


# ---- cuDNN ---------------------------------------------------------------------------------------


class _Tensor:
    """``cudnn.tensor``: settings that give the tensor back."""

    def __init__(self, dim=(), stride=(), data_type=None, name=""):
        self.dim, self.stride, self.kind = list(dim), list(stride), data_type

    def set_output(self, value):
        assert value is True
        return self

    def set_data_type(self, kind):
        self.kind = kind
        return self

    def set_dim(self, dim):
        self.dim = dim
        return self

    def set_stride(self, stride):
        self.stride = stride
        return self

    def view(self, address):
        dtype = np.dtype(self.kind)
        return host_view(address, self.dim, [s * dtype.itemsize for s in self.stride], dtype)


def _make_graph(module, refuses):
    from rushlight.kernels.attention import products as cpu_attention
    from rushlight.kernels.convolution import choice as cpu

    class Graph:
        """``cudnn.pygraph`` with one node."""

        def __init__(self, io_data_type, intermediate_data_type, compute_data_type, handle):
            assert intermediate_data_type is compute_data_type is np.float32 and handle == 7

        def tensor(self, dim, stride, data_type, name):
            return _Tensor(dim, stride, data_type, name)

        def _node(self, kind, first, second, padding, stride, dilation):
            self.kind, self.inputs, self.out = kind, (first, second), _Tensor()
            self.outs = [self.out]
            self.settings = (tuple(stride), tuple(padding), tuple(dilation))
            return self.out

        def sdpa(self, name, q, k, v, generate_stats, attn_scale, use_causal_mask):
            assert generate_stats is True
            self.kind, self.inputs, self.outs = "attention", (q, k, v), [_Tensor(), _Tensor()]
            self.settings = use_causal_mask, attn_scale
            return self.outs

        def sdpa_backward(self, name, q, k, v, o, dO, stats, attn_scale, use_causal_mask,  # noqa: N803
                          use_deterministic_algorithm):  # fmt: skip
            self.kind, self.inputs = "attention backward", (q, k, v, o, dO, stats)
            self.outs = [_Tensor() for _ in range(3)]
            self.settings, module.notes = (use_causal_mask, attn_scale), use_deterministic_algorithm
            return self.outs

        def conv_fprop(self, image, weight, padding, stride, dilation):
            return self._node("forward", image, weight, padding, stride, dilation)

        def conv_dgrad(self, loss, filter, padding, stride, dilation):  # noqa: A002
            return self._node("input", loss, filter, padding, stride, dilation)

        def conv_wgrad(self, image, loss, padding, stride, dilation):
            return self._node("weight", loss, image, padding, stride, dilation)

        def validate(self):
            assert all(len(out.dim) == len(out.stride) >= 4 for out in self.outs)

        build_operation_graph = build_plans = validate

        def create_execution_plans(self, modes):
            assert modes == ["A", "FALLBACK"]

        def deselect_numeric_notes(self, notes):
            module.notes = notes

        def check_support(self):
            module.built += 1
            if refuses:
                raise RuntimeError("no engine")

        def get_workspace_size(self):
            return 100

        def _attend(self, buffers):
            given = [t.view(buffers[t]).astype(np.float32) for t in self.inputs]
            if self.kind == "attention":
                out, sums = cpu_attention.attention_forward(*given, None, *self.settings)
                found = out, sums[..., None]
            else:
                q, k, v, o, grad, sums = given
                found = cpu_attention.attention_backward(
                    grad, q, k, v, None, o, sums[..., 0], *self.settings
                )
            for target, value in zip(self.outs, found, strict=True):
                place = target.view(buffers[target])
                place[...] = value.astype(place.dtype)

        def execute(self, buffers, workspace, handle):
            assert workspace and handle == 7
            if self.kind.startswith("attention"):
                return self._attend(buffers)
            first, second = (t.view(buffers[t]).astype(np.float64) for t in self.inputs)
            out = self.out.view(buffers[self.out])
            if self.kind == "forward":
                groups = first.shape[1] // second.shape[1]
                found = cpu.convolution_forward(first, second, None, *self.settings, groups)
            elif self.kind == "input":
                groups = out.shape[1] // second.shape[1]
                found = cpu.convolution_input_gradient(
                    first, second, out.shape, *self.settings, groups
                )
            else:
                groups = second.shape[1] // out.shape[1]
                found = cpu.convolution_weight_gradient(
                    first, second, out.shape, *self.settings, groups
                )
            out[...] = found.astype(out.dtype)

    return Graph


def make_cudnn(refuses=False):
    """A module object that has what is asked of nvidia-cudnn-frontend."""
    module = types.SimpleNamespace(built=0, notes=None)
    module.data_type = types.SimpleNamespace(
        FLOAT=np.float32, HALF=np.float16, BFLOAT16=ml_dtypes.bfloat16
    )
    module.heur_mode = types.SimpleNamespace(A="A", FALLBACK="FALLBACK")
    module.numerical_note = types.SimpleNamespace(
        TENSOR_CORE="TENSOR_CORE", DOWN_CONVERT_INPUTS="DOWN_CONVERT_INPUTS",
        NONDETERMINISTIC="NONDETERMINISTIC",
    )  # fmt: skip
    module.create_handle = lambda: 7
    module.backend_version = lambda: 92800
    module.set_stream = lambda handle, stream: None
    module.pygraph = _make_graph(module, refuses)
    return module
