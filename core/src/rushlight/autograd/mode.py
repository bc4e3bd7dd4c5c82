"""Whether operations are recorded: `no_grad`, `enable_grad`, `inference_mode`."""

from __future__ import annotations

import inspect
import threading

from rushlight.autograd.decorators import run_inside
from rushlight.tensor.dispatch import STATE


class _Mode(threading.local):
    def __init__(self):
        self.recording, self.inference = True, False
        self.runs = ()  # backward passes in progress, the innermost last


mode = _state = _Mode()  # `mode` is also what PyTorch calls an argument


class _Decorator:
    """A context manager that also wraps functions and generator functions."""

    def clone(self):
        """A fresh manager with the same settings, one per call of a wrapped function."""
        return type(self)()

    def __call__(self, function):
        if inspect.isclass(function):
            raise TypeError(f"{type(self).__name__} cannot decorate a class; decorate its methods")
        return run_inside(self.clone, function)


class _Recording(_Decorator):
    value = True

    def __enter__(self):
        here = mode.__dict__  # the attributes one by one would take longer
        self.previous = here["recording"]
        here["recording"] = self.value and not here["inference"]
        return self

    def __exit__(self, *exc):
        mode.recording = self.previous


class no_grad(_Recording):  # noqa: N801 - PyTorch's public name
    """Operations inside are not recorded; use it for evaluation and for updating weights.

    >>> import rushlight
    >>> x = rushlight.ones(2, requires_grad=True)
    >>> with rushlight.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    value = False

    def __new__(cls, function=None):
        """A manager, or the wrapped function."""
        self = object.__new__(cls)
        return self if function is None else self(function)  # ``@no_grad`` without parentheses


class enable_grad(no_grad):  # noqa: N801 - PyTorch's public name
    """Operations inside are recorded again, within `no_grad`."""

    value = True


class recorded(_Recording):
    """Operations inside are recorded whatever mode surrounds them: for function transforms, which
    differentiate in inference mode too."""

    def __enter__(self):
        self.previous, mode.recording = mode.recording, True
        return self


class set_grad_enabled(_Recording):  # noqa: N801 - PyTorch's public name
    """Record or not from here on; as a context manager, until its end."""

    def __init__(self, mode: bool):
        if type(mode) is not bool:
            raise TypeError(
                f"set_grad_enabled(): argument 'mode' must be bool, not {type(mode).__name__}"
            )
        self.value, self.previous = mode, _state.recording
        self.__enter__()

    def clone(self):
        """A manager with the same setting."""
        return type(self)(self.value)

    def __call__(self, orig_func):
        """Wrap a function; the mode itself is left as it was."""
        _state.recording = self.previous
        return super().__call__(orig_func)

    def __enter__(self):
        _state.recording = self.value and not _state.inference
        return self


class inference_mode(_Decorator):  # noqa: N801 - PyTorch's public name
    """Like `no_grad`; results are inference tensors, which can never enter a recorded graph."""

    def __new__(cls, mode=True):
        """A manager, or the wrapped function."""
        self = object.__new__(cls)
        if mode is True:
            self.enabled = True
        elif callable(mode):
            return cls()(mode)
        else:
            self.enabled = bool(mode)
        return self

    def clone(self):
        """A manager with the same setting."""
        return type(self)(self.enabled)

    def __enter__(self):
        here, enabled = mode.__dict__, self.enabled
        self.previous = here["recording"], here["inference"]
        here["recording"], here["inference"] = not enabled, enabled
        STATE.inference.append(None)
        return self

    def __exit__(self, *exc):
        here = mode.__dict__
        here["recording"], here["inference"] = self.previous
        STATE.inference.pop()


def is_grad_enabled() -> bool:
    """Whether operations of this thread are recorded now."""
    return mode.recording


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return mode.inference
