"""Elements in another order along dimensions: flip and roll."""

from __future__ import annotations

from rushlight.kernels.copying import moving
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.prepared import by_layout, of_copies
from rushlight.machine import np
from rushlight.ops._table.op import Sizes, op
from rushlight.ops._table.shape_rules import checked, like, walked
from rushlight.tensor.memory_format import empty_iterated, goes_by_rows
from rushlight.tensor.memory_format import follow as format_of
from rushlight.tensor.shape import wrap_dim, wrap_dims
from rushlight.tensor.tensor import Tensor


@op(
    schemas=("flip(Tensor self, int[] dims) -> Tensor",),
    linear=True,
    batching="dims",
    meta=checked(lambda input, dims: _axes(input, dims), walked),
    samples=lambda make: [((make(2, 3), (0,)), {}), ((make(2, 3), (0, 1)), {})],
    limited="unsigned complex eight",
)
def flip(input: Tensor, dims: Sizes):
    """The order of elements reversed along `dims`."""
    turned = np.flip(input, _axes(input, dims))
    if type(input) is not np.ndarray or input.flags.c_contiguous:
        return turned.copy()
    out = empty_iterated(input.shape, input.dtype, (input.strides,))
    out[...] = turned
    return out


def _axes(input, dims):
    """The dimensions to flip, none of them twice."""
    dims = (dims,) if isinstance(dims, int) else dims
    return wrap_dims(dims, input.ndim, empty_is_all=False)


def _prepared_flip(input, dims):
    if not input.ndim or not input.flags.c_contiguous:  # strides of the result follow the input's
        return None
    axes = wrap_dims((dims,) if isinstance(dims, int) else dims, input.ndim, empty_is_all=False)
    return moving.flipped(input, axes)


flip.cpu(by_layout(_prepared_flip, flip.op.body))
flip.gradient(input=lambda grad, dims: grad.flip(dims))


@op(
    schemas=("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",),
    linear=True,
    batching="dims",
    meta=checked(lambda input, shifts, dims=(): _check_roll(input, shifts, dims), like),
    samples=lambda make: [((make(3, 4), 1), {}), ((make(3, 4), (1, -2), (0, 1)), {})],
    limited="unsigned complex eight",
    saves="dims[] shifts[]",
)
def roll(input: Tensor, shifts, dims=()):
    """Elements moved along `dims` by `shifts`, those past the end to the beginning."""
    axes = _check_roll(input, shifts, dims)
    if not axes:
        found = np.roll(input, shifts)
        return by_rows(found) if type(input) is np.ndarray else found
    return _as_rolled(input, np.roll(input, shifts, axes))


def _check_roll(input, shifts, dims):
    """The dimensions, one for each shift; none where all elements move as one row."""
    several = isinstance(shifts, (tuple, list))
    if several and not shifts:
        raise RuntimeError("roll: `shifts` required, got none")
    count = len(shifts) if several else 1
    if dims is None or isinstance(dims, (tuple, list)) and not dims:
        if count != 1:
            raise RuntimeError(f"roll: shifts and dimensions must align: {list(shifts)} and none")
        return ()
    axes = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if len(axes) != count:
        raise RuntimeError(f"roll: shifts and dimensions must align: {shifts} and {dims}")
    if not input.ndim:
        raise IndexError(f"roll: Dimension specified as {axes[0]} but tensor has no dimensions")
    return tuple(wrap_dim(axis, input.ndim) for axis in axes)


def _as_rolled(input, found):
    return format_of(input, by_rows(found)) if type(input) is np.ndarray else found


def _prepared_roll(input, shifts, dims=()):
    """Two pieces of every row of a dense array change places, dimension by dimension."""
    axes = _check_roll(input, shifts, dims)
    shifts = shifts if type(shifts) is tuple else (shifts,)
    if not input.ndim or not all(type(shift) is int for shift in shifts):
        return None
    if not axes:
        return _rolled(input, *shifts, None)
    if not goes_by_rows(input):
        return None
    steps = []
    for shift, axis in zip(shifts, axes, strict=True):
        step = _rolled(input, shift, axis)
        if step is None:
            return None
        steps.append(step)
        input = input if input.flags.c_contiguous else np.empty(input.shape, input.dtype)
    return steps[0] if len(steps) == 1 else _one_by_one(steps)


def _one_by_one(steps):
    def call(array):
        for step in steps:
            array = step(array)
            if array is NotImplemented:
                return array
        return array

    return call


_rolled = of_copies(
    lambda x, shift, dim: moving.rolled(x, shift, dim) if x.flags.c_contiguous else None
)
roll.cpu(by_layout(_prepared_roll, roll.op.body))


def _back(shifts):
    return tuple(-s for s in shifts) if isinstance(shifts, (tuple, list)) else -shifts


roll.gradient(input=lambda grad, shifts, dims: grad.roll(_back(shifts), dims))
