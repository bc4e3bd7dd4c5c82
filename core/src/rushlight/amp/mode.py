"""Autocast: an interpreter that sees every op of a region and casts its inputs as declared.

What an op's option ``autocast`` says (`RULES`) is what PyTorch 2.13 does on the CPU;
``autocast_on_gpu="float32"`` says where a GPU differs: softmax, norms, powers, exponentials and
sums. All others run in the dtype they are given; of a composite the ops inside are seen.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
import warnings
import weakref

from rushlight.autograd.mode import mode
from rushlight.dtypes import FLOAT, bfloat16, dtype, float16, float32, float64, promote_types
from rushlight.tensor.dispatch import Interpreter, pop, push, stack
from rushlight.tensor.tensor import EXACT, Tensor

_DTYPES = {"cpu": bfloat16, "cuda": float16, "mps": float16, "xpu": float16}
_ALLOWED = (bfloat16, float16)


class _State(threading.local):
    """What is asked for on this thread."""

    def __init__(self):
        self.enabled = dict.fromkeys(_DTYPES, False)
        self.dtypes = dict(_DTYPES)
        self.cache_enabled = True
        self.cache = {}
        self.depth = 0


state = _State()


class AutocastInterpreter(Interpreter):
    """Sees every op while some region of the thread is cast."""

    @property
    def casts(self):
        """Whether it changes dtypes now: backward runs formulas of ops without it."""
        return any(state.enabled.values())

    def process(self, function, types, args, kwargs):
        """Run an op with its inputs cast as it declares."""
        op = getattr(function, "op", None)
        if op is None or not self.casts or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        options = op.options
        if "autocast_on_gpu" in options and _on_gpu((*args, *kwargs.values())):
            return _cast_call(function, args, kwargs, _higher)
        rule = options.get("autocast")
        if rule is not None:
            return RULES[rule](function, args, kwargs)
        if op.kind == "composite":
            return self._open(op, function, args, kwargs)
        return function(*args, **kwargs)

    @staticmethod
    def widen(value):
        """The value, a tensor of low precision as float32."""
        return _mapped(value, _higher) if any(state.enabled.values()) else value

    def _open(self, op, function, args, kwargs):
        """Run a composite op's body so that the ops in it are seen."""
        if not all(type(tensor) in EXACT or _is_captured(tensor) for tensor in _tensors(args)):
            return function(*args, **kwargs)  # a subclass may take the call
        values = op.bind(args, dict(kwargs))
        keywords = dict(zip(op.names[op.positional :], values[op.positional :], strict=True))
        push(self)
        try:
            return op.body(*values[: op.positional], **keywords)
        finally:
            pop(self)


_interpreter = AutocastInterpreter()


def _is_captured(tensor):
    """Whether a tensor stands for one of a graph, which holds what casts do."""
    return getattr(getattr(tensor, "_level", None), "kind", None) == "capture"


def _eligible(value):
    return (
        value.dtype.category == FLOAT
        and value.dtype is not float64
        and state.enabled.get(value.device.type, False)
    )


def _on_gpu(values):
    return any(tensor.is_cuda for tensor in _tensors(values)) and state.enabled["cuda"]


def _lower(value):
    target = state.dtypes.get(value.device.type)
    if value.dtype is target or not _eligible(value):
        return value
    if not (
        state.cache_enabled and value.dtype is float32 and value.is_leaf and value.requires_grad
    ):
        return value.to(target)
    key = id(value), target, mode.recording
    found = state.cache.get(key)
    if found is not None and found[0]() is value and found[1] == value._version:
        return found[2]
    cast = value.to(target)
    state.cache[key] = weakref.ref(value), value._version, cast
    return cast


def _higher(value):
    return value.to(float32) if _eligible(value) and value.dtype is not float32 else value


def _mapped(value, change):
    if isinstance(value, Tensor):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(_mapped(item, change) for item in value)
    return value


def _cast_call(function, args, kwargs, change):
    args = [_mapped(value, change) for value in args]
    return function(*args, **{name: _mapped(value, change) for name, value in kwargs.items()})


