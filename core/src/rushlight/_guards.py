"""PyTorch's inner path of what a compiler is asked while it traces."""

from __future__ import annotations

from rushlight._subclasses import fake_tensor
from rushlight.refusals import rest_of
from rushlight.utils._pytree import tree_leaves


class TracingContext:
    """What a compiler knows while it traces a program; there is none."""

    @staticmethod
    def try_get():
        """None: nothing is being traced."""
        return

    @staticmethod
    def get():
        """Raises RuntimeError: nothing is being traced."""
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")


def active_fake_mode():
    """The innermost active :class:`~rushlight._subclasses.FakeTensorMode`, or None."""
    return fake_tensor.active_fake_mode()


def detect_fake_mode(inputs=None):
    """The mode of the tensors among `inputs` that pretend to have elements, or the active one;
    AssertionError where there are several."""
    found = [fake_tensor.maybe_get_fake_mode(value) for value in tree_leaves(inputs)]
    found = [mode for mode in (*found, active_fake_mode()) if mode is not None]
    if any(mode is not found[0] for mode in found):
        raise AssertionError("fake mode of one tensor doesn't match fake mode of another")
    return found[0] if found else None


__getattr__ = rest_of(__name__)
__all__ = ["TracingContext", "active_fake_mode", "detect_fake_mode"]
