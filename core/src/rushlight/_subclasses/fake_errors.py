"""What operations on tensors without elements cannot do."""

from __future__ import annotations


class UnsupportedFakeTensorException(RuntimeError):
    """The tensor cannot become one without elements.

    Args:
        reason: why.
    """

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


class _Depends(RuntimeError):
    """An operation's result depends on elements that are not there."""

    def __init__(self, func):
        super().__init__(func)
        self.func = func


class DynamicOutputShapeException(_Depends):
    """The shape of the result depends on elements, as that of ``nonzero``; `func` is the
    overload."""


class DataDependentOutputException(_Depends):
    """The result is a number that depends on elements, as that of ``item``; `func` is the
    overload."""


class UnsupportedOperatorException(_Depends):
    """The operation `func` has no form for tensors without elements."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """Tensors that pretend to be on different devices are arguments of one operation, `func`.

    Args:
        first, second: the devices.
    """

    def __init__(self, func, first, second):
        super().__init__(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{first} and {second}! (when checking arguments of {func})"
        )
        self.func, self.devices = func, (first, second)
