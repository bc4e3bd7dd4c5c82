"""Copies of tensors, and in which order their elements are in memory."""

from __future__ import annotations

from rushlight.kernels.copying import assignment, blocks
from rushlight.kernels.launch.prepared import by_layout
from rushlight.machine import np
from rushlight.ops._table.op import composite, op
from rushlight.tensor.memory_format import (
    channels_last,
    channels_last_3d,
    check_format,
    contiguous_format,
    copied,
    empty_in,
    empty_like,
    goes_by_rows,
    is_laid_out,
    lies_by_rows,
    preserve_format,
)
from rushlight.tensor.tensor import Tensor

_ndarray = np.ndarray


@op(
    schemas=("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",),
    linear=True,
    samples=lambda make: [((make(2, 3),), {})],
    meta=lambda input, memory_format=None: copied(input, check_format("clone", memory_format)),
    limited="unsigned complex eight",
    moves=True,
    nested="elements",
    batching="clone",
    foreach="*, memory_format: any = None",
)
def clone(input: Tensor, *, memory_format=None):
    """A copy with memory of its own; dense inputs keep their strides."""
    return copied(input, check_format(clone.op.name, memory_format))


def _prepared_clone(input, chosen):
    if input.flags.c_contiguous and chosen is preserve_format:
        return None
    if chosen is not contiguous_format:
        if chosen is not preserve_format or not goes_by_rows(input):
            return None
    return assignment.copied(input)


def _copied(input, chosen):
    """A copy in a format, by all threads where it is large."""
    like = chosen is preserve_format
    out = empty_like(input, input.dtype) if like else empty_in(input.shape, input.dtype, chosen)
    assignment.write(out, input)
    return out


turned = by_layout(_prepared_clone, _copied)
turned.short.whole = True  # where a format is given; others are copied by NumPy


def _clone_kernel(input, memory_format=None):
    """Small arrays that are laid out otherwise are turned by one call."""
    plain = input.flags.c_contiguous and (1 not in input.shape or lies_by_rows(input))
    if memory_format is None and plain:
        found = input.copy() if 0 < input.nbytes < blocks.LEAST else blocks.copied(input)
        if found is not None:
            return found
    return turned(input, check_format(clone.op.name, memory_format))


_clone_kernel.general, _clone_kernel.short = clone.op.body, turned.short
clone.cpu(_clone_kernel)
clone.gradient(input=lambda grad: grad)


@composite(
    schemas=(
        "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    ),
    aten_call=lambda input, memory_format=None: (
        "contiguous",
        {"self": input} | ({} if memory_format is None else {"memory_format": memory_format}),
    ),
    itself=True,
    samples=lambda make: [(make(),), (make(0, 3),), (make(4, 3).t(),)],
)
def contiguous(input: Tensor, memory_format=None):
    """The tensor itself if its memory is in the format (row-major by default), else a copy that
    does."""
    if memory_format is None and type(input._array) is _ndarray:
        if input._array.flags.c_contiguous:
            return input
        return clone(input, memory_format=contiguous_format)
    chosen = check_format("contiguous", memory_format, contiguous_format)
    if chosen is preserve_format and not input._array.flags.c_contiguous:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    wrapped = getattr(input, "_level", None) is not None  # strides are those of the values below
    if input.is_contiguous(memory_format=chosen) if wrapped else is_contiguous(input, chosen):
        return input
    return clone(input, memory_format=chosen)


def is_contiguous(input, memory_format=contiguous_format):
    """Whether the memory is without gaps in a format's order; row-major by default."""
    return is_laid_out(input._array, check_format("is_contiguous", memory_format))


def in_format_of(source, result):
    """`result`, channels last in memory if `source` is and not row by row too."""
    for chosen in (channels_last, channels_last_3d):
        if source.dim() == result.dim() == len(chosen.order):
            if not is_contiguous(source) and is_contiguous(source, chosen):
                return contiguous(result, chosen)
    return result


Tensor.is_contiguous = is_contiguous
