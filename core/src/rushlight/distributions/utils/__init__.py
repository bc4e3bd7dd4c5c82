"""What distributions are written with: broadcasting of parameters, lazy attributes, the two ways to
write probabilities, triangular matrices as vectors."""

from __future__ import annotations

from functools import update_wrapper
from numbers import Number

from rushlight import (
    Tensor,
    arange,
    broadcast_tensors,
    enable_grad,
    finfo,
    get_default_dtype,
    log,
    log1p,
    normal,
    ones,
    scalar_tensor,
    sigmoid,
    softmax,
    tril_indices,
    zeros,
)
from rushlight.tensor.dispatch import innermost

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape; a number takes the dtype of the first tensor,
    or the default dtype. Raises ValueError for anything else."""
    for value in values:
        if not isinstance(value, (Tensor, Number)) and not hasattr(value, "__torch_function__"):
            raise ValueError(
                "distribution parameters are numbers or tensors (or objects with "
                f"__torch_function__); got a {type(value).__name__}"
            )
    if all(isinstance(value, Tensor) for value in values):
        return tuple(broadcast_tensors(*values))
    options = {"dtype": get_default_dtype()}
    for value in values:
        if isinstance(value, Tensor):
            options = {"dtype": value.dtype, "device": value.device}
            break
    tensors = [v if isinstance(v, Tensor) else scalar_tensor(v, **options) for v in values]
    return tuple(broadcast_tensors(*tensors))


def _standard_normal(shape, dtype, device):
    """Standard normal samples of a shape."""
    options = {"dtype": dtype, "device": device}
    return normal(zeros(shape, **options), ones(shape, **options))


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions, or all that there are."""
    dim = min(dim, value.dim())
    return value.sum(tuple(range(-dim, 0))) if dim else value


def logits_to_probs(logits, is_binary=False):
    """Probabilities of log odds (`is_binary`), or of unnormalised logs along the last dimension."""
    return sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs):
    """Probabilities kept one rounding error away from 0 and 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """The inverse of :func:`logits_to_probs`, finite for probabilities 0 and 1 too."""
    clamped = clamp_probs(probs)
    return log(clamped) - log1p(-clamped) if is_binary else log(clamped)


def all_true(condition):
    """Whether a condition holds everywhere: for all examples, where a `vmap` maps over them."""
    return bool(innermost(condition).all())


def kept_positive(value):
    """The value, where it underflowed the smallest normal number, with the same gradient."""
    low = value.detach() < finfo(value.dtype).tiny
    transformed = getattr(low, "_level", None) is not None  # then no value decides anything
    if not transformed and not bool(low.any()):
        return value
    return value + (value.detach().clamp(min=finfo(value.dtype).tiny) - value.detach())


class lazy_property:
    """A property computed at first use, with gradients recorded, and kept as an attribute."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a lazy property is when looked up on its class."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """The entries of `mat` (..., n, n) on and below diagonal `diag`, row by row: (..., m)."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    order = arange(n, device=mat.device)
    mask = order < order.view(n, 1) + (diag + 1)
    return mat[..., mask]


def vec_to_tril_matrix(vec, diag=0):
    """The lower triangular matrix (..., n, n) whose :func:`tril_matrix_to_vec` is `vec`."""
    # 2 m = n (n + 1 + 2 diag) - diag (diag + 1) for the m entries of n rows
    m, shift = vec.shape[-1], 1 + 2 * diag
    n = (-shift + (shift**2 + 8 * m + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    eps = finfo(vec.dtype).eps
    if abs(round(n) - n) > eps:
        raise ValueError(
            f"vec_to_tril_matrix: the last dimension, {m}, is not the number of entries of a "
            f"lower triangle with diagonal {diag}"
        )
    n = round(n)
    matrix = zeros(tuple(vec.shape[:-1]) + (n, n), dtype=vec.dtype, device=vec.device)
    rows, columns = tril_indices(n, n, diag, device=vec.device)
    matrix[..., rows, columns] = vec
    return matrix
