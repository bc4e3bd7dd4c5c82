# ruff: noqa: F401 - names that programs take from here
"""The few names of PyTorch's compiled part that Python programs use."""

from __future__ import annotations

from rushlight import devices
from rushlight._C import _functorch, _nvtx
from rushlight._C.script_types import TensorType
from rushlight.futures import Future
from rushlight.overrides import TorchFunctionMode
from rushlight.refusals import rest_of
from rushlight.tensor.dispatch import DisableDispatch, DisableDispatchModes, stack
from rushlight.tensor.dispatch import DisableTorchFunction as DisableTorchFunctionSubclass
from rushlight.tensor.dispatch import _disabled as _disabled_torch_function_impl
from rushlight.tensor.dispatch import _undispatched as _disabled_torch_dispatch_impl
from rushlight.tensor.tensor import Tensor

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "Future", "TensorType"]

_TensorMeta = type(Tensor)


class _DisableTorchDispatch(DisableDispatchModes):
    """Inside, neither modes nor subclasses are told of ops by ``__torch_dispatch__``."""

    def __init__(self):
        super().__init__()
        self.classes = DisableDispatch()

    def __enter__(self):
        self.classes.__enter__()
        return super().__enter__()

    def __exit__(self, *exc):
        super().__exit__(*exc)
        self.classes.__exit__(*exc)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside, neither subclasses of Tensor nor modes are asked by ``__torch_function__``."""

    def __enter__(self):
        self.interpreters = list(stack.interpreters)
        stack.interpreters[:] = [
            x for x in self.interpreters if not isinstance(x, TorchFunctionMode)
        ]
        return super().__enter__()

    def __exit__(self, *exc):
        stack.interpreters[:] = self.interpreters
        super().__exit__(*exc)


def _log_api_usage_once(event: str) -> None:
    """Count the use of an interface for PyTorch's makers: nothing is counted here."""


class _nn:  # noqa: N801 - PyTorch's name
    """The functions behind ``Module.to``."""

    @staticmethod
    def _parse_to(*args, **kwargs):
        """``(device, dtype, non_blocking, memory_format)`` of the arguments of ``to``."""
        from rushlight.ops.creation.conversion import parse_to

        dtype, device, _, non_blocking, memory_format = parse_to(args, kwargs)
        device = None if device is None else devices.as_device(device)
        return device, dtype, non_blocking, memory_format


def _get_tracing_state():
    """What `jit.trace` is recording; None outside of it."""
    from rushlight.jit.tracer.trace_state import ACTIVE

    return ACTIVE[-1] if ACTIVE else None


def _is_tracing() -> bool:
    """Whether `jit.trace` is recording."""
    return _get_tracing_state() is not None


def _get_accelerator(check: bool | None = None):
    """The kind of device that computes beside the CPU, or the CPU where there is none."""
    from rushlight import accelerator

    return accelerator.current_accelerator() or devices.device("cpu")


def _get_default_device() -> str:
    """The kind of device on which new tensors are made."""
    return devices.get_default_device().type


def _get_privateuse1_backend_name() -> str:
    """The name of a device that others may add: none can be here, so PyTorch's placeholder."""
    return "privateuseone"


def _are_functorch_transforms_active() -> bool:
    """Whether the running code is inside of `vmap` or of several transforms; a `grad` alone runs as
    ordinary code here."""
    return _functorch.peek_interpreter_stack() is not None


def _is_torch_function_mode_enabled() -> bool:
    """Whether a `TorchFunctionMode` is active in this thread."""
    return any(isinstance(x, TorchFunctionMode) for x in stack.interpreters)


def _is_alias_of(a, b) -> bool:
    """Whether two tensors share memory that belongs to one storage."""
    return a.untyped_storage()._is_of(b.untyped_storage())


def _cuda_isInBadFork() -> bool:  # noqa: N802 - PyTorch's name
    """Whether this process cannot use the GPU that its parent has begun to use."""
    return False  # a child that is forked begins anew here


def _cuda_clearCublasWorkspaces() -> None:  # noqa: N802 - PyTorch's name
    """Give back memory that products hold: they hold none between calls."""


class _Switch:
    """A setting of TorchScript's optimizer: it can be set and read, and programs run the same."""

    def __init__(self, value):
        self.value = value

    def exchange(self, value):
        """Set it; returns what it was."""
        before, self.value = self.value, value
        return before

    def set(self, value) -> None:
        """Set it."""
        self.value = value

    def get(self):
        """What it is."""
        return self.value


_profiling_executor, _profiling_mode = _Switch(True), _Switch(True)
_fuse_cpu, _fuse_gpu, _texpr_fuser = _Switch(False), _Switch(False), _Switch(True)
_nvfuser, _nvfuser_guard = _Switch(False), _Switch(True)
_jit_set_profiling_executor, _jit_set_profiling_mode = (
    _profiling_executor.exchange,
    _profiling_mode.exchange,
)
_get_graph_executor_optimize = _Switch(True).get
_jit_override_can_fuse_on_cpu, _jit_can_fuse_on_cpu = _fuse_cpu.set, _fuse_cpu.get
_jit_override_can_fuse_on_gpu, _jit_can_fuse_on_gpu = _fuse_gpu.set, _fuse_gpu.get
_jit_set_texpr_fuser_enabled, _jit_texpr_fuser_enabled = _texpr_fuser.set, _texpr_fuser.get
_jit_set_nvfuser_enabled, _jit_nvfuser_enabled = _nvfuser.exchange, _nvfuser.get
_jit_set_nvfuser_guard_mode = _nvfuser_guard.exchange

# What this package is built with, of what programs ask for.
_has_mps = _has_xpu = _has_magma = _has_cusparselt = _has_kleidiai = False


__getattr__ = rest_of(__name__)
