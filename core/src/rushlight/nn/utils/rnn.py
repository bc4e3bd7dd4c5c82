"""Sequences of different lengths in one batch: padded, and packed for recurrent layers.

A :class:`PackedSequence` holds the elements of all sequences step by step: at each step those
sequences that are still running, the longest first.
"""

from __future__ import annotations

from typing import NamedTuple

from rushlight.machine import np
from rushlight.nn.packed_calls import (
    _pack_padded_sequence,
    _pad_packed_sequence,
    is_recorded,
    lengths_array,
)
from rushlight.ops.creation.tensors import beside, from_numpy, tensor
from rushlight.ops.shape.joining import stack
from rushlight.tensor.tensor import Tensor


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """``data`` (sum of lengths, ...), ``batch_sizes`` (steps), and the permutation that sorted the
    batch, with its inverse (None if it came sorted)."""

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        """From its parts; ``unsorted_indices`` follows from ``sorted_indices``."""
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise ValueError("PackedSequence: expected data and batch_sizes")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually; use pack_padded_sequence or pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The data (and the permutations) converted as by ``Tensor.to``."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [
            None if t is None else t.to(data.device)
            for t in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *moved)

    def cpu(self, *args, **kwargs):
        """On the CPU."""
        return self.to(device="cpu")

    def cuda(self, *args, **kwargs):
        """On a GPU; raises where there is none."""
        return self.to(*args, **{"device": "cuda", **kwargs})

    def _cast(self, name):
        return type(self)(getattr(self.data, name)(), *self[1:])

    def double(self):
        """The data as float64."""
        return self._cast("double")

    def float(self):
        """The data as float32."""
        return self._cast("float")

    def half(self):
        """The data as float16."""
        return self._cast("half")

    def long(self):
        """The data as int64."""
        return self._cast("long")

    def int(self):
        """The data as int32."""
        return self._cast("int")

    def pin_memory(self):
        """The same: host memory needs no pinning here."""
        return self

    def is_pinned(self):
        """Whether the data is in pinned memory."""
        return False

    @property
    def is_cuda(self):
        """Whether the data is on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation):
    """The inverse of a permutation (or None)."""
    if permutation is None:
        return None
    if is_recorded(permutation):
        return permutation.argsort()
    inverse = np.empty(permutation.numel(), np.int64)
    inverse[permutation.cpu()._array] = np.arange(permutation.numel())
    return beside(permutation, inverse)


def _falling(input, lengths, batch_dim):
    """The input and its lengths, the longest sequence first, and the order that gives that."""
    if isinstance(lengths, Tensor) and is_recorded(lengths):
        lengths, order = lengths.sort(descending=True, stable=True)
    else:
        lengths = lengths_array(lengths)
        order = np.argsort(-lengths, kind="stable")
        lengths, order = from_numpy(lengths[order]), beside(input, order)
    return input.index_select(batch_dim, order), lengths, order


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack (T, N, ...) padded sequences (or (N, T, ...)) of the given lengths.

    Lengths must fall unless `enforce_sorted` is False, which sorts the batch.
    """
    order = None
    if not enforce_sorted:
        input, lengths, order = _falling(input, lengths, 0 if batch_first else 1)
    elif not isinstance(lengths, Tensor):
        lengths = from_numpy(lengths_array(lengths))
    data, sizes = _pack_padded_sequence(input, lengths, batch_first)
    if is_recorded(sizes):
        sizes._batch = input.shape[0 if batch_first else 1]
    return PackedSequence(data, sizes, order)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Padded sequences (T, N, ...) (or (N, T, ...)) and their lengths from packed ones."""
    padded, lengths = _pad_packed_sequence(
        sequence.data,
        sequence.batch_sizes,
        batch_first,
        padding_value,
        -1 if total_length is None else total_length,
    )
    order = sequence.unsorted_indices
    if order is not None:
        padded = padded.index_select(0 if batch_first else 1, order)
        lengths = lengths[order]
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences (L_i, ...) padded to the longest: (T, N, ...), or (N, T, ...)."""
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not hasattr(sequences, "__iter__"):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    sequences = list(sequences)
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}"
        )
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    from rushlight.nn.functional import pad

    longest = max(s.shape[0] for s in sequences)
    padded = []
    for item in sequences:
        extra = longest - item.shape[0]
        before, after = (extra, 0) if padding_side == "left" else (0, extra)
        widths = (*(0, 0) * (item.dim() - 1), before, after)
        padded.append(pad(item, widths, value=padding_value) if extra else item)
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded batch, each with its own length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    counts = lengths_array(lengths).tolist()
    return [row[:count] for row, count in zip(padded_sequences, counts, strict=True)]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack sequences (L_i, ...)."""
    lengths = tensor([s.shape[0] for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a packed batch, each with its own length."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
