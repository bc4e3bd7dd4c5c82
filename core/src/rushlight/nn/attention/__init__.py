"""How attention is computed: PyTorch's choice of backends, of which there is one here."""

from __future__ import annotations

import contextlib
import enum


class SDPBackend(enum.IntEnum):
    """Names of ways to compute :func:`~rushlight.nn.functional.scaled_dot_product_attention`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_enabled = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A context that names the backends attention may use; results do not depend on it here."""
    backends = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for backend in backends:
        if not isinstance(backend, SDPBackend):
            raise AssertionError(
                "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                f"{backend!r}"
            )
    previous = _enabled[:]
    _enabled[:] = backends
    try:
        yield {}
    finally:
        _enabled[:] = previous


def _cur_sdpa_kernel_backends(with_priority=False):
    return list(_enabled)


def __getattr__(name):
    if name in ("flex_attention", "bias", "varlen"):
        raise NotImplementedError(
            f"nn.attention.{name} is not available; give scaled_dot_product_attention an attn_mask"
        )
    raise AttributeError(f"module 'rushlight.nn.attention' has no attribute '{name}'")


__all__ = ["SDPBackend", "sdpa_kernel"]
