"""Copies, casts and fills of device arrays, by generated kernels; and to and from the host."""

from __future__ import annotations

import collections
import functools

from rushlight.compiler.cuda.device_array import DeviceArray, empty
from rushlight.compiler.cuda.kernel import DeviceKernel
from rushlight.compiler.cuda.unsigned import UNSIGNED, from_words, to_words, wrapped
from rushlight.compiler.graph import trace
from rushlight.compiler.storage import NAME
from rushlight.compiler.vocabulary import xp
from rushlight.machine import np
from rushlight.machine.arrays import BY_ARRAY_DTYPE, cast, eight_bits, is_complex
from rushlight.machine.cuda import runtime
from rushlight.machine.cuda.strides import contiguous_strides

_BITS = {1: np.dtype(np.uint8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


@functools.cache
def cast_kernel(source, target):
    """The kernel that converts between two dtypes, by their short names."""
    program = trace(lambda x: x, {"x": source}, {"x": source}, {}, {}, (target,))
    return DeviceKernel(program)


@functools.cache
def fill_kernel(target, kind):
    """The kernel that sets every element to a number; its input gives the shape only."""
    program = trace(lambda value: value, {}, {}, {"value": kind}, {}, (target,))
    return DeviceKernel(program)


@functools.cache
def _word_kernel(name, short):
    word = getattr(xp, name)
    return DeviceKernel(trace(lambda x: word(x), {"x": short}, {"x": short}, {}, {}, (short,)))


def word(name, array) -> DeviceArray:
    """One word of the compiler's vocabulary, such as ``lgamma``, of every element."""
    return _word_kernel(name, NAME[array.dtype])(array)


_RAMPS = """
extern "C" __global__ void rushlight_ramp_i64(long long* out, long long n,
                                              unsigned long long start, unsigned long long step) {
  long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = (long long)(start + (unsigned long long)i * step);
}
extern "C" __global__ void rushlight_ramp_f64(double* out, long long n, double start,
                                              double step) {
  long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = start + (double)i * step;
}
"""


def ramp_source():
    """(name, text, options), for those who compile all kernels."""
    return "ramps", _RAMPS, ("--fmad=false",)


@functools.cache
def _ramps(runtime_name, device):
    return runtime.current().load(_RAMPS, ("--fmad=false",))


def ramp(count, start, step, dtype, device) -> DeviceArray:
    """``start + i * step`` for i below `count`: computed in int64 or float64, then converted."""
    whole = isinstance(start, int) and isinstance(step, int)
    kind = np.int64 if whole else np.float64
    out = empty((count,), kind, device)
    if count:
        current = runtime.current()
        kernel = _ramps(current.name, device).kernel(f"rushlight_ramp_{'i64' if whole else 'f64'}")
        arguments = (out.address, np.int64(count), kind(start), kind(step))
        stream = current.streams.current(device)
        current.launch(kernel, (-(-count // 256), 1, 1), (256, 1, 1), 0, stream, arguments)
    return out.astype(dtype, copy=False)


def _as_bits(array):
    """The array as whole numbers of its width: copying moves bits."""
    if array.dtype.itemsize == 16:
        halves = array._with((*array.shape, 2), (*array.strides, 8), None, _BITS[8])
        return halves
    return array._with(array.shape, array.strides, None, _BITS[array.dtype.itemsize])


def _moved(out, source):
    """Copy elements of one dtype, any strides."""
    out, source = _as_bits(out), _as_bits(source)
    name = NAME[out.dtype]
    cast_kernel(name, name).into((out,), source)


def write(out, value) -> None:
    """``out[...] = value``: another device array, an array of the host, or a number."""
    if type(value) is not DeviceArray:
        if isinstance(value, np.ndarray) and value.size != 1 or isinstance(value, (list, tuple)):
            value = from_host(np.asarray(value, out.dtype), out.device)
        else:
            _fill(out, value.item() if isinstance(value, np.ndarray | np.generic) else value)
            return
    while value.ndim > out.ndim and value.shape[0] == 1:
        value = value[0]
    if value.shape != out.shape:
        value = value.broadcast_to(out.shape)
    if not out.size:
        return
    if value.device != out.device:
        value = to_device(value.contiguous(), out.device)
    if value.dtype != out.dtype:
        if is_complex(value.dtype) or is_complex(out.dtype):
            _write_complex(out, value)
            return
        convert(out, value)
        return
    if out.flags.c_contiguous and value.flags.c_contiguous:
        if out.address != value.address:
            current = runtime.current()
            stream = current.streams.current(out.device)
            current.copy_within(out.address, value.address, out.nbytes, stream)
        return
    _moved(out, value)


def convert(out, value):
    """``out[...] = value`` between dtypes of real numbers; floats of eight bits by way of the host,
    since no kernel reads them."""
    if value.dtype in eight_bits or out.dtype in eight_bits:
        found = cast(to_host(value), BY_ARRAY_DTYPE[out.dtype].code)
        write(out, from_host(found, out.device))
        return
    if value.dtype in UNSIGNED or out.dtype in UNSIGNED:
        _convert_unsigned(out, value)
        return
    cast_kernel(NAME[value.dtype], NAME[out.dtype]).into((out,), value)


def _convert_unsigned(out, value):
    """Unsigned numbers as int64 of the same value, modulo 2**64; then the other dtype."""
    if value.dtype in UNSIGNED:
        wide = value.dtype.itemsize == 8
        bits = _as_bits(value)
        if wide and out.dtype not in UNSIGNED and out.dtype.kind not in "iub":
            from_words(NAME[out.dtype]).into((out,), bits)
            return
        value = bits
        if not wide:
            value = empty(bits.shape, np.int64, bits.device)
            to_words(NAME[bits.dtype], 8 * bits.itemsize).into((value,), bits)
    elif value.dtype.kind not in "iub":
        words = empty(value.shape, np.int64, value.device)
        to_words(NAME[value.dtype], 64).into((words,), value)
        value = words
    out = _as_bits(out) if out.dtype in UNSIGNED else out
    cast_kernel(NAME[value.dtype], NAME[out.dtype]).into((out,), value)


def _write_complex(out, value):
    if is_complex(out.dtype):
        write(out.real, value.real)
        write(out.imag, value.imag if is_complex(value.dtype) else 0)
    else:
        write(out, value.real)


def _fill(out, value):
    if not out.size:
        return
    if is_complex(out.dtype):
        value = complex(value)
        _fill(out.real, value.real)
        _fill(out.imag, value.imag)
        return
    if isinstance(value, complex):
        value = value.real
    if out.dtype in UNSIGNED:
        out, value = _as_bits(out), wrapped(value, out.itemsize)
    if value == 0 and not (isinstance(value, float) and str(value) == "-0.0"):
        if out.flags.c_contiguous:
            current = runtime.current()
            current.fill_bytes(out.address, 0, out.nbytes, current.streams.current(out.device))
            return
    kind = "f64" if isinstance(value, float) else "i64"
    if kind == "i64" and not -(1 << 63) <= value < 1 << 63:
        value, kind = float(value), "f64"
    kernel = fill_kernel(NAME[out.dtype], kind)
    kernel.into((out,), value if kind == "f64" else int(value))


def empty_like(array, dtype) -> DeviceArray:
    """Uninitialised memory with the shape and, where it is dense, the order of an array."""
    out = empty(array.shape, dtype, array.device)
    order = sorted(range(array.ndim), key=lambda d: -abs(array.strides[d]))
    step = array.itemsize
    for d in reversed(order):
        if array.shape[d] != 1:
            if array.strides[d] != step:
                return out
            step *= array.shape[d]
    inner = contiguous_strides([array.shape[d] for d in order], out.itemsize)
    strides = [0] * array.ndim
    for d, s in zip(order, inner, strict=True):
        strides[d] = s
    out.strides = tuple(strides)
    return out


def copied(array, order="C") -> DeviceArray:
    """The elements in memory of their own."""
    out = (
        empty_like(array, array.dtype)
        if order in ("K", "A")
        else empty(array.shape, array.dtype, array.device)
    )
    if out.size:
        if out.strides == array.strides and _is_dense(out, array):
            current = runtime.current()
            stream = current.streams.current(out.device)
            current.copy_within(out.address, array.address, out.nbytes, stream)
        else:
            _moved(out, array)
    return out


def _is_dense(out, array):
    return out.strides == array.strides


def converted(array, dtype) -> DeviceArray:
    """The elements in another dtype, in the same order of dimensions."""
    if dtype == array.dtype:
        return copied(array, "K")
    out = empty_like(array, dtype)
    if out.size:
        write(out, array)
    return out


# ------------------------------------------------------------------------------- host and devices
def from_host(array, device=0, blocking=True) -> DeviceArray:
    """A copy of a NumPy array in device memory."""
    array = np.asarray(array)
    dense = np.ascontiguousarray(array).reshape(array.shape)
    out = empty(array.shape, array.dtype, device)
    if out.size:
        current = runtime.current()
        stream = current.streams.current(device)
        current.copy_in(out.address, dense, stream, blocking)
        if not blocking:
            _keep(dense, current, stream, device)
    return out


_in_flight: collections.deque = collections.deque()  # host memory that copies still read or write


def _keep(array, current, stream, device):
    """Hold host memory until the stream is done with it."""
    while _in_flight and _in_flight[0][0] is current and current.event_query(_in_flight[0][1]):
        current.event_destroy(_in_flight.popleft()[1])
    event = current.event_create(False, device)
    current.event_record(event, stream)
    _in_flight.append((current, event, array))


def to_host(array, blocking=True) -> np.ndarray:
    """A copy of a device array in host memory. Waits for the device unless not `blocking`."""
    dense, current = array.contiguous(), runtime.current()
    if blocking:
        out = np.empty(array.shape, array.dtype)
    else:  # only page-locked memory is copied to while the program goes on
        row = current.allocate_pinned(max(array.nbytes, 1))
        out = row[: array.nbytes].view(array.dtype).reshape(array.shape)
    if out.size:
        stream = current.streams.current(array.device)
        current.copy_out(out, dense.address, stream, blocking)
        if not blocking:
            _keep((out, dense), current, stream, array.device)
    return out


def to_device(array, device) -> DeviceArray:
    """A copy on another device."""
    source = array.contiguous()
    out = empty(array.shape, array.dtype, device)
    if out.size:
        current = runtime.current()
        stream, there = (current.streams.current(d) for d in (array.device, device))
        current.copy_within(out.address, source.address, out.nbytes, stream)
        if stream != there:  # whoever reads the copy waits for it on its own stream
            event = current.event_create(False, array.device)
            current.event_record(event, stream)
            current.stream_wait_event(there, event)
            current.event_destroy(event)
    return out


__all__ = [
    "cast_kernel",
    "converted",
    "copied",
    "empty_like",
    "fill_kernel",
    "from_host",
    "to_device",
    "to_host",
    "write",
]
