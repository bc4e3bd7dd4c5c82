"""cuBLAS and cuSOLVER as CuPy binds them: what linear algebra on a device calls.

A :class:`Solver` holds CuPy's array functions, its two modules of bindings, and the handles of the
current device and stream. The emulator has none.
"""

from __future__ import annotations

import importlib


class Solver:
    """``xp``: array functions; ``cublas``, ``cusolver``: modules of functions that take handles
    and addresses."""

    def __init__(self, xp, cublas, cusolver, device):
        self.xp, self.cublas, self.cusolver, self._device = xp, cublas, cusolver, device

    def cublas_handle(self) -> int:
        """cuBLAS's handle of the current device."""
        return self._device.get_cublas_handle()

    def cusolver_handle(self) -> int:
        """cuSOLVER's handle of the current device."""
        return self._device.get_cusolver_handle()


def of_cupy(cupy) -> Solver:
    """CuPy's; ImportError where cuBLAS or cuSOLVER are not installed."""
    parts = ("cupy_backends.cuda.libs.cublas", "cupy_backends.cuda.libs.cusolver",
             "cupy.cuda.device")  # fmt: skip
    return Solver(cupy, *[importlib.import_module(part) for part in parts])
