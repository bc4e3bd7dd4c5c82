"""Whether the package opt_einsum chooses the order of products in ``einsum``, and how.

It does where it is installed, as in PyTorch: of three operands or more, pairs are multiplied in the
order it plans, which can save most of the work and memory.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator


@functools.cache
def get_opt_einsum():
    """The package, or None where it is not installed."""
    try:
        return importlib.import_module("opt_einsum")
    except ImportError:
        return None


def is_available() -> bool:
    """Whether the package is installed."""
    return get_opt_einsum() is not None


enabled = is_available()
strategy = "auto" if enabled else None  # one of opt_einsum's, such as "greedy" and "optimal"


def set_flags(_enabled=None, _strategy=None) -> tuple:
    """Set `enabled` and `strategy` where they are given; what they were before.

    Raises:
        ValueError: the package is not installed, or a strategy is set without it.
    """
    global enabled, strategy
    before = enabled, strategy
    if _enabled and not is_available():
        raise ValueError(
            "opt_einsum is not available, so setting `enabled` to True will not reap the benefits "
            "of calculating an optimal path for einsum: install it, or unset `enabled`"
        )
    if _strategy is not None and not is_available():
        raise ValueError(
            "opt_einsum is not available, so setting `strategy` will have no effect: install it, "
            "or unset `strategy`"
        )
    enabled = enabled if _enabled is None else _enabled
    if _strategy is not None and not enabled:
        raise ValueError("opt_einsum is not enabled, so setting a `strategy` has no effect")
    strategy = strategy if _strategy is None else _strategy
    return before


@contextlib.contextmanager
def flags(enabled=None, strategy=None) -> Iterator[None]:
    """Inside, the switches are as given; afterwards they are as before."""
    before = set_flags(enabled, strategy)
    try:
        yield
    finally:
        globals().update(enabled=before[0], strategy=before[1])
