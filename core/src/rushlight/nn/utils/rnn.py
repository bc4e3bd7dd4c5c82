"""Sequences of different lengths in one batch: padded, and packed for recurrent layers.

A :class:`PackedSequence` holds the elements of all sequences step by step: at each step those
sequences that are still running, the longest first.
"""

from __future__ import annotations

from collections import namedtuple

from rushlight.machine import np
from rushlight.ops.creation.tensors import beside, from_numpy, tensor
from rushlight.ops.shape.joining import stack
from rushlight.tensor.tensor import Tensor

_Fields = namedtuple("_Fields", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


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
    inverse = np.empty(permutation.numel(), np.int64)
    inverse[permutation.cpu()._array] = np.arange(permutation.numel())
    return beside(permutation, inverse)


def _lengths_array(lengths):
    if isinstance(lengths, Tensor):
        if lengths.device.type != "cpu":
            raise RuntimeError(
                "'lengths' argument should be a 1D CPU int64 tensor, but got a tensor on "
                f"{lengths.device}"
            )
        return lengths._array.astype(np.int64)
    return np.asarray(lengths, np.int64)


def _places(lengths, width):
    """Positions in (T, N) order, flattened, of every element of the packed data."""
    steps = int(lengths[0])
    inside = np.arange(steps)[:, None] < lengths
    rows, columns = np.nonzero(inside)
    return rows * width + columns, inside.sum(1)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack (T, N, ...) padded sequences (or (N, T, ...)) of the given lengths.

    Lengths must fall unless `enforce_sorted` is False, which sorts the batch.
    """
    lengths = _lengths_array(lengths)
    sorted_indices = None
    if not enforce_sorted:
        order = np.argsort(-lengths, kind="stable")
        sorted_indices, lengths = beside(input, order), lengths[order]
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
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
    places, sizes = _places(lengths, input.shape[1])
    flat = input.reshape(input.shape[0] * input.shape[1], *input.shape[2:])
    data = flat.index_select(0, beside(input, places))
    return PackedSequence(data, from_numpy(sizes.astype(np.int64)), sorted_indices)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Padded sequences (T, N, ...) (or (N, T, ...)) and their lengths from packed ones."""
    sizes = sequence.batch_sizes._array
    steps, width = len(sizes), int(sizes[0])
    lengths = (sizes[:, None] > np.arange(width)).sum(0)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    places, _ = _places(lengths, width)
    source = np.zeros(steps * width, np.int64)
    source[places] = np.arange(len(places))
    hidden = np.ones(steps * width, bool)
    hidden[places] = False
    data = sequence.data
    padded = data.index_select(0, beside(data, source))
    mask = beside(data, hidden).reshape(-1, *(1,) * (data.dim() - 1))
    padded = padded.masked_fill(mask, padding_value)
    padded = padded.reshape(steps, width, *data.shape[1:])
    lengths = from_numpy(lengths.astype(np.int64))
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
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
    counts = _lengths_array(lengths).tolist()
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
