"""Flips, rotations, diagonal matrices, index grids, equal segments: rarer ways to arrange."""

from __future__ import annotations

import builtins
import warnings

from rushlight.dtypes import as_dtype, bool_, default, float64, held, int64, refuse_limited
from rushlight.errors import shape_text
from rushlight.kernels.indexing import indices as index_kernels
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.ops._table.op import composite
from rushlight.ops.creation.tensors import _write, arange, finish
from rushlight.ops.neural.padding import _constant_pad
from rushlight.ops.shape.triangular import diag_embed
from rushlight.tensor.memory_format import contiguous_format
from rushlight.tensor.shape import as_int, wrap_dim
from rushlight.tensor.tensor import Tensor, add_methods, make_tensor


@composite(samples=lambda make: [(make(0, 3),), (make(2, 3, 2),), (make(3, 4),)])
def fliplr(input: Tensor):
    """The columns in reverse order."""
    if input.dim() < 2:
        raise RuntimeError(f"Input must be >= 2-d; fliplr got shape {shape_text(input.shape)}")
    return input.flip(1)


@composite(samples=lambda make: [(make(3),), (make(0, 3),), (make(3, 4),)])
def flipud(input: Tensor):
    """The rows in reverse order."""
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d; flipud got a 0-d tensor")
    return input.flip(0)


def _reversed(self):
    """The rows in reverse order, a tensor."""
    return self.flip(0) if self.dim() else self


add_methods(__reversed__=_reversed)


def row_by_row(input):
    """A copy that is row-major."""
    return input.clone(memory_format=contiguous_format)


@composite(samples=[(), (-1,), (2, (1, 0)), (3, (0, 1))])
def rot90(input: Tensor, k=1, dims=(0, 1)):
    """`input` turned by 90 degrees `k` times, from the first of `dims` toward the second.

    >>> rushlight.rot90(rushlight.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"rot90: expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"rot90: expected total dims >= 2, but got total dims = {input.dim()}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.dim():
        raise RuntimeError(
            f"rot90: expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = "
            f"{dims[1]}"
        )
    first, second = (wrap_dim(d, input.dim()) for d in dims)
    turns = k % 4
    if turns == 1:
        return input.flip(second).transpose(first, second)
    if turns == 2:
        return input.flip((first, second))
    return input.flip(first).transpose(first, second) if turns == 3 else row_by_row(input)


@composite(samples=lambda make: [(make(),), (make(3), -1), (make(2, 2), 1)])
def diagflat(input: Tensor, offset=0):
    """A matrix with the flattened elements on its diagonal."""
    return diag_embed(input.reshape(-1), offset)


@composite(
    samples=[(2,), (1.5,)],
    schemas=(
        "fill.Scalar(Tensor self, Scalar value) -> Tensor",
        "fill.Tensor(Tensor self, Tensor value) -> Tensor",
    ),
    aten="Scalar Scalar_out Tensor Tensor_out",
    aten_inplace="Scalar Tensor",
)
def fill(input: Tensor, value):
    """`input`'s shape and dtype filled with `value`, a number or 0-d tensor."""
    return input.clone().fill_(value)