def _tensors(values):
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif type(value) in (list, tuple):
            yield from _tensors(value)


def _widest_call(function, args, kwargs):
    widest = None
    for tensor in _tensors((*args, *kwargs.values())):
        if tensor.dtype.category == FLOAT:
            widest = tensor.dtype if widest is None else promote_types(widest, tensor.dtype)
    if widest is None:
        return function(*args, **kwargs)
    return _cast_call(
        function, args, kwargs, lambda x: x.to(widest) if x.dtype.category == FLOAT else x
    )


def _norm_call(function, args, kwargs):
    """A normalization in float32, its result in the dtype of its input."""
    tensors = list(_tensors((*args, *kwargs.values())))
    wanted = tensors[0].dtype
    if wanted not in _ALLOWED or all(t.dtype is wanted for t in tensors):
        return function(*args, **kwargs)
    result = _cast_call(function, args, kwargs, _higher)
    if isinstance(result, Tensor):
        return result.to(wanted)
    return (result[0].to(wanted), *result[1:])


def _lower_call(function, args, kwargs):
    return _cast_call(function, args, kwargs, _lower)


def _higher_call(function, args, kwargs):
    return _cast_call(function, args, kwargs, _higher)


def _call_as_given(function, args, kwargs):
    return function(*args, **kwargs)


# What the option `autocast` of an op may say, and how its call is made.
RULES = {
    "lower": _lower_call,  # in the low dtype: products, convolutions
    "float32": _higher_call,  # losses, transforms, what sums over many terms
    "widest": _widest_call,  # in the widest dtype among the inputs: what joins tensors
    "input": _norm_call,  # in float32, the result in the input's dtype: norms with wide weights
    "as_given": _call_as_given,  # written with products, but not a product to PyTorch
}


# ------------------------------------------------------------------------------------- the region
def is_autocast_available(device_type: str) -> bool:
    """Whether regions can be cast on a kind of device: on the CPU, and on a GPU if there is one."""
    if device_type not in _DTYPES:
        raise RuntimeError(
            f"User specified an unsupported autocast device_type '{device_type}'; expected one of "
            f"{', '.join(_DTYPES)}"
        )
    if device_type == "cuda":
        return importlib.import_module("rushlight.cuda").is_available()
    return device_type == "cpu"


class autocast(contextlib.ContextDecorator):  # noqa: N801 - PyTorch's name
    """A region, or a decorated function, in mixed precision: products and convolutions in `dtype`
    (bfloat16 by default on the CPU), losses in float32.

    Tensors keep their dtype; ops get cast copies. Leave the region before backward. Casts of
    parameters are kept until the outermost region ends, unless `cache_enabled` is False. Where
    there is no such device, and with ``enabled=False``, nothing is cast.

    >>> with rushlight.autocast("cpu"):
    ...     (rushlight.ones(2, 2) @ rushlight.ones(2, 2)).dtype
    rushlight.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        if not isinstance(device_type, str):
            raise ValueError(
                f"Expected `device_type` of type `str`, got: `{type(device_type).__name__}`"
            )
        kind = device_type.partition(":")[0]
        available = is_autocast_available(kind)
        self.device = kind
        self.fast_dtype = state.dtypes[kind] if dtype is None else dtype
        self._cache_enabled = state.cache_enabled if cache_enabled is None else cache_enabled
        if enabled and not available:
            warnings.warn(
                f"User provided device_type of '{kind}', but {kind.upper()} is not available. "
                "Disabling",
                stacklevel=2,
            )
            enabled = False
        if enabled and self.fast_dtype not in _ALLOWED:
            warnings.warn(
                f"In CPU autocast, but the target dtype {self.fast_dtype} is not supported. "
                "Disabling autocast. CPU Autocast only supports bfloat16 and float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = bool(enabled)
        self._kept: list[tuple] = []

    def _recreate_cm(self):
        return type(self)(self.device, self.fast_dtype, self._enabled, self._cache_enabled)

    def __enter__(self):
        self._kept.append(snapshot())
        state.enabled[self.device], state.dtypes[self.device] = self._enabled, self.fast_dtype
        state.cache_enabled = self._cache_enabled
        state.depth += 1
        if self._enabled:
            push(_interpreter)
        return self

    def __exit__(self, *exc):
        if self._enabled:
            pop(_interpreter)
        _set(self._kept.pop())
        state.depth -= 1
        if not state.depth:
            clear_autocast_cache()
        return False


def snapshot():
    """This thread's settings, for :func:`restore`."""
    return dict(state.enabled), dict(state.dtypes), state.cache_enabled


