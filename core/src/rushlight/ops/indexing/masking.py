"""Writing and reading where a mask is true."""

from __future__ import annotations

import math

from rushlight.dtypes import bool_
from rushlight.errors import shape_text
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.gemm import vectors
from rushlight.kernels.launch.execution import COMPILED_DTYPES
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.inplace import write_directly
from rushlight.ops._table.op import composite, op
from rushlight.ops.creation.tensors import zeros
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.indexing.assignment import filling, number_or_scalar, written_where
from rushlight.ops.indexing.items import _index_put
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor, add_methods


def check_mask(name, mask):
    """Refuse masks that are not bool."""
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"{name}: only supports boolean masks, but got mask of dtype {dtype_of(mask)} (convert "
            "it with .bool())"
        )


def broadcast(name, input, mask):
    """Both arrays broadcast against each other."""
    try:
        return np.broadcast_arrays(input, mask)
    except ValueError:
        raise RuntimeError(
            f"{name}: The size of tensor input {shape_text(input.shape)} must match the size of "
            f"mask {shape_text(mask.shape)} at every non-singleton dimension"
        ) from None


def _meta_masked(input, mask, value):
    return np.broadcast_shapes(input.shape, mask.shape), dtype_of(input)


@op(
    linear=True,
    samples=lambda make: [
        ((make(3, 4), make.mask(3, 4), 1.5), {}),
        ((make(4), make.mask(2, 4), 1), {}),
    ],
    method=False,
    inplace="_masked_fill_",
    meta=_meta_masked,
    limited="complex",
    batching="masked_fill",
    fills=True,
    aten_call=lambda input, mask, value: (
        "masked_fill",
        {"self": input, "mask": mask, "value": value},
    ),
)
def _masked_fill(input: Tensor, mask: Tensor, value):
    """A copy with a number where `mask` is true."""
    check_mask("masked_fill", mask)
    if mask.shape != input.shape:
        input, mask = broadcast("masked_fill", input, mask)
    return by_rows(np.where(mask, np.asarray(value, input.dtype), input))


def _fill_kernel(input, mask, value):
    """float32 and float64 by one compiled selection."""
    kind = type(value)
    number = kind is float or kind is int
    if number and input.dtype in COMPILED_DTYPES and mask.dtype == bool:
        kernel = filling(dtype_of(input).short)
        short = kernel.short
        if short is not None:
            try:
                found = short(input, mask, float(value))
                if found is NotImplemented:
                    found = kernel(input, mask, float(value))
                return by_rows(found)
            except ValueError:  # the body says what does not broadcast
                pass
    return _masked_fill.op.body(input, mask, value)


_masked_fill.op.writes = written_where
_fill_kernel.general = _masked_fill.op.body
_masked_fill.cpu(_fill_kernel)
_masked_fill.gradient(input=lambda grad, mask: _masked_fill(grad, mask, 0))


@composite(
    schemas=(
        "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
        "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    ),
    samples=lambda make: [
        ((make(3, 4), make.mask(3, 4), 2.0), {}),
        ((make(2, 3, 4), make.mask(4), -1.0), {}),
    ],
    aten="Scalar Scalar_out Tensor Tensor_out",
    aten_inplace="Scalar Tensor",
    nested="elements",
)
def masked_fill(input: Tensor, mask: Tensor, value):
    """A copy with `value`, a number or 0-d tensor, where `mask` is true.

    >>> rushlight.ones(3).masked_fill(rushlight.tensor([True, False, True]), 0.0)
    tensor([0., 1., 0.])
    """
    value = number_or_scalar("masked_fill", input, value)
    if isinstance(value, Tensor):
        if mask._dtype is not bool_:
            check_mask("masked_fill", mask._array)
        return where(mask, value.to(input._dtype), input)
    return _masked_fill(input, mask, value)


@overridable(as_given=True)
def _masked_fill_inplace(self, mask, value):
    """In-place version of :func:`rushlight.masked_fill`."""
    value = number_or_scalar(masked_fill.op.name + "_", self, value)
    if isinstance(value, Tensor):
        return self.copy_(masked_fill(self, mask, value))
    if write_directly(_masked_fill.op, self, (mask, value)):
        return self
    return self._masked_fill_(mask, value)


add_methods(masked_fill_=_masked_fill_inplace)


@op(
    linear=True,
    samples=lambda make: [((make(3, 4), make.mask(3, 4)), {}), ((make(4), make.mask(3, 1)), {})],
    limited="complex eight",
    batching="masked_select",
    value_sized=lambda draw, input, mask: input.new_empty(
        (draw(most=math.prod(np.broadcast_shapes(input.shape, mask.shape))),)
    ),
    saves="mask",
)
def masked_select(input: Tensor, mask: Tensor):
    """The elements where `mask` is true, as a vector."""
    check_mask("masked_select", mask)
    input, mask = broadcast("masked_select", input, mask)
    found = vectors.selected(input, mask)
    return input[mask] if found is None else found


def _masked_select_gradient(grad, input_shape, mask):
    shape = np.broadcast_shapes(tuple(input_shape), tuple(mask.shape))
    index = (np.broadcast_to(mask._array, shape),)
    return _index_put(zeros(shape, dtype=grad._dtype, device=grad._device), grad, index, False)


masked_select.gradient(input=_masked_select_gradient)
