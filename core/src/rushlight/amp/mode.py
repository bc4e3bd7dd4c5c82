"""Autocast: an interpreter that sees every op of a region and casts its inputs by the op's name.

The lists are what PyTorch 2.13 does on the CPU; on a GPU softmax, norms, powers, exponentials and
sums get float32 too. Products and convolutions get the low dtype;
losses, transforms and what sums over many terms get float32; ops on several tensors at once get
the widest dtype among them; all others run in the dtype they are given.
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

LOWER = frozenset(
    "matmul mm bmm addmm addbmm baddbmm linear linalg_multi_dot linalg_vecdot "
    "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d "
    "conv_transpose3d _convolution scaled_dot_product_attention _recurrence prelu".split()
)
HIGHER = frozenset(
    "_cross_entropy _ctc_loss _logits_entropy _squared_error _smooth_l1 _huber "
    "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss prod cdist _cdist trace "
    "_pdist quantile nanquantile grid_sample grid_sampler grid_sampler_2d grid_sampler_3d "
    "avg_pool3d max_pool3d adaptive_avg_pool3d polar stft view_as_complex "
    "fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft fft_fft2 fft_ifft2 fft_rfft2 "
    "fft_irfft2 fft_hfft2 fft_ihfft2 fft_fftn fft_ifftn fft_rfftn fft_irfftn fft_hfftn fft_ihfftn "
    "linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals "
    "linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq "
    "linalg_matrix_rank linalg_qr linalg_solve linalg_solve_ex linalg_svd linalg_svdvals "
    "linalg_tensorinv linalg_tensorsolve cholesky cholesky_inverse cholesky_solve inverse lu_solve "
    "geqrf orgqr ormqr pinverse qr svd svd_lowrank pca_lowrank triangular_solve".split()
)
WIDEST = frozenset("cat stack index_copy".split())
# Written with products, but not products to PyTorch; and normalizations, whose weights may be wider
# than their input.
APART = frozenset("outer bilinear mv addmv dot vdot addr kron linalg_lu_solve".split())
NORMS = frozenset("_layer_norm _batch_norm _group_norm _rms_norm".split())

# On a GPU these are computed in, and give, float32.
HIGHER_ON_GPU = frozenset(
    "_softmax _log_softmax _layer_norm _group_norm exp log log2 log10 log1p expm1 pow rsqrt "
    "reciprocal acos asin cosh sinh tan erfinv softplus sum cumsum cumprod renorm norm _norm2 "
    "_norm_power dist cosine_similarity pdist logsumexp".split()
)

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
        """Run an op with its inputs cast as its name says."""
        op = getattr(function, "op", None)
        if op is None or not self.casts or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        name = op.name
        if name in HIGHER_ON_GPU and _on_gpu((*args, *kwargs.values())):
            return _cast_call(function, args, kwargs, _higher)
        if name in LOWER:
            return _cast_call(function, args, kwargs, _lower)
        if name in HIGHER:
            return _cast_call(function, args, kwargs, _higher)
        if name in WIDEST:
            return _widest_call(function, args, kwargs)
        if name in NORMS:
            return _norm_call(function, args, kwargs)
        if op.kind == "composite" and name not in APART:
            return self._open(op, function, args, kwargs)
        return function(*args, **kwargs)

    @staticmethod
    def widen(value):
        """The value, a tensor of low precision as float32."""
        return _mapped(value, _higher) if any(state.enabled.values()) else value

    def _open(self, op, function, args, kwargs):
        """Run a composite op's body so that the ops in it are seen."""
        if any(type(tensor) not in EXACT for tensor in _tensors(args)):
            return function(*args, **kwargs)  # a subclass may take the call
        values = op.bind(args, dict(kwargs))
        keywords = dict(zip(op.names[op.positional :], values[op.positional :], strict=True))
        push(self)
        try:
            return op.body(*values[: op.positional], **keywords)
        finally:
            pop(self)


_interpreter = AutocastInterpreter()


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


def set_autocast_enabled(device_type, enabled: bool | None = None) -> None:
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
