"""Matrices and batches of them in the compressed layouts, for either library."""

from __future__ import annotations

import warnings

import pytest
from comparison import compare, torch

import rushlight

LAYOUTS = ("csr", "csc", "bsr", "bsc")
NUMBERS = [
    [0.0, 1, 0, 2], [0, 0, 3, 0], [-4, 0, 0, 0.5], [0, 0, 0, 6], [0, 0, 0, 0], [0.25, 0, 0, 0],
]  # fmt: skip


def dense(L, batched=False, dtype="float32"):
    """(6, 4), or (2, 6, 4)."""
    matrix = L.tensor(NUMBERS, dtype=getattr(L, dtype))
    return L.stack([matrix, matrix.flip(0)]) if batched else matrix


def made(L, layout, batched=False, dtype="float32", grad=False):
    """The matrix (or batch) in a layout; blocks are (2, 2)."""
    x = dense(L, batched, dtype)
    x = getattr(x, f"to_sparse_{layout}")(*([(2, 2)] if layout in ("bsr", "bsc") else []))
    return x.detach().requires_grad_() if grad else x


def vectors(L, *shape):
    """A dense tensor of a shape."""
    return (L.arange(float(torch.Size(shape).numel())).reshape(shape) - 5) / 4


def outcome(function):
    """Run with both libraries: equal results, or an error of one kind from both."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(torch)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        kind = RuntimeError if isinstance(error, RuntimeError) else type(error)
        with pytest.raises(kind):
            function(rushlight)
        return
    compare(function)
