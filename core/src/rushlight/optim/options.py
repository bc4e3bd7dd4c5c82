"""Checks of the options that optimizers share."""

from __future__ import annotations

from rushlight.tensor.tensor import Tensor


def check(name, value, low=0.0, high=None):
    """Raise ValueError for a setting outside ``low <= value < high``, in PyTorch's words."""
    if not low <= value or (high is not None and not value < high):
        raise ValueError(f"Invalid {name}: {value}")


def check_rate(lr, least=0.0):
    """A learning rate is a number or a tensor of one element, and not negative."""
    check_single("lr", lr)
    check("learning rate", lr, least)


def check_single(name, value):
    """Raise ValueError for a tensor of more or less than one element."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError(f"Tensor {name} must be 1-element")


def check_betas(betas):
    """The two decay rates of Adam and its kin are in ``[0, 1)``."""
    for i in (0, 1):
        check(f"beta parameter at index {i}", betas[i], high=1.0)


def check_fused(fused, foreach, differentiable):
    """Raise RuntimeError for implementations that exclude each other."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def scalar(value):
    """A tensor of one element as one of no dimension; anything else as it is."""
    return value.reshape(()) if isinstance(value, Tensor) and value.dim() else value
