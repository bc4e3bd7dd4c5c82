"""NumPy's functions on device arrays: what runs where no kernel was written or generated.

A function written for NumPy sees views of the same memory: NumPy's own on the emulator, CuPy's on
a device. Its results become device arrays again; arrays of the host that it meets are uploaded.
`counts` tells how often that happened under which op, because kernels are the goal for hot ones.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import importlib
import threading

from rushlight.compiler.cuda.device_array import DeviceArray, empty, from_host
from rushlight.machine import np
from rushlight.machine.cuda import runtime

counts: collections.Counter = collections.Counter()  # op -> calls of array code
functions: collections.Counter = collections.Counter()  # the same, with the function's name
uploads: collections.Counter = collections.Counter()  # op -> host arrays met


class _Running(threading.local):
    op = "(none)"
    device = 0


running = _Running()


@contextlib.contextmanager
def running_op(name, device):
    """Inside, array code is counted under `name` and new arrays are made on `device`."""
    before = running.op, running.device
    running.op, running.device = name, device
    try:
        yield
    finally:
        running.op, running.device = before


def view_of(array):
    """The device array as an array of the library that computes on it: no copy."""
    current = runtime.current()
    if current.name == "emu":
        return current.view(array.address, array.shape, array.strides, array.dtype)
    with current.library.cuda.Device(array.block.device):
        return current.view(array.address, array.shape, array.strides, array.dtype)


class _Inputs:
    """Arguments as views, and what came from where."""

    def __init__(self):
        self.arrays, self.views = [], {}

    def convert(self, value):
        """A value with its device arrays as views and large host arrays uploaded."""
        kind = type(value)
        if kind is DeviceArray:
            found = view_of(value)
            if not value._writeable and type(found) is np.ndarray:
                found.flags.writeable = False
            self.arrays.append(value)
            self.views[id(found)] = value, found
            return found
        if kind is np.ndarray and not value.ndim:
            return value[()]  # libraries for devices take numbers, not arrays of the host
        if kind is np.ndarray and value.dtype.kind != "O":
            return self.convert(_uploaded(value))
        if kind is tuple or kind is list:
            return kind(self.convert(v) for v in value)
        if kind is dict:
            return {k: self.convert(v) for k, v in value.items()}
        return value

    def adopt(self, result):
        """A result with its arrays as device arrays: views of the inputs' memory stay views."""
        kind = type(result)
        if kind is tuple or kind is list:
            return kind(self.adopt(r) for r in result)
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*[self.adopt(r) for r in result])
        if isinstance(result, np.generic):
            result = np.asarray(result)
        if not hasattr(result, "__array_interface__") and not hasattr(
            result, "__cuda_array_interface__"
        ):
            return result
        if result.dtype.kind == "O":
            raise NotImplementedError(
                f"{running.op}: array code gave Python objects, which a device cannot hold"
            )
        known = self.views.get(id(result))
        if known is not None:
            return known[0]
        shared = self._shared(result)
        return fresh(result, self._device()) if shared is None else shared

    def _device(self):
        return self.arrays[0].device if self.arrays else running.device

    def _shared(self, result):
        address = _address(result)
        for array in self.arrays:
            block = array.block
            if result.size and block.address <= address < block.address + max(block.nbytes, 1):
                made = array._with(result.shape, result.strides, address, result.dtype)
                flags = getattr(result, "flags", None)
                made._writeable = array._writeable and getattr(flags, "writeable", True)
                return made
        return None


_SMALL = 1 << 14  # bytes up to which an uploaded array is kept: index tables come again and again
_KEPT = 512
_tables: collections.OrderedDict = collections.OrderedDict()


def _uploaded(value):
    """A host array on the device. Small ones are looked up first, so that a graph can be captured
    once a step has run."""
    if value.nbytes > _SMALL:
        uploads[running.op] += 1
        found = from_host(value, running.device)
        found._writeable = False  # what is written there would be lost to the host
        return found
    key = value.tobytes(), value.shape, value.dtype, running.device, runtime.current().name
    found = _tables.get(key)
    if found is None:
        uploads[running.op] += 1
        found = from_host(value, running.device)
        found._writeable = False
        _tables[key] = found
        if len(_tables) > _KEPT:
            _tables.popitem(last=False)
    current = runtime.current()
    stream = current.streams.current(running.device)
    if current.is_capturing(stream):  # it may be used long after the table has forgotten it
        current.keep(stream, found)
    return found


def _address(array):
    found = getattr(array, "__cuda_array_interface__", None) or array.__array_interface__
    return found["data"][0]


def fresh(result, device):
    """A device array with the elements of what array code gave."""
    adopt = getattr(runtime.current(), "adopt", None)
    if adopt is not None:  # CuPy's own memory: kept alive, not copied
        return DeviceArray(adopt(result, device), result.shape, result.dtype, result.strides)
    out = empty(result.shape, result.dtype, device)
    if out.size:
        view_of(out)[...] = result
    return out


