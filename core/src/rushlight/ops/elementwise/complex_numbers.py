"""Complex numbers: angle, polar form, conjugation and its lazy bits, adjoints."""

from __future__ import annotations

from rushlight.compiler import xp
from rushlight.dtypes import COMPLEX, FLOAT, bool_, default, float16, float32, float64
from rushlight.errors import argument_error
from rushlight.ops._table.domains import nonzero, positive
from rushlight.ops._table.op import composite, elementwise
from rushlight.ops._table.second_order import with_history
from rushlight.ops.creation.tensors import _write, ones_like, zeros_like
from rushlight.ops.elementwise.arithmetic import mul
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.elementwise.trigonometric import cos, sin
from rushlight.ops.shape.complex_views import conj_of, view_as_complex
from rushlight.ops.shape.joining import stack
from rushlight.ops.shape.views import broadcast_tensors
from rushlight.tensor.memory_format import unusual_order
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor


def _angle_dtype(promoted):
    found = promoted if promoted.category >= FLOAT else default.float
    return found, found.to_real()


@elementwise(
    rule=_angle_dtype, domain=nonzero, inplace=False, aten="default out Scalar", sparse="elements"
)
def angle(input):
    """The angle of complex numbers in radians; of real ones 0, or pi where negative.

    >>> rushlight.angle(rushlight.tensor([1j, -1.0]))
    tensor([1.5708, 3.1416])
    """
    return xp.angle(input)


def _angle_gradient(grad, input):
    if input._dtype.category != COMPLEX:
        return zeros_like(input) * grad
    square = (input * conj_of(input)).real
    scale = where(square == 0, 0.0, grad / where(square == 0, 1.0, square))
    return input * scale * 1j


angle.gradient(input=_angle_gradient)


@overridable(as_given=True)
def complex(real, imag, *, out=None):
    """A complex tensor from its two parts, broadcast; both of one floating dtype.

    >>> rushlight.complex(rushlight.tensor([1.0]), rushlight.tensor([2.0]))
    tensor([1.+2.j])
    """
    for name, value in (("real", real), ("imag", imag)):
        if not isinstance(value, Tensor):
            raise argument_error("complex", name, "Tensor", value)
    if real._dtype is not imag._dtype or real._dtype.name not in ("float16", "float32", "float64"):
        raise RuntimeError(
            "complex: Expected both inputs to be Half, Float or Double tensors of one dtype but "
            f"got {real._dtype} and {imag._dtype}"
        )
    if out is not None and out._dtype is not real._dtype.to_complex():
        raise RuntimeError(
            f"complex: Expected object of scalar type {real._dtype.to_complex()} but got scalar "
            f"type {out._dtype} for argument 'out'"
        )
    if real._array.shape != imag._array.shape:
        real, imag = broadcast_tensors(real, imag)
    order = unusual_order(real._array)
    if order is None:
        made = view_as_complex(stack((real, imag), -1))
    else:  # dimensions in another order in memory: so they are in the result
        parts = [part.permute(order) for part in (real, imag)]
        back = [order.index(d) for d in range(len(order))]
        made = view_as_complex(stack(parts, -1)).permute(back)
    return made if out is None else _write(out, made)


# Of a negative length PyTorch's gradient has the wrong sign.
@composite(domain=positive, method=False, samples="binary", autocast="float32")
def polar(abs: Tensor, angle: Tensor):
    """``abs * (cos(angle) + i sin(angle))``, broadcast; both of one floating dtype.

    >>> rushlight.polar(rushlight.tensor([2.0]), rushlight.tensor([0.0]))
    tensor([2.+0.j])
    """
    for name, value in (("abs", abs), ("angle", angle)):
        if not isinstance(value, Tensor):
            raise argument_error("polar", name, "Tensor", value)
    if abs._dtype is not angle._dtype or abs._dtype not in (float16, float32, float64):
        raise RuntimeError(
            "polar: Expected both inputs to be Half, Float or Double tensors of one dtype but got "
            f"{abs._dtype} and {angle._dtype}"
        )
    if abs._dtype is float16:
        raise NotImplementedError(
            '"polar" not implemented for dtype float16: compute in float32, then convert with '
            ".chalf()"
        )
    abs = with_history(abs)
    return complex(mul(abs, cos(angle)), mul(abs, sin(angle)))


@elementwise(
    method=False,
    inplace="conj_physical_",
    node="ConjPhysical",
    tested_by="conj_physical",
    limited="complex",
)
def _conj_physical(input):
    """The complex conjugate."""
    return xp.conj(input)


_conj_physical.gradient(input=lambda grad: _conj_physical(grad))


@composite(
    samples=lambda make: [((make(2, 3),), {}), ((make(),), {})], sparse="linear", sparse_slope=1
)
def conj_physical(input: Tensor):
    """The complex conjugate in memory of its own; real tensors are returned as they are."""
    return _conj_physical(input) if input._dtype.category == COMPLEX else input


@composite(
    samples=lambda make: [(make(3, 4),), (make.complex(3).conj(),)], sparse="linear", sparse_slope=1
)
def resolve_conj(input: Tensor):
    """`input`: conjugation is never pending here, so there is nothing to do."""
    return input


@composite(
    samples=lambda make: [(make(3, 4),), (make.complex(3).conj().imag,)],
    sparse="linear",
    sparse_slope=1,
)
def resolve_neg(input: Tensor):
    """`input`: negation is never pending here, so there is nothing to do."""
    return input


@composite(
    schemas=("is_conj(Tensor self) -> bool",),
    in_aten=False,
    samples=lambda make: [(make(3, 4),), (make.complex(3).conj(),)],
    differentiable=False,
)
def is_conj(input: Tensor):
    """Whether conjugation is pending: never, it is done when asked for."""
    return False


@composite(
    schemas=("is_neg(Tensor self) -> bool",),
    in_aten=False,
    samples=lambda make: [(make(3, 4),), (make.complex(3).conj().imag,)],
    differentiable=False,
)
def is_neg(input: Tensor):
    """Whether negation is pending: never, it is done when asked for."""
    return False


@composite(
    samples=lambda make: [(make(3, 4),), (make.complex(3),)],
    differentiable=False,
    nested="elements",
)
def isreal(input: Tensor):
    """True where an element has no imaginary part."""
    if input._dtype.category == COMPLEX:
        return input.imag == 0
    return ones_like(input, dtype=bool_)


@composite(samples=lambda make: [(make(3, 4),), (make.complex(2, 2, 3),)])
def adjoint(input: Tensor):
    """The conjugate of (a batch of) matrices, transposed."""
    if input.dim() < 2:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got "
            f"{input.dim()}-D tensor."
        )
    return conj_of(input.transpose(-2, -1))
