"""Names of linear algebra that PyTorch removed: calling one says what to use instead."""

from __future__ import annotations

from rushlight.ops._table.op import composite
from rushlight.tensor.tensor import Tensor


def _removed(**options):
    return composite(
        samples=lambda make: [], tested_by="tests/ops/linalg/test_low_rank.py", **options
    )


def _gone(name, instead):
    return RuntimeError(f"{name} was removed from PyTorch; use rushlight.linalg.{instead} instead")


@_removed()
def symeig(input: Tensor, eigenvectors=False, upper=True):
    """Removed from PyTorch; see :func:`rushlight.linalg.eigh`."""
    raise _gone("symeig", "eigh(input, UPLO='U')")


@_removed()
def eig(input: Tensor, eigenvectors=False):
    """Removed from PyTorch; see :func:`rushlight.linalg.eig`."""
    raise _gone("eig", "eig(input), whose results are complex,")


@_removed()
def solve(input: Tensor, A: Tensor):
    """Removed from PyTorch; see :func:`rushlight.linalg.solve`."""
    raise _gone("solve", "solve(A, input)")


@_removed()
def lstsq(input: Tensor, A: Tensor):
    """Removed from PyTorch; see :func:`rushlight.linalg.lstsq`."""
    raise _gone("lstsq", "lstsq(A, input)")


@_removed(method=False)
def matrix_rank(input: Tensor, tol=None, symmetric=False):
    """Removed from PyTorch; see :func:`rushlight.linalg.matrix_rank`."""
    raise _gone("matrix_rank", "matrix_rank(input, tol)")