def run(function, args, kwargs):
    """Call a function of the array library on views; its results are device arrays."""
    counts[running.op] += 1
    functions[running.op, getattr(function, "__name__", str(function))] += 1
    inputs = _Inputs()
    args, kwargs = inputs.convert(args), inputs.convert(kwargs)
    current, device = runtime.current(), inputs._device()
    with np.errstate(all="ignore"), _stream_of(current, device):
        result = inputs.adopt(function(*args, **kwargs))
    if current.name == "emu" and current.is_capturing(current.streams.current(device)):
        _record(current, device, function, args, kwargs, result)
    return result


def _stream_of(current, device):
    """A context in which the library of array code works on the device's current stream."""
    if current.name == "emu":
        return contextlib.nullcontext()
    found = contextlib.ExitStack()
    found.enter_context(current.library.cuda.Device(device))
    found.enter_context(current.stream_object(current.streams.current(device)))
    return found


def _record(current, device, function, args, kwargs, result):
    """On the emulator, array code is replayed with its graph."""
    outs = [r for r in (result if type(result) in (tuple, list) else (result,))]
    held = [(o, view_of(o)) for o in outs if type(o) is DeviceArray and o.base is None]

    def replay():
        with np.errstate(all="ignore"):
            again = function(*args, **kwargs)
        found = again if type(again) in (tuple, list) else (again,)
        for (_, target), value in zip(held, found, strict=False):
            if target is not value:
                target[...] = value

    current._do(current.streams.current(device), replay)


def library():
    """The library of array code: NumPy on the emulator, CuPy on a device."""
    current = runtime.current()
    return np if current.name == "emu" else current.library


def _named(function):
    """A NumPy function in the library of array code."""
    chosen = library()
    if chosen is np:
        return function
    module, name = chosen, function.__name__
    for part in (getattr(function, "__module__", None) or "numpy").split(".")[1:]:
        if not part.startswith("_") and part != "lib":
            module = getattr(module, part, module)
    found = getattr(module, name, None)
    if found is None:
        raise NotImplementedError(f"array code: {chosen.__name__} has no {name}")
    return found


# ------------------------------------------------------------------------------------ entry points
@functools.cache
def _words():
    """Kernels that stand for NumPy's functions: the compiler's, loaded at first use."""
    return importlib.import_module("rushlight.compiler.cuda.words")


_KERNELS: dict = {}  # functions that have a way of their own here: filled below


@functools.cache
def _moves():
    return importlib.import_module("rushlight.compiler.cuda.indices")


