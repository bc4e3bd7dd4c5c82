"""Memory with given strides, and tensors resized in place."""

from __future__ import annotations

import math
import warnings

from rushlight import devices
from rushlight.dtypes import as_dtype, default
from rushlight.errors import shape_text
from rushlight.machine import memory, np
from rushlight.machine.arrays import BY_CODE
from rushlight.machine.memory import start_of
from rushlight.machine.meta_array import block_of, in_block, meta_array, offset_of
from rushlight.ops._table.op import composite
from rushlight.ops.creation.tensors import _elsewhere, finish
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.memory_format import (
    check_format,
    contiguous_format,
    iterated,
    order_in,
    preserve_format,
    turned,
)
from rushlight.tensor.overriding import call_by_override
from rushlight.tensor.shape import as_int, normalize_size, strides_of
from rushlight.tensor.storage import _root
from rushlight.tensor.tensor import Tensor


def _strided(name, size, stride, dtype, device, requires_grad):
    size, stride = normalize_size((size,)), tuple(as_int(s, "stride", name) for s in stride)
    dtype = default.float if dtype is None else as_dtype(dtype)
    if len(size) != len(stride):
        raise RuntimeError(
            f"{name}: dimensionality of sizes ({len(size)}) must match dimensionality of strides "
            f"({len(stride)})"
        )
    if any(s < 0 for s in (*size, *stride)):
        raise RuntimeError(
            f"{name}: sizes and strides must not be negative; got {shape_text(size)} and "
            f"{shape_text(stride)}"
        )
    kind, place = BY_CODE[dtype.code], devices.as_device(device)
    steps = tuple(s * kind.itemsize for s in stride)
    if place is devices.meta:
        return finish(meta_array(size, kind, steps), dtype, device, requires_grad)
    reach = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if place.type == "cuda":
        block = _elsewhere().empty((reach,), kind, place)
        array = block._with(size, steps, block.address, kind)
        return finish(array, dtype, device, requires_grad)
    block = memory.empty(reach, kind)
    array = np.ndarray(size, kind, block, 0, steps)
    return finish(array, dtype, device, requires_grad)


def _strides(function):
    """The strides of a result whose values are whatever is in memory, for tests."""

    def call(*args, **kwargs):
        return tuple(function(*args, **kwargs).stride())

    return call


@composite(method=False, samples=lambda make: [((2, 3), (1, 2))], compared=_strides)
def empty_strided(
    size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """Uninitialised memory with given strides, in elements."""
    return _strided("empty_strided", size, stride, dtype, device, requires_grad)


@composite(method=False, samples=lambda make: [((2, 3, 4), (0, 2, 1))], compared=_strides)
def empty_permuted(
    size,
    physical_layout,
    *,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """Uninitialised dense memory whose dimensions are in the order `physical_layout`, the outermost
    first."""
    size, order = normalize_size((size,)), tuple(physical_layout)
    if len(size) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    for dim in order:
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got "
                f"{dim} in physical_layout)"
            )
    if len(set(order)) != len(order):
        raise RuntimeError(f"Duplicate dim not allowed in physical_layout {list(order)}")
    stride, step = [0] * len(size), 1
    for dim in reversed(order):
        stride[dim] = step
        step *= max(size[dim], 1)
    return _strided("empty_permuted", size, stride, dtype, device, requires_grad)


@composite(samples=[((2, 3), (1, 2))], compared=_strides, differentiable=False)
def new_empty_strided(
    input: Tensor,
    size,
    stride,
    *,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """:func:`empty_strided` with this tensor's dtype and device."""
    return _strided(
        "new_empty_strided",
        size,
        stride,
        dtype or input._dtype,
        device or input._device,
        requires_grad,
    )


def resize_(self, *sizes, size=None, memory_format=None):
    """Give this tensor another size: the elements in memory stay; when there are more, the new ones
    are uninitialised."""
    if not sizes:
        if size is None:
            raise TypeError("resize_() missing required argument: 'size' (pos 1)")
        sizes = (size,)
    if STATE.modes:  # sizes may be stand-ins of a program that is traced
        options = {} if memory_format is None else {"memory_format": memory_format}
        found = call_by_override(resize_, (self, *sizes), options)
        if found is not NotImplemented:
            return found
    size = normalize_size(sizes)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if any(n < 0 for n in size):
        raise RuntimeError(f"resize_: sizes must not be negative, got {shape_text(size)}")
    array = self._array
    if size == array.shape and memory_format is None:
        return self
    chosen = check_format("resize_", memory_format, contiguous_format)
    if chosen is preserve_format:
        raise RuntimeError("resize_: Unsupported memory format Preserve")
    count, kind = math.prod(size), array.dtype
    if self._device.type == "meta":
        row, kept = _row_without_memory(array, count)
    else:
        row, kept = _row_of(array, count)
    order = order_in(size, chosen)
    self._array = turned(lambda shape, _: row.reshape(shape), size, kind, order)
    if not kept:
        self._storage = None
    return self


def _row_without_memory(array, count):
    """So many elements of the storage of a meta array from its first one on, or of a new one;
    whether they are of the same."""
    step, offset, owner = array.itemsize, offset_of(array), block_of(array)
    if offset + count * step > owner.nbytes:
        return meta_array((count,), array.dtype), False
    return in_block(owner, (count,), array.dtype, offset, (step,)), True


def _row_of(array, count):
    """So many elements of the memory of an array from its first one on, or of a buffer that holds
    what there was; whether they are in the same memory."""
    kind = array.dtype
    owner = _root(array)
    offset = (start_of(array) - start_of(owner)) // kind.itemsize if array.size else 0
    flat = owner.reshape(-1).view(np.uint8).view(kind) if owner.flags.forc else None
    if flat is not None and owner.flags.c_contiguous and offset + count <= flat.size:
        return flat[offset : offset + count], True
    made = memory.empty(count, kind)
    kept = np.ravel(array)[:count] if flat is None else flat[offset:][:count]
    made[: kept.size] = kept
    return made, False


@composite(
    in_aten=False,
    method=False,
    samples=lambda make: [(make(2, 3), make(3, 2))],
    differentiable=False,
)
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format=None):
    """Give a tensor the size of another one, in place; see ``Tensor.resize_``."""
    return resize_(input, tuple(the_template.shape), memory_format=memory_format)


def resize(self, *sizes):
    """A view or copy of another size; deprecated, use :func:`reshape`."""
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    return self.reshape(*sizes)


def resize_as(self, tensor):
    """A view or copy of another tensor's size; deprecated, use ``reshape_as``."""
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=2)
    return self.reshape(tuple(tensor.shape))


def dim_order(self, *, ambiguity_check=False) -> tuple:
    """The dimensions in the order in which they are in memory, the slowest first."""
    if ambiguity_check:
        raise NotImplementedError(
            "dim_order(ambiguity_check=...) is not available; ask is_contiguous(memory_format=...)"
        )
    return iterated(self._array.shape, (strides_of(self),))


Tensor.dim_order = dim_order
Tensor.resize_, Tensor.resize_as_ = resize_, resize_as_
Tensor.resize, Tensor.resize_as = resize, resize_as
