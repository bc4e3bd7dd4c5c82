"""Array-language functions, made to run on device arrays.

The body of an op and the references of its kernels are written for NumPy. The same text runs on a
device when the names it looks up mean something else there: ``np`` is a namespace whose new arrays
are on the device, a kernel is the handwritten one in the files `cuda` of the kernels' families or
else the CPU kernel's reference. `on_device` makes a function with the code of another and such
names, translated when they are first looked up. The functions of the CPU are left as they are.
"""

from __future__ import annotations

import collections
import importlib
import importlib.util
import math
import threading
import types

from rushlight.compiler.cuda import array_code
from rushlight.compiler.cuda.array_code import running
from rushlight.compiler.cuda.device_array import DeviceArray, copies, empty, from_host, zeros
from rushlight.machine import np


class NoDeviceKernelError(NotImplementedError):
    """Array code reached a kernel that was compiled for the CPU."""


# Modules whose functions compute on arrays; higher layers add theirs, and to OWN. Those of
# `backends` that run compiled code refuse.
ARRAY_LAYERS = [
    "rushlight.kernels.",
    "rushlight.machine.arrays",
    "rushlight.machine.memory",
    "rushlight.compiler.evaluation",
    "rushlight.compiler.storage",
    "rushlight.compiler.vocabulary",
    "rushlight.compiler.layout",
]
_COMPILED = (
    "rushlight.machine.threads",
    "rushlight.machine.machine_code",
    "rushlight.machine.openblas",
    "rushlight.machine.worker_pool",
    "rushlight.machine.language.lowering",
    "rushlight.kernels.linalg.lapack",
    "rushlight.kernels.launch.execution.launch",
)
_lock = threading.RLock()
_functions: dict = {}
_namespaces: dict = {}
_modules: dict = {}


def on_device(function):
    """The function with its names translated for device arrays."""
    found = _functions.get(function)
    if found is None:
        with _lock:
            found = _functions.get(function)
            if found is None:
                found = _functions[function] = _translated(function)
    return found


