"""PyTorch's inner path of what a compiler is asked while it traces: no program is traced with
tensors that only pretend to have elements, so that each question has the answer "none"."""

from __future__ import annotations

from rushlight.refusals import rest_of


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
    """None: there is no mode of tensors that pretend; use tensors of ``device="meta"``."""
    return


def detect_fake_mode(inputs=None):
    """None: no tensor among `inputs` is one that pretends to have elements."""
    return


__getattr__ = rest_of(__name__)
__all__ = ["TracingContext", "active_fake_mode", "detect_fake_mode"]
