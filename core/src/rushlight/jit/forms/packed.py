"""Packed sequences as TorchScript: the functions of `nn.utils.rnn`, and recurrent layers over
packed data.

Unlike other forms these are what compiled programs run too: what a program does with a packed
sequence depends on the types of its fields, which the functions of Python do not tell.
"""

# ruff: noqa: UP006, UP007, UP032, UP035, UP045 - annotations that TorchScript has had from its start
from __future__ import annotations

from typing import List, Optional, Tuple, Union

from rushlight import as_tensor, nn, tensor
from rushlight.jit.dispatch import aten
from rushlight.nn.utils import rnn
from rushlight.nn.utils.rnn import PackedSequence
from rushlight.tensor.tensor import Tensor

FUNCTIONS: dict = {}  # of Python -> in TorchScript
LAYERS: dict = {}


def _function(function):
    name = function.__name__ = function.__qualname__ = function.__name__.lstrip("_")
    function.__module__ = "torch.nn.utils.rnn"
    FUNCTIONS[getattr(rnn, name)] = function
    return function


def _layer(kind):
    def keep(function):
        LAYERS[kind] = function
        return function

    return keep


@_function
def _invert_permutation(permutation: Optional[Tensor]) -> Optional[Tensor]:
    if permutation is None:
        return None
    return aten.argsort(permutation)


# The class itself: `PackedSequence(...)` here makes the fields alone.
def packed_sequence(
    data: Tensor,
    batch_sizes: Tensor,
    sorted_indices: Optional[Tensor] = None,
    unsorted_indices: Optional[Tensor] = None,
) -> PackedSequence:
    """A packed sequence of its parts."""
    if unsorted_indices is None:
        unsorted_indices = _invert_permutation(sorted_indices)
    if batch_sizes.device.type != "cpu":
        raise ValueError(
            "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
            "created manually; use pack_padded_sequence or pack_sequence"
        )
    return PackedSequence(data, batch_sizes, sorted_indices, unsorted_indices)


packed_sequence.__module__ = "torch.nn.utils.rnn"


@_function
def _pack_padded_sequence(
    input: Tensor,
    lengths: Union[Tensor, List[int]],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    if isinstance(lengths, Tensor):
        counts = lengths.long()
    else:
        counts = as_tensor(lengths)
    order: Optional[Tensor] = None
    if not enforce_sorted:
        counts, found = aten.sort(counts, -1, True)
        found = found.to(input.device)
        input = aten.index_select(input, 0 if batch_first else 1, found)
        order = found
    data, sizes = aten._pack_padded_sequence(input, counts, batch_first)
    return packed_sequence(data, sizes, order, None)


@_function
def _pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    steps = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                "input, but got total_length={} and max sequence length being {}".format(
                    total_length, steps
                )
            )
        steps = total_length
    padded, lengths = aten._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, steps
    )
    order = sequence.unsorted_indices
    if order is not None:
        padded = aten.index_select(padded, 0 if batch_first else 1, order)
        lengths = aten.index_select(lengths, 0, order.cpu())
    return padded, lengths


@_function
def _pad_sequence(
    sequences: Union[Tensor, List[Tensor]],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    if isinstance(sequences, Tensor):
        parts = aten.unbind(sequences, 0)
    else:
        parts = sequences
    return aten.pad_sequence(parts, batch_first, padding_value, padding_side)


@_function
def _unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> List[Tensor]:
    if not batch_first:
        padded_sequences = aten.transpose(padded_sequences, 0, 1)
    found: List[Tensor] = []
    for i in range(lengths.size(0)):
        found.append(padded_sequences[i][: int(lengths[i].item())])
    return found


@_function
def _pack_sequence(sequences: List[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    lengths = tensor([part.size(0) for part in sequences])
    padded = _pad_sequence(sequences, False, 0.0, "right")
    return _pack_padded_sequence(padded, lengths, False, enforce_sorted)


@_function
def _unpack_sequence(packed_sequences: PackedSequence) -> List[Tensor]:
    padded, lengths = _pad_packed_sequence(packed_sequences, True, 0.0, None)
    return _unpad_sequence(padded, lengths, True)


# ------------------------------------------------------------------------------------------ layers
def _sorted(state: Tensor, order: Optional[Tensor]) -> Tensor:
    return state if order is None else aten.index_select(state, 1, order)


def _first_state(
    hx: Optional[Tensor],
    rows: int,
    width: int,
    data: Tensor,
    sizes: Tensor,
    order: Optional[Tensor],
) -> Tensor:
    if hx is None:
        count = int(sizes[0].item())
        return aten.zeros([rows, count, width], dtype=data.dtype, device=data.device)
    return _sorted(hx, order)


@_layer(nn.LSTM)
def _lstm(
    self, input: PackedSequence, hx: Optional[Tuple[Tensor, Tensor]] = None
) -> Tuple[PackedSequence, Tuple[Tensor, Tensor]]:
    weights = [getattr(self, name) for name in self.__weights__]
    data, sizes, order, back = input
    if hx is None:
        rows = self.num_layers * (2 if self.bidirectional else 1)
        count = int(sizes[0].item())
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        h = aten.zeros([rows, count, width], dtype=data.dtype, device=data.device)
        c = aten.zeros([rows, count, self.hidden_size], dtype=data.dtype, device=data.device)
    else:
        h, c = _sorted(hx[0], order), _sorted(hx[1], order)
    out, h, c = aten.lstm(
        data, sizes, [h, c], weights, self.bias, self.num_layers, float(self.dropout),
        self.training, self.bidirectional,
    )  # fmt: skip
    return PackedSequence(out, sizes, order, back), (_sorted(h, back), _sorted(c, back))


@_layer(nn.GRU)
def _gru(self, input: PackedSequence, hx: Optional[Tensor] = None) -> Tuple[PackedSequence, Tensor]:
    weights = [getattr(self, name) for name in self.__weights__]
    data, sizes, order, back = input
    rows = self.num_layers * (2 if self.bidirectional else 1)
    h = _first_state(hx, rows, self.hidden_size, data, sizes, order)
    out, h = aten.gru(
        data, sizes, h, weights, self.bias, self.num_layers, float(self.dropout),
        self.training, self.bidirectional,
    )  # fmt: skip
    return PackedSequence(out, sizes, order, back), _sorted(h, back)


@_layer(nn.RNN)
def _rnn(self, input: PackedSequence, hx: Optional[Tensor] = None) -> Tuple[PackedSequence, Tensor]:
    weights = [getattr(self, name) for name in self.__weights__]
    data, sizes, order, back = input
    rows = self.num_layers * (2 if self.bidirectional else 1)
    h = _first_state(hx, rows, self.hidden_size, data, sizes, order)
    if self.nonlinearity == "tanh":
        out, h = aten.rnn_tanh(
            data, sizes, h, weights, self.bias, self.num_layers, float(self.dropout),
            self.training, self.bidirectional,
        )  # fmt: skip
    else:
        out, h = aten.rnn_relu(
            data, sizes, h, weights, self.bias, self.num_layers, float(self.dropout),
            self.training, self.bidirectional,
        )  # fmt: skip
    return PackedSequence(out, sizes, order, back), _sorted(h, back)
