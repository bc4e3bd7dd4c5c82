"""Compiled functions against the functions themselves, while what they read changes."""

from __future__ import annotations

import rushlight as torch

example = torch.arange(6.0).reshape(2, 3) / 3 - 0.7


def agree(found, expected):
    """The same tensors, bit for bit up to NaN, and the same other values."""
    found, expected = (torch.utils._pytree.tree_leaves(v) for v in (found, expected))
    for a, b in zip(found, expected, strict=True):
        if isinstance(a, torch.Tensor):
            assert a.dtype is b.dtype
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6, equal_nan=True)
        else:
            assert a == b


def check(function, *changes, arg=None):
    """A compiled function gives what the function gives, before and after each change."""
    compiled = torch.compile(function)
    with torch.no_grad():
        for change in (lambda: None, *changes):
            change()
            given = example if arg is None else arg()
            for _ in range(2):
                agree(compiled(given), function(given))
