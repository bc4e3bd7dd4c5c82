"""``no_grad``, ``enable_grad`` and ``set_grad_enabled`` as classes of a program, for archives."""

# ruff: noqa: N801 - PyTorch's names
from __future__ import annotations

from typing import Any

from rushlight.jit.dispatch import aten


class no_grad:
    """Without gradients inside."""

    _jit_class = True

    def __init__(self) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = aten.is_grad_enabled()
        aten.set_grad_enabled(False)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        aten.set_grad_enabled(self.prev)


class enable_grad:
    """With gradients inside."""

    _jit_class = True

    def __init__(self) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = aten.is_grad_enabled()
        aten.set_grad_enabled(True)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        aten.set_grad_enabled(self.prev)


class set_grad_enabled:
    """With or without gradients, from its making on."""

    _jit_class = True

    def __init__(self, mode: bool) -> None:
        self.prev = aten.is_grad_enabled()
        aten.set_grad_enabled(mode)

    def __enter__(self) -> None:
        return None

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        aten.set_grad_enabled(self.prev)


no_grad.__module__ = "torch.autograd.grad_mode"
enable_grad.__module__ = set_grad_enabled.__module__ = no_grad.__module__
