"""Automatic differentiation: `backward`, `grad`, custom functions, recording modes, checks."""

from rushlight.autograd.anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from rushlight.autograd.mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)

from rushlight.autograd.engine import backward, grad  # isort: skip - needs the modes
from rushlight.autograd.function import Function  # isort: skip
from rushlight.autograd.gradcheck import gradcheck, gradgradcheck  # isort: skip

__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_anomaly_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]

_LATE = {
    "SavedTensor": "saving",
    "Variable": "variable",
    "_unsafe_preserve_version_counter": "grad_mode",
    "enforce_grad_layout_policy": "grad_mode",
    "forward_ad": None,
    "functional": None,
    "grad_mode": None,
    "graph": None,
    "is_multithreading_enabled": "grad_mode",
    "is_view_replay_enabled": "grad_mode",
    "profiler": None,
    "set_multithreading_enabled": "grad_mode",
    "variable": None,
}


def __getattr__(name):
    """What few programs need, imported at first use."""
    import importlib

    if name in _LATE:
        module = importlib.import_module(f"rushlight.autograd.{_LATE.get(name) or name}")
        return getattr(module, name) if _LATE.get(name) else module
    if name == "NestedIOFunction":
        return importlib.import_module("rushlight.refusals").lookup("autograd", name)
    raise AttributeError(f"module 'rushlight.autograd' has no attribute '{name}'")