# Methods of CuPy's ufuncs, for all dtypes: the emulator, which is NumPy, has no others either.
_CUPY_METHODS = {
    "at": ("add", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"),
    "reduce": ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or"),
    "accumulate": ("add", "multiply"),
}


def ufunc_call(ufunc, method, inputs, kwargs):
    """A ufunc, or a method of one, on device arrays: a kernel's, where there is one."""
    words = _words()
    if method == "__call__":
        found = words.ufunc(ufunc, inputs, kwargs)
    else:
        way = {"reduce": words.ufunc_reduce, "at": _moves().ufunc_at,
               "accumulate": _moves().ufunc_accumulate}.get(method)  # fmt: skip
        found = None if way is None else way(ufunc, inputs, kwargs)
    if found is not None:
        return None if method == "at" else found
    if ufunc.__name__ not in _CUPY_METHODS.get(method, (ufunc.__name__,)):
        raise NotImplementedError(f"array code: CuPy has no {ufunc.__name__}.{method}")
    function = _named(ufunc)
    if method != "__call__":
        function = getattr(function, method)
    return run(function, inputs, kwargs)


def function_call(function, args, kwargs):
    """A function of NumPy on device arrays."""
    own = _KERNELS.get(function)
    if own is not None:
        return own(*args, **kwargs)
    kernel = _words().FUNCTIONS.get(function) or _moves().FUNCTIONS.get(function)
    if kernel is not None:
        found = kernel(*args, **kwargs)
        if found is not None:
            return found
    return run(_named(function), args, kwargs)


def method_call(array, name, args, kwargs):
    """A method of NumPy's arrays on a device array."""
    kernel = _words().METHODS.get(name) or _moves().METHODS.get(name)
    if kernel is not None:
        found = kernel(array, *args, **kwargs)
        if found is not None:
            return found

    def call(array, *args, **kwargs):
        return getattr(array, name)(*args, **kwargs)

    call.__name__ = name
    return run(call, (array, *args), kwargs)


def take_at(array, index):
    """``array[index]`` where the index holds arrays."""
    found = _moves().getitem(array, index)
    if found is not None:
        return found
    return run(lambda array, index: array[index], (array, index), {})


def put_at(array, index, value):
    """``array[index] = value`` where the index holds arrays."""
    if _moves().setitem(array, index, value):
        return

    def put(array, index, value):
        array[index] = value

    run(put, (array, index, value), {})


# ------------------------------------------------------------------------- what needs no array code
def _is_device(value):
    return type(value) is DeviceArray


def _broadcast_to(array, shape, subok=False):
    return array.broadcast_to((shape,) if isinstance(shape, int) else tuple(shape))


def _broadcast_arrays(*arrays, subok=False):
    shape = np.broadcast_shapes(*[np.shape(a) for a in arrays])
    return tuple(
        a.broadcast_to(shape) if _is_device(a) else np.broadcast_to(a, shape) for a in arrays
    )


def _expand_dims(array, axis):
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = array.ndim + len(axes)
    axes = {a % ndim for a in axes}
    return array[tuple(None if d in axes else slice(None) for d in range(ndim))]


def _moveaxis(array, source, destination):
    sources = [a % array.ndim for a in (source if np.ndim(source) else (source,))]
    targets = [a % array.ndim for a in (destination if np.ndim(destination) else (destination,))]
    order = [d for d in range(array.ndim) if d not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return array.transpose(order)


def _flip(array, axis=None):
    axes = range(array.ndim) if axis is None else axis if np.ndim(axis) else (axis,)
    axes = {a % array.ndim for a in axes}
    return array[
        tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(array.ndim))
    ]


def _split(array, sections, axis=0):
    n = array.shape[axis]
    if isinstance(sections, (int, np.integer)):
        short, extra = divmod(n, sections)
        sizes = [short + 1] * extra + [short] * (sections - extra)
        bounds = [sum(sizes[:i]) for i in range(1, len(sizes))]
    else:
        bounds = [int(b) for b in sections]
    edges = [0, *bounds, n]
    whole = [slice(None)] * (axis % array.ndim)
    return [array[(*whole, slice(a, b))] for a, b in zip(edges, edges[1:], strict=False)]


def _copyto(target, source, casting="same_kind", where=True):
    if where is not True:
        run(np.copyto, (target, source), {"casting": "unsafe", "where": where})
        return
    target[...] = source


def _like(fill):
    def make(array, dtype=None, order="K", subok=True, shape=None, *, device=None):
        shape = array.shape if shape is None else shape
        out = empty(shape, array.dtype if dtype is None else dtype, array.device)
        if order == "K" and shape == array.shape and not array.flags.c_contiguous:
            from rushlight.compiler.cuda.device_array import copies

            out = copies().empty_like(array, out.dtype)
        if fill is not None:
            out[...] = fill
        return out

    return make


def _full_like(array, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    out = _like(None)(array, dtype, order, subok, shape)
    out[...] = fill_value
    return out


_KERNELS |= {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.copy: lambda a, order="K", subok=False: a.copy(order),
    np.transpose: lambda a, axes=None: a.transpose() if axes is None else a.transpose(axes),
    np.permute_dims: lambda a, axes=None: a.transpose() if axes is None else a.transpose(axes),
    np.matrix_transpose: lambda x: x.mT,
    np.swapaxes: lambda a, axis1, axis2: a.swapaxes(axis1, axis2),
    np.moveaxis: _moveaxis,
    np.expand_dims: _expand_dims,
    np.squeeze: lambda a, axis=None: a.squeeze(axis),
    np.reshape: lambda a, shape, order="C", copy=None: a.reshape(shape),
    np.ravel: lambda a, order="C": a.ravel(),
    np.broadcast_to: _broadcast_to,
    np.broadcast_arrays: _broadcast_arrays,
    np.flip: _flip,
    np.split: _split,
    np.array_split: _split,
    np.diagonal: lambda a, offset=0, axis1=0, axis2=1: a.diagonal(offset, axis1, axis2),
    np.copyto: _copyto,
    np.empty_like: _like(None),
    np.zeros_like: _like(0),
    np.ones_like: _like(1),
    np.full_like: _full_like,
    np.real: lambda val: val.real,
    np.imag: lambda val: val.imag,
    np.may_share_memory: lambda a, b, max_work=None: (
        _is_device(a) and _is_device(b) and a.block is b.block
    ),
    np.shares_memory: lambda a, b, max_work=None: _shares(a, b),
}


def _shares(a, b):
    """Whether two arrays have memory in common, found on arrays of the same layout without any."""
    if not (_is_device(a) and _is_device(b)) or a.block is not b.block:
        return False
    return np.shares_memory(_shadow(a), _shadow(b))


class _Shadow:
    def __init__(self, array):
        self.__array_interface__ = {
            "data": (array.address, False),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": f"|V{array.itemsize}",
            "version": 3,
        }


def _shadow(array):
    """A NumPy array with the layout of a device array; its elements must not be read."""
    return np.asarray(_Shadow(array))


def as_strided(x, shape=None, strides=None, subok=False, writeable=True):
    """NumPy's ``as_strided`` of a device array."""
    out = x.as_strided(
        x.shape if shape is None else shape, x.strides if strides is None else strides
    )
    out._writeable = bool(writeable) and x._writeable
    return out


def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """NumPy's ``sliding_window_view`` of a device array."""
    window = window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    shape, steps = list(x.shape), []
    for n, a in zip(window, axes, strict=True):
        a %= x.ndim
        shape[a] -= n - 1
        steps.append(x.strides[a])
    if any(n < 0 for n in shape):
        raise ValueError("window shape cannot be larger than input array shape")
    return as_strided(x, (*shape, *window), (*x.strides, *steps), writeable=writeable)


_KERNELS[np.lib.stride_tricks.sliding_window_view] = sliding_window_view
