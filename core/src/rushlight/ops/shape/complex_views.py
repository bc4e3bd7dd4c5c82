"""Complex tensors as real ones with the two parts side by side, and back; their conjugates."""

from __future__ import annotations

from rushlight.compiler import xp
from rushlight.dtypes import COMPLEX
from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE, dtype_of
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops._table.op import composite, elementwise
from rushlight.ops._table.op import view as declare_view
from rushlight.ops._table.rules import same
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor


def _real(self):
    if self._dtype.category != COMPLEX:
        return self
    return view_as_real(self).select(-1, 0)


def _imag(self):
    if self._dtype.category != COMPLEX:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view_as_real(self).select(-1, 1)


@declare_view(
    linear=True,
    batching="trailing",
    samples=lambda make: [(make.complex(3),), (make.complex(),)],
    reinterprets=True,
)
def view_as_real(input: Tensor):
    """A complex tensor as a real one whose last dimension holds the two parts; shares memory."""
    found = dtype_of(input)
    if found.category != COMPLEX:
        raise RuntimeError(f"view_as_real is only supported for complex tensors; got {found}")
    part = BY_CODE[found.to_real().code]
    return input[..., None].view(part)


@declare_view(
    linear=True,
    batching="trailing",
    samples=lambda make: [(make(2),), (make(3, 2),)],
    autocast="float32",
    reinterprets=True,
)
def view_as_complex(input: Tensor):
    """A real tensor whose last dimension holds two parts, as a complex one; shares memory."""
    found = dtype_of(input)
    if found.to_complex().to_real() is not found:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of {found}"
        )
    if not input.ndim or input.shape[-1] != 2:
        raise RuntimeError(
            "Tensor must have a last dimension of size 2; this one has shape "
            f"{shape_text(input.shape)}"
        )
    whole = BY_CODE[found.to_complex().code]
    width = input.itemsize
    if input.size and (
        input.strides[-1] != width or any(s % (2 * width) for s in input.strides[:-1])
    ):
        raise RuntimeError(
            "Tensor must have a last dimension with stride 1, and every other stride must be "
            f"divisible by 2; the strides are {[s // width for s in input.strides]}"
        )
    return input.view(whole)[..., 0] if input.size else np.empty(input.shape[:-1], whole)


view_as_real.gradient(input=lambda grad: view_as_complex(grad.contiguous()))  # of any strides
view_as_complex.gradient(input=lambda grad: view_as_real(grad))


def _written(part):
    """Sets a part of complex numbers: ``x.real = other``."""

    def write(self, value):
        part(self)[...] = value

    return write


Tensor.real = property(_real, _written(_real))
Tensor.imag = property(_imag, _written(_imag))


@overridable(as_given=True)
@numpy_names
def real(input):
    """The real part; real tensors are returned as they are."""
    return input.real


@overridable(as_given=True)
@numpy_names
def imag(input):
    """The imaginary part of a complex tensor."""
    return input.imag


# ---------------------------------------------------------------------------------- conjugates
@elementwise(
    rule=same,
    method=False,
    inplace=False,
    node="Conj",
    tested_by="conj",
    limited="unsigned complex",
)
def _conj(input):
    """The complex conjugate."""
    return xp.conj(input)


_conj.gradient(input=lambda grad: _conj(grad))


@composite(
    samples=lambda make: [((make(2, 3),), {}), ((make(),), {})],
    sparse="linear",
    sparse_slope=1,
    nested="elements",
)
def conj(input: Tensor):
    """The complex conjugate; real tensors are returned as they are."""
    return _conj(input) if input._dtype.category == COMPLEX else input


def conj_of(value):
    """The conjugate in a gradient formula; free for real tensors, symbols and numbers."""
    if isinstance(value, Tensor):
        return _conj(value) if value._dtype.category == COMPLEX else value
    return conj_number(value)


def conj_number(value):
    """The conjugate of a Python number."""
    return value.conjugate() if isinstance(value, complex) else value