@composite(
    schemas=("constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",),
    method=False,
    samples=[((1, 2),), ((1, 0, -1, 2), 1.5)],
)
def constant_pad_nd(input: Tensor, pad, value=0):
    """A constant around the last dimensions: ``(before, after)`` of the last first."""
    pad = tuple(pad)
    if len(pad) % 2 or len(pad) > 2 * input.dim():
        raise RuntimeError(
            f"constant_pad_nd: Length of pad must be even and at most {2 * input.dim()}, twice the "
            f"dimensions of the input, but the pad is {list(pad)}"
        )
    for i in builtins.range(0, len(pad), 2):
        size = input.shape[input.dim() - 1 - i // 2]
        if size + pad[i] + pad[i + 1] < 0:
            raise RuntimeError(
                f"constant_pad_nd: The input size {size}, plus negative padding {pad[i]} and "
                f"{pad[i + 1]}, resulted in a negative output size"
            )
    return _constant_pad(input, pad, held(value, input._dtype))


def _triangle(name, chosen, row, col, offset, dtype, device, requires_grad):
    row, col = as_int(row, "row", name), as_int(col, "col", name)
    offset = as_int(offset, "offset", name)
    if row < 0 or col < 0:
        raise RuntimeError(f"{name}: row and col must be non-negative, got {row} and {col}")
    dtype = int64 if dtype is None else as_dtype(dtype)
    refuse_limited(name, dtype)
    kind = BY_CODE[dtype.code]
    call = index_kernels.triangle(chosen is np.triu_indices, row, col, offset, kind)
    if call is not None:
        return finish(call(), dtype, device, requires_grad)
    numbers = np.asarray(chosen(row, offset, col), kind).reshape(2, -1)
    return finish(numbers, dtype, device, requires_grad)


@composite(method=False, samples=lambda make: [(3, 4), (4, 3, 1), (3, 3, -1)], differentiable=False)
def tril_indices(
    row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False,
    requires_grad=False,
):  # fmt: skip
    """Row and column numbers of the lower triangle of a ``row x col`` matrix, as two rows.

    >>> rushlight.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _triangle(
        "tril_indices", np.tril_indices, row, col, offset, dtype, device, requires_grad
    )


@composite(method=False, samples=lambda make: [(3, 4), (4, 3, 1), (3, 3, -1)], differentiable=False)
def triu_indices(
    row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False,
    requires_grad=False,
):  # fmt: skip
    """Row and column numbers of the upper triangle of a ``row x col`` matrix, as two rows."""
    return _triangle(
        "triu_indices", np.triu_indices, row, col, offset, dtype, device, requires_grad
    )


def fill_diagonal_(self, fill_value, wrap=False):
    """Write a number on the main diagonal; with `wrap` it starts again below a tall matrix."""
    shape = tuple(self.shape)
    if len(shape) < 2:
        raise RuntimeError(
            f"fill_diagonal_: dimensions must larger than 1; got shape {shape_text(shape)}"
        )
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError(
            f"fill_diagonal_: all dimensions of input must be of equal length; got shape "
            f"{shape_text(shape)}"
        )
    mask = np.zeros(shape, bool)
    if len(shape) == 2 and wrap:
        rows = np.arange(shape[0])
        columns = rows % (shape[1] + 1)
        inside = columns < shape[1]
        mask[rows[inside], columns[inside]] = True
    else:
        places = np.arange(min(shape))
        mask[(places,) * len(shape)] = True
    return self.masked_fill_(make_tensor(mask, bool_), fill_value)


Tensor.fill_diagonal_ = fill_diagonal_


@composite(
    schemas=("is_same_size(Tensor self, Tensor other) -> bool",),
    in_aten=False,
    samples="binary",
    differentiable=False,
)
def is_same_size(input: Tensor, other: Tensor):
    """Whether two tensors have the same shape."""
    return input._array.shape == other._array.shape


@composite(
    method=False, samples=lambda make: [(1, 4), (1.0, 2.0, 0.25)], aten="step default out out_"
)
def range(
    start=0,
    end=None,
    step=1,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
):
    """The numbers from `start` to `end`, both included, every `step`; use :func:`arange`."""
    if end is None:
        raise TypeError("range() missing 1 required positional argument: 'end'")
    warnings.warn(
        "range is deprecated because its behavior is inconsistent with Python's range builtin; "
        "use arange, which produces values in [start, end).",
        stacklevel=3,
    )
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and larger bound inconsistent with step sign")
    count = int((end - start) / step) + 1
    made = arange(count, dtype=float64) * step + start
    dtype = default.float if dtype is None else as_dtype(dtype)
    made = made.to(dtype) if out is None else made.to(out.dtype)
    if out is not None:
        return _write(out, made)
    made = made if device is None else made.to(device)
    return made.requires_grad_() if requires_grad else made


# --------------------------------------------------------------------------------- Python functions
def _called(name, self, function, *others):
    """Write ``function(element, ...)`` over every element, in place."""
    if self.requires_grad:
        raise TypeError(f"can't call {name}() on Variable that requires grad. Use var.detach()")
    arrays = np.broadcast_arrays(self._array, *[o._array for o in others])
    if arrays[0].shape != self._array.shape:
        raise RuntimeError(
            f"{name}: other tensors must broadcast to shape {shape_text(self.shape)}"
        )
    columns = [a.reshape(-1).tolist() for a in arrays]
    found = np.empty(self._array.size, self._array.dtype)
    for i, values in enumerate(zip(*columns, strict=True)):
        found[i] = function(*values)
    return self.copy_(make_tensor(found.reshape(self._array.shape), self._dtype))


def apply_(self, callable):
    """Replace every element by ``callable(element)``, in place; slow."""
    return _called("apply_", self, callable)


def map_(self, tensor, callable):
    """Replace every element by ``callable(element, other)``, in place; slow."""
    return _called("map_", self, callable, tensor)


def map2_(self, x, y, callable):
    """Replace every element by ``callable(element, x, y)``, in place; slow."""
    return _called("map2_", self, callable, x, y)


Tensor.apply_, Tensor.map_, Tensor.map2_ = apply_, map_, map2_