def _translated(function):
    if type(function) is not types.FunctionType:
        return function
    closure = function.__closure__
    if closure is not None:
        closure = tuple(types.CellType(_value(_content(cell))) for cell in closure)
    made = types.FunctionType(
        function.__code__,
        _namespace(function.__globals__),
        function.__name__,
        function.__defaults__,
        closure,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    return made


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet: a function that calls itself
        return None


class _Namespace(dict):
    """The global names of a module, each translated when it is first looked up."""

    def __init__(self, names):
        super().__init__({"__builtins__": names["__builtins__"], "__name__": names["__name__"]})
        self.names = names

    def __missing__(self, name):
        value = _value(self.names[name], name)
        self[name] = value
        return value


def _namespace(names):
    found = _namespaces.get(id(names))
    if found is None:
        found = _namespaces[id(names)] = _Namespace(names)
    return found


class _Module:
    """A module of array code, with its functions translated."""

    def __init__(self, module):
        self.__dict__["_module"] = module

    def __getattr__(self, name):
        value = _value(getattr(self._module, name), name)
        self.__dict__[name] = value
        return value


class _Compiled:
    """A module that runs machine code of the CPU: every function of it refuses."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        value = getattr(self._module, name)
        if not callable(value) or isinstance(value, type):
            return value

        def refuse(*args, **kwargs):
            raise NoDeviceKernelError(
                f"{running.op}: its kernel {self._module.__name__.rsplit('.', 1)[-1]}.{name} was "
                "compiled for the CPU; there is none for CUDA devices yet. Compute it on the CPU: "
                "tensor.cpu()"
            )

        return refuse


class _Solver:
    """LAPACK's part: a device's own library (`rushlight.kernels.linalg.cuda`); the emulator, which
    has none, computes with the CPU's on the same memory, as it does products."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        value = getattr(self._module, name)
        if not isinstance(value, types.FunctionType):
            return value
        written = handwritten("linalg.lapack", name)
        if written is None:
            return getattr(_Compiled(self._module), name)

        def call(*args, **kwargs):
            solved[running.op] += 1
            found = written(*args, **kwargs)
            return array_code.run(value, args, kwargs) if found is NotImplemented else found

        return call


solved: collections.Counter = collections.Counter()  # op -> calls of the solver library


def _value(value, name=None):
    """What a name means on a device."""
    if name == "REFERENCE":
        return True
    if value is np:
        return device_numpy
    if value is np.ndarray:
        return device_numpy.ndarray
    if isinstance(value, types.ModuleType):
        return _module(value)
    if isinstance(value, types.FunctionType):
        return _function(value)
    if type(value) is dict:
        if name is not None and name.islower():
            return {}  # a cache, of plans that are the CPU's
        return {k: _value(v) for k, v in value.items()}
    return value


def _module(module):
    name = module.__name__
    if name == "rushlight.kernels.linalg.lapack":
        return _modules.setdefault(name, _Solver(module))
    if name in _COMPILED:
        return _modules.setdefault(name, _Compiled(module))
    if name.startswith(tuple(ARRAY_LAYERS)):
        return _modules.setdefault(name, _Module(module))
    return module


def _function(function):
    module = function.__module__ or ""
    own = OWN.get((module, function.__name__))
    if own is not None:
        return own
    if module in _COMPILED:
        return getattr(
            _modules.setdefault(module, _Compiled(importlib.import_module(module))),
            function.__name__,
        )
    if not module.startswith(tuple(ARRAY_LAYERS)) or hasattr(function, "op"):
        return function
    if module.startswith("rushlight.kernels."):
        return _kernel(function, module)
    return on_device(function)


def _kernel(function, module):
    """The handwritten kernel of that family and name; else the reference; else the text."""
    reference = getattr(function, "reference", None)
    if reference is not None:
        reference = getattr(reference, "__wrapped__", reference)  # as it was written
    other = on_device(function if reference is None else reference)
    if ".cuda" in module:
        return function
    written = handwritten(module.removeprefix("rushlight.kernels."), function.__name__)
    if written is None:
        return other

    def call(*args, **kwargs):
        result = written(*args, **kwargs)
        if result is NotImplemented:
            return other(*args, **kwargs)
        if result is None:
            return None
        used[running.op] = used.get(running.op, 0) + 1
        return result

    call.__name__ = function.__name__
    return call


used: dict[str, int] = {}  # op -> calls of handwritten kernels
_families: dict = {}


def handwritten(kernels, name):
    """The function on a GPU for one of a file of the CPU's kernels, or None."""
    for twin in _TWINS.get(kernels, "").split():
        module = importlib.import_module("rushlight.kernels." + twin)
        if name in getattr(module, "__all__", (name,)):
            return getattr(module, name, None)
    return None


# Files of the CPU's kernels, and those with functions of the same names for GPUs.
_TWINS = {
    "attention.products": "attention.cuda",
    "convolution.choice": "convolution.cuda",
    "gemm.products": "gemm.cuda",
    "indexing.embedding": "indexing.cuda_embedding",
    "linalg.lapack": "linalg.cuda",
    "losses.cross_entropy": "losses.cuda",
    "normalization.batch_and_layer": "normalization.cuda",
    "normalization.groups": "normalization.cuda",
    "normalization.root_mean_square": "normalization.cuda",
    "optimizers.adaptive_steps": "optimizers.cuda_adaptive_steps",
    "optimizers.foreach": "optimizers.cuda_foreach",
    "pooling.windows": "pooling.cuda",
    "recurrent.sequences": "recurrent.cuda",
    "reduction.softmax": "reduction.cuda_softmax",
    "reduction.sums": "reduction.cuda",
    "resampling.taps": "resampling.cuda",
    "scan_sort.lines": "scan_sort.cuda_scan scan_sort.cuda_sort indexing.cuda",
}


# ----------------------------------------------------------------------------- NumPy on a device
class _ArrayType(type):
    """``isinstance(x, np.ndarray)`` holds for device arrays too."""

    def __instancecheck__(cls, value):
        return isinstance(value, (DeviceArray, np.ndarray))


class _AnyArray(metaclass=_ArrayType):
    """What ``np.ndarray`` is in array code on a device."""

    def __new__(cls, shape, dtype=float, buffer=None, offset=0, strides=None):
        """A view of another device array's memory, or new memory."""
        if type(buffer) is not DeviceArray:
            return empty(shape, dtype, running.device)
        return buffer._with(tuple(shape), tuple(strides), buffer.address + offset, np.dtype(dtype))


def _dtype_of(dtype):
    return np.dtype(np.float64 if dtype is None else dtype)


def _empty(shape, dtype=None, order="C"):
    return empty(shape, _dtype_of(dtype), running.device)


def _zeros(shape, dtype=None, order="C"):
    return zeros(shape, _dtype_of(dtype), running.device)


def _full(shape, fill_value, dtype=None, order="C"):
    if dtype is None:
        dtype = (
            fill_value.dtype
            if isinstance(fill_value, DeviceArray)
            else np.asarray(fill_value).dtype
        )
    out = empty(shape, dtype, running.device)
    out[...] = fill_value
    return out


def _ones(shape, dtype=None, order="C"):
    return _full(shape, 1, _dtype_of(dtype))


def _as_array(value, dtype=None, order=None, *, copy=None, **options):
    if type(value) is DeviceArray:
        if dtype is not None and np.dtype(dtype) != value.dtype:
            return value.astype(dtype)
        return value.copy() if copy else value
    if isinstance(value, (list, tuple)) and any(type(v) is DeviceArray for v in value):
        parts = [
            v if type(v) is DeviceArray else from_host(np.asarray(v), running.device) for v in value
        ]
        found = np.stack(parts)
        return found if dtype is None else found.astype(dtype, copy=False)
    return np.asarray(value, dtype)


def _array(value, dtype=None, copy=True, order="K", **options):
    return _as_array(value, dtype, copy=copy)


def _contiguous(value, dtype=None):
    found = _as_array(value, dtype)
    return found.contiguous() if type(found) is DeviceArray else np.ascontiguousarray(found)


_WORDS = {math.erf: "erf", math.erfc: "erfc", math.lgamma: "lgamma"}


def _from_python(function, nin, nout):
    """``np.frompyfunc`` of functions that have a generated kernel."""
    name = _WORDS.get(function)
    if name is None:
        raise NoDeviceKernelError(
            f"{running.op}: a Python function of single numbers ({function!r}) does not run on a "
            "CUDA device; compute it on the CPU: tensor.cpu()"
        )
    return lambda array: copies().word(name, array)


def log_gamma(a):
    """The logarithm of the gamma function of device arrays."""
    return copies().word("lgamma", a)


class _StrideTricks:
    as_strided = staticmethod(
        lambda x, *args, **kwargs: (
            array_code.as_strided(x, *args, **kwargs)
            if type(x) is DeviceArray
            else np.lib.stride_tricks.as_strided(x, *args, **kwargs)
        )
    )
    sliding_window_view = staticmethod(np.lib.stride_tricks.sliding_window_view)


class _Lib:
    stride_tricks = _StrideTricks

    def __getattr__(self, name):
        return getattr(np.lib, name)


class DeviceNumpy:
    """``np`` in array code on a device: results are made there, what takes arrays dispatches by
    itself. Tables of indices (``arange``) stay with the host, which often reads them, and are
    uploaded where they meet a device array."""

    ndarray = _AnyArray
    empty, zeros = staticmethod(_empty), staticmethod(_zeros)
    ones, full = staticmethod(_ones), staticmethod(_full)
    asarray = asanyarray = staticmethod(_as_array)
    array = staticmethod(_array)
    ascontiguousarray = staticmethod(_contiguous)
    lib = _Lib()
    frompyfunc = staticmethod(_from_python)

    def __getattr__(self, name):
        value = getattr(np, name)
        setattr(self, name, value)
        return value


device_numpy = DeviceNumpy()


def _memory_empty(shape, dtype):
    return empty(shape, dtype, running.device)


def _memory_zeros(shape, dtype):
    return zeros(shape, dtype, running.device)


def _converted(array, target):
    return None


def _reduced(array, axes, keepdims, kind):
    """The reductions that bodies ask for; None leaves one to NumPy's words, which are kernels too
    (sums of squares in float16 would overflow)."""
    if kind != "sum" and array.itemsize == 2:
        return None
    if kind == "squares":
        array, kind = array * array, "sum"
    return array_code._words().reduce(kind, array, axes, None, None, keepdims)


def divided(total, count):
    """A sum over a count, zero counts included."""
    return np.divide(total, count)  # without asking whether the count is zero


def unchecked(*args, **kwargs):
    """Looking at indices would wait for the device: kernels check them."""


def flat_places(name, index, count):
    """Positions in a flattened array, negative ones counted from its end."""
    return np.where(index < 0, index + count, index)


def followed(path, array):
    """The view that a path of view ops makes of a device array."""
    for step, values in path:
        array = on_device(step.body)(array, *values[: step.positional - 1])
    return array


# Functions of the CPU's layers that mean something of their own on a device.
OWN = {
    ("rushlight.machine.memory", "empty"): _memory_empty,
    ("rushlight.machine.memory", "zeros"): _memory_zeros,
    ("rushlight.settings", "kernels_mode"): lambda: "reference",
    ("rushlight.kernels.copying.conversion", "converted"): _converted,
    ("rushlight.kernels.reduction.sums", "reduced"): _reduced,
}
