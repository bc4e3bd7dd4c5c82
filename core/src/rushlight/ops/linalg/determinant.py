"""Determinants and their logarithms."""

from __future__ import annotations

from rushlight.kernels.linalg import lapack
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.op import composite, op
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.linalg.matrix_checks import check_input, epsilon, eye_like, square
from rushlight.ops.linalg.solver import linalg_solve_ex
from rushlight.ops.shape.complex_views import imag
from rushlight.tensor.dispatch import readable
from rushlight.tensor.results import named
from rushlight.tensor.tensor import Tensor

SignLog = named("linalg_slogdet", "sign logabsdet")
TorchSignLog = named("slogdet", "sign logabsdet")


def _samples(make):
    from rushlight.ops.creation.tensors import eye

    return [
        ((make(3, 3),), {}),
        ((make(2, 4, 4) + eye(4, dtype=make.dtype),), {}),
        ((make(1, 1),), {}),
        ((make(0, 3, 3),), {}),
        ((make(2, 0, 0),), {}),
    ]


@op(
    batching="trailing",
    method=False,
    oracle="_C._linalg",
    samples=_samples,
    sweep=(2, 3),
    meta=square("linalg.det", lambda A: (A.shape[:-2], dtype_of(A))),
)
def linalg_det(A: Tensor):
    """The determinants of square matrices ``(*, n, n)``."""
    check_input("linalg.det", A)
    return lapack.determinant(A)


def _det_gradient(grad, A, out):
    """``det(A) A^-H``; for (nearly) singular matrices by the adjugate, from singular values."""
    if A.shape[-1] == 1:
        return grad[..., None, None] * A.new_ones((1, 1))
    scaled = (grad * out.conj())[..., None, None]
    if not A.numel():
        return A.detach() * 0
    singular = out.detach().abs() < 100 * epsilon(out._dtype)
    if readable(singular) and not bool(singular.any()):
        return linalg_solve_ex(A.mH, scaled * eye_like(A, A.shape[-1]))[0]
    mask = singular[..., None, None]
    safe = where(mask, eye_like(A, A.shape[-1]), A)
    regular = linalg_solve_ex(safe.mH, scaled * eye_like(A, A.shape[-1]))[0]
    return where(mask, _adjugate(A, grad), regular)


def _adjugate(A, grad):
    from rushlight.ops.linalg.eigenvalues import linalg_svd
    from rushlight.ops.shape.joining import stack

    u, s, vh = linalg_svd(A, False)
    size = A.shape[-1]
    others = [s[..., [j for j in range(size) if j != i]].prod(-1) for i in range(size)]
    scale = (linalg_det(u) * linalg_det(vh)).conj() * grad
    return (u * (stack(others, -1) * scale.unsqueeze(-1)).unsqueeze(-2)) @ vh


linalg_det.gradient(A=_det_gradient)


@op(
    schemas=("linalg_slogdet(Tensor A) -> (Tensor, Tensor)",),
    batching="trailing",
    result=SignLog,
    outputs=2,
    method=False,
    oracle="_C._linalg",
    samples=_samples,
    sweep=(2, 3),
    meta=square(
        "linalg.slogdet",
        lambda A: [(A.shape[:-2], dtype_of(A)), (A.shape[:-2], dtype_of(A).to_real())],
    ),
    barred="complex",
    saves="A sign:result0",
)
def linalg_slogdet(A: Tensor):
    """``(sign, logabsdet)``: the sign (phase) and the logarithm of the absolute determinant."""
    check_input("linalg.slogdet", A)
    diagonal, sign = lapack.triangle_of(A)
    with np.errstate(all="ignore"):
        size = np.abs(diagonal)
        if A.dtype.kind != "c":
            signs = np.sign(diagonal).prod(-1) * sign
            return [np.asarray(signs, A.dtype), np.asarray(np.log(size).sum(-1), A.dtype)]
        phases = np.where(size == 0, 0, diagonal / np.where(size == 0, 1, size))
        logarithm = np.log(size).sum(-1)
    return [np.asarray(np.prod(phases, -1) * sign, A.dtype), np.asarray(logarithm, size.dtype)]


def _slogdet_gradient(grad, A, out0):
    """``t = tr(A^-1 dA)``: the logarithm moves by t's real part, the phase by its imaginary one."""
    grad_sign, grad_log = grad
    if A.is_complex():
        from rushlight.ops.elementwise.complex_numbers import complex

        zero = out0.detach().abs() * 0
        turn = zero if grad_sign is None else imag(grad_sign.conj() * out0)
        weight = complex(zero if grad_log is None else grad_log, -turn)
    elif grad_log is None:
        return A * 0
    else:
        weight = grad_log
    identity = eye_like(A, A.shape[-1])
    return linalg_solve_ex(A.mH, weight[..., None, None] * identity)[0]


linalg_slogdet.gradient(A=_slogdet_gradient)


@composite(samples="invertible")
def det(input: Tensor):
    """The determinants of square matrices; see :func:`rushlight.linalg.det`."""
    return linalg_det(input)


@composite(schemas=("slogdet(Tensor self) -> (Tensor, Tensor)",), samples="invertible")
def slogdet(input: Tensor):
    """Sign and logarithm of the determinant; see :func:`rushlight.linalg.slogdet`."""
    return TorchSignLog(*linalg_slogdet(input))


@composite(samples="invertible")
def logdet(input: Tensor):
    """The logarithm of the determinant: nan where that is negative, -inf where it is 0."""
    sign, logarithm = linalg_slogdet(input)
    if input.is_complex():
        return sign.log() + logarithm
    return where(sign == -1.0, float("nan"), logarithm)
