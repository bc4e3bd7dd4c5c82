"""Packing and padding as ATen has them: tensors alone, each a step of traces and captured programs.

:mod:`rushlight.nn.utils.rnn` is what programs call; its :class:`PackedSequence` holds what these
functions take and give. Rows of packed data stand step by step, in each step the sequences that
still run, the longest first.
"""

from __future__ import annotations

from rushlight.machine import np
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.value_sized import value_sized
from rushlight.ops.creation.tensors import beside, from_numpy
from rushlight.tensor import dispatch
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor


def is_recorded(*tensors):
    """Whether a call with these tensors is part of a trace or of a captured program."""
    return bool(dispatch.STATE.levels) and any(map(_is_in_program, tensors))


def _is_in_program(tensor):
    while (level := getattr(tensor, "_level", None)) is not None:
        if level.kind in ("capture", "tracing"):
            return True
        tensor = tensor._inner
    return False


def lengths_array(lengths):
    """Lengths, a list or a tensor, as an array of int64."""
    if isinstance(lengths, Tensor):
        if lengths.device.type != "cpu":
            raise RuntimeError(
                "'lengths' argument should be a 1D CPU int64 tensor, but got a tensor on "
                f"{lengths.device}"
            )
        return lengths._array.astype(np.int64)
    return np.asarray(lengths, np.int64)


def _positions(lengths, width):
    """Positions in (T, N) order, flattened, of every element of the packed data."""
    steps = int(lengths[0])
    inside = np.arange(steps)[:, None] < lengths
    rows, columns = np.nonzero(inside)
    return rows * width + columns, inside.sum(1)


# ---------------------------------------------------------------------- sizes in captured programs
def _packed_sizes(draw, input, lengths, batch_first=False):
    """Rows, between one of each sequence and all steps; a size for every step that there is."""
    steps, batch = input.shape[:2] if not batch_first else input.shape[1::-1]
    rows, count = draw(least=batch, most=steps * batch), draw(most=steps, result=1)
    sizes = lengths.new_empty((count,))
    sizes._batch = batch  # which `_pad_packed_sequence` gives back
    return input.new_empty((rows, *input.shape[2:])), sizes


def _padded_sizes(draw, data, batch_sizes, batch_first, padding_value, total_length):
    """Every sequence at the number of steps; lengths."""
    batch = getattr(batch_sizes, "_batch", None)
    if batch is None:
        batch = draw(most=data.shape[0], dim=0 if batch_first else 1)
    steps = batch_sizes.shape[0] if total_length <= 0 else total_length
    shape = (batch, steps) if batch_first else (steps, batch)
    return data.new_empty((*shape, *data.shape[1:])), batch_sizes.new_empty((batch,))


# --------------------------------------------------------------------------------------- the calls
@value_sized(_packed_sizes)
@in_aten(
    "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)"
)
@overridable(as_given=True)
def _pack_padded_sequence(input, lengths, batch_first) -> tuple[Tensor, Tensor]:
    """Packed data (sum of lengths, ...) of (T, N, ...), or (N, T, ...), and the number of
    sequences at each step. Lengths (N) must fall."""
    if batch_first:
        input = input.transpose(0, 1)
    lengths = lengths_array(lengths)
    _check_lengths(input, lengths)
    positions, sizes = _positions(lengths, input.shape[1])
    flat = input.reshape(input.shape[0] * input.shape[1], *input.shape[2:])
    data = flat.index_select(0, beside(input, positions))
    return data, from_numpy(sizes.astype(np.int64))


def _check_lengths(input, lengths):
    if not len(lengths) or not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size"
            f"={input.shape[1]})"
        )
    if lengths.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that"
            " is <= 0"
        )
    if (np.diff(lengths) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if lengths[0] > input.shape[0]:
        raise RuntimeError(
            f"Expected all lengths to be at most {input.shape[0]} (steps of the input), but got "
            f"{int(lengths[0])}"
        )


@value_sized(_padded_sizes)
@in_aten(
    "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, "
    "int total_length) -> (Tensor, Tensor)"
)
@overridable(as_given=True)
def _pad_packed_sequence(
    data, batch_sizes, batch_first, padding_value, total_length
) -> tuple[Tensor, Tensor]:
    """Padded sequences (T, N, ...), or (N, T, ...), of packed `data`, and their lengths (N). T is
    `total_length` where that is positive, else the number of steps."""
    sizes = batch_sizes._array
    steps, width = len(sizes), int(sizes[0])
    lengths = (sizes[:, None] > np.arange(width)).sum(0)
    if total_length > 0:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    positions, _ = _positions(lengths, width)
    source = np.zeros(steps * width, np.int64)
    source[positions] = np.arange(len(positions))
    hidden = np.ones(steps * width, bool)
    hidden[positions] = False
    padded = data.index_select(0, beside(data, source))
    mask = beside(data, hidden).reshape(-1, *(1,) * (data.dim() - 1))
    padded = padded.masked_fill(mask, padding_value)
    padded = padded.reshape(steps, width, *data.shape[1:])
    lengths = from_numpy(lengths.astype(np.int64))
    return (padded.transpose(0, 1) if batch_first else padded), lengths


__all__ = ["_pack_padded_sequence", "_pad_packed_sequence"]
