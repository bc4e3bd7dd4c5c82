"""What matrix ops ask of their arguments, and how they report a factorization that failed."""

from __future__ import annotations

import math

from rushlight.dtypes import FLOAT, float32, float64
from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.ops._table.shape_rules import checked
from rushlight.tensor.dispatch import innermost
from rushlight.tensor.tensor import Tensor

_DTYPES = frozenset(np.dtype(name) for name in ("float32", "float64", "complex64", "complex128"))


class LinAlgError(RuntimeError):
    """A factorization or solver met a matrix it cannot handle (singular, not definite, ...)."""

    __module__ = "rushlight.linalg"


def array_of(value):
    """The array of a tensor; arrays are returned as they are."""
    return value._array if isinstance(value, Tensor) else value


def check_dtype(name, *values, letters="AB"):
    """Refuse what LAPACK has no routine for, and mixed dtypes."""
    first = array_of(values[0])
    for value, letter in zip(values, letters, strict=False):
        found = array_of(value).dtype
        if found not in _DTYPES:
            kind = "low precision dtypes are" if found.itemsize == 2 else "other dtypes are"
            raise RuntimeError(
                f"{name}: expected {letter} of a floating point or complex dtype (float32, "
                f"float64, complex64, complex128), but got {found.name}; {kind} not supported"
            )
        if found != first.dtype:
            raise RuntimeError(
                f"{name}: expected {letters[0]} and {letter} to have the same dtype, but got "
                f"{first.dtype.name} and {found.name}"
            )


def check_matrix(name, value, letter="A"):
    """Refuse fewer than two dimensions."""
    array = array_of(value)
    if array.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor {letter} must have at least 2 dimensions, but has shape "
            f"{shape_text(array.shape)}"
        )


def check_square(name, value, letter="A"):
    """Refuse what is no batch of square matrices."""
    check_matrix(name, value, letter)
    m, n = array_of(value).shape[-2:]
    if m != n:
        raise RuntimeError(
            f"{name}: {letter} must be batches of square matrices, but they are {m} by {n} matrices"
        )


def check_input(name, value, letter="A"):
    """Square matrices of a dtype that LAPACK takes."""
    shape = value.shape
    if len(shape) > 1 and shape[-1] == shape[-2] and array_of(value).dtype in _DTYPES:
        return
    check_square(name, value, letter)
    check_dtype(name, value, letters=letter)


def raise_failures(name, info, text):
    """LinAlgError for the first matrix of a batch whose `info` is not zero; `text` says what went
    wrong, with ``{}`` for the number that LAPACK reports."""
    info = array_of(innermost(info))
    if not np.count_nonzero(info):
        return
    flat = info.reshape(-1)
    first = int(np.flatnonzero(flat)[0])
    where = f"(Batch element {first}): " if info.ndim else ""
    raise LinAlgError(f"{name}: {where}{text.format(int(flat[first]))}")


def broadcast_batches(name, first, second):
    """Two arrays of matrices with equal batch dimensions."""
    if first.shape[:-2] == second.shape[:-2]:
        return first, second
    try:
        batch = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    except ValueError:
        raise RuntimeError(
            f"{name}: the batch dimensions of {shape_text(first.shape)} and "
            f"{shape_text(second.shape)} do not broadcast"
        ) from None
    return (
        np.broadcast_to(first, (*batch, *first.shape[-2:])),
        np.broadcast_to(second, (*batch, *second.shape[-2:])),
    )


def is_vector(input, other):
    """Whether the right-hand side of a system is (a batch of) vectors, by PyTorch's rule."""
    a, b = tuple(input.shape), tuple(other.shape)
    return len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])


def real_of(dtype):
    """The dtype of singular values and norms."""
    return dtype.to_real() if dtype.category >= FLOAT else dtype


def epsilon(dtype):
    """The machine precision of a dtype's real parts."""
    return {float32: 2.0**-23, float64: 2.0**-52}[dtype.to_real()]


def eye_like(tensor, size):
    """An identity matrix of a tensor's dtype and device."""
    from rushlight.ops.creation.tensors import eye

    return eye(size, dtype=tensor._dtype, device=tensor._device)


def count_of(shape):
    """The number of matrices in a batch."""
    return math.prod(shape[:-2])


def square(name, rule):
    """The shape rule of an op whose first argument is a batch of square matrices."""
    return checked(lambda A, *args, **kwargs: check_square(name, A), rule)


def check_lu(A, pivot):
    """What LU factorizes: floating point matrices, with pivots."""
    check_matrix("linalg.lu_factor", A)
    check_dtype("linalg.lu_factor", A)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def check_cholesky_solve(B, L):
    """Right sides and the factors that solve them, as one batch."""
    name = "cholesky_solve"
    for value, letter in ((B, "B"), (L, "L")):
        check_matrix(name, value, letter)
    check_square(name, L, "L")
    check_dtype(name, B, L, letters="BL")
    if B.shape[-2] != L.shape[-1]:
        raise RuntimeError(
            f"cholesky_solve: Incompatible matrix sizes: B has shape {shape_text(B.shape)}, L has "
            f"shape {shape_text(L.shape)}"
        )
    return broadcast_batches(name, B, L)