def _set(kept):
    enabled, dtypes, state.cache_enabled = kept
    state.enabled, state.dtypes = dict(enabled), dict(dtypes)


def form():
    """What casts depend on, by which compiled graphs are known; None where nothing is cast and
    regions without a dtype mean the one that they always did."""
    if not stack.interpreters and state.dtypes == _DTYPES:
        return None
    return (*state.enabled.values(), *state.dtypes.values())


def watches_alone() -> bool:
    """Whether no other interpreter sees the ops of this thread."""
    return not stack.interpreters or all(each is _interpreter for each in stack.interpreters)


@contextlib.contextmanager
def paused():
    """Inside, nothing is cast and ops take their fast paths: compiled graphs hold their casts.
    Only where no other interpreter is active."""
    count, kept = len(stack.interpreters), state.enabled
    for _ in range(count):
        pop(_interpreter)
    state.enabled = dict.fromkeys(_DTYPES, False)
    try:
        yield
    finally:
        state.enabled = kept
        for _ in range(count):
            push(_interpreter)


@contextlib.contextmanager
def restore(kept):
    """Inside, the settings are what :func:`snapshot` gave."""
    enabled, dtypes, cache_enabled = kept
    with contextlib.ExitStack() as regions:
        for kind in ("cpu", "cuda"):
            if kind == "cpu" or enabled[kind] or state.enabled[kind]:
                regions.enter_context(autocast(kind, dtypes[kind], enabled[kind], cache_enabled))
        yield


# ----------------------------------------------------------------------------- questions, settings
def _kind(device_type):
    is_autocast_available(device_type)
    return device_type


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether ops of a kind of device (CUDA's by default) are being cast."""
    return state.enabled[_kind(device_type or "cuda")]


def is_autocast_cpu_enabled() -> bool:
    """Whether ops on the CPU are being cast."""
    return state.enabled["cpu"]


def get_autocast_dtype(device_type: str) -> dtype:
    """The low dtype of a kind of device."""
    return state.dtypes[_kind(device_type)]


def get_autocast_cpu_dtype() -> dtype:
    """The low dtype on the CPU."""
    return state.dtypes["cpu"]


def get_autocast_gpu_dtype() -> dtype:
    """The low dtype on CUDA."""
    return state.dtypes["cuda"]


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Switch casting on or off for a kind of device; one argument means CUDA."""
    kind, wanted = ("cuda", device_type) if enabled is None else (_kind(device_type), enabled)
    there = is_autocast_available(kind)
    if wanted and not there:
        raise RuntimeError(
            f"set_autocast_enabled: there is no {kind} device to cast ops of; use 'cpu'"
        )
    if there:
        present = _interpreter in stack.interpreters
        if wanted and not present:
            push(_interpreter)
        elif not wanted and not state.depth and stack.interpreters[-1:] == [_interpreter]:
            pop(_interpreter)
    state.enabled[kind] = bool(wanted)


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switch casting on or off on the CPU."""
    set_autocast_enabled("cpu", enabled)


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the low dtype of a kind of device."""
    state.dtypes[_kind(device_type)] = dtype


set_autocast_cpu_dtype = functools.partial(set_autocast_dtype, "cpu")
set_autocast_gpu_dtype = functools.partial(set_autocast_dtype, "cuda")


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept until the outermost region ends."""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep casts of parameters, or not."""
    state.cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Drop the kept casts of parameters."""
    state.cache.clear()
