"""Functions on lists of tokens and ids, and on tensors of ids; the transforms are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
import rushlight.nn.functional as F

__all__ = ["add_token", "pad", "pad_sequence", "str_to_int", "to_tensor", "truncate"]


def pad_sequence(
    sequences: Sequence[rl.Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> rl.Tensor:
    """Stack tensors ``[L_i, *]`` of different lengths into ``[T, B, *]``, the short ones padded.

    Args:
        sequences: tensors that agree in all but the first size, and in dtype.
        batch_first: give ``[B, T, *]``.
        padding_value: what fills the places after the end.
        padding_side: ``"right"`` or ``"left"``.

    Raises:
        ValueError: no sequence, an unknown side, or sizes after the first that differ.
    """
    if padding_side not in ("left", "right"):
        raise ValueError(
            f"pad_sequence(): padding_side must be 'left' or 'right', got {padding_side!r}"
        )
    if len(sequences) == 0:
        raise ValueError("pad_sequence(): received an empty list of sequences")
    first = sequences[0]
    for place, sequence in enumerate(sequences):
        if sequence.dim() == 0 or sequence.shape[1:] != first.shape[1:]:
            raise ValueError(
                "pad_sequence(): sequences must agree in all sizes after the first; sequence 0 "
                f"has shape {list(first.shape)}, sequence {place} has {list(sequence.shape)}"
            )
    longest = max(sequence.shape[0] for sequence in sequences)
    rest = [0, 0] * (first.dim() - 1)
    padded = []
    for sequence in sequences:
        missing = longest - sequence.shape[0]
        amount = [missing, 0] if padding_side == "left" else [0, missing]
        padded.append(F.pad(sequence, rest + amount, value=padding_value) if missing else sequence)
    return rl.stack(padded, dim=0 if batch_first else 1)


def to_tensor(
    input: list[int] | list[list[int]],
    padding_value: int | None = None,
    dtype: rl.dtype = rl.long,
) -> rl.Tensor:
    """Ids as a tensor: ``[T]`` of a list, ``[B, T]`` of a list of lists, the short ones padded.

    Without a `padding_value` the lists must be equally long.
    """
    if not _is_batch(input):
        return rl.tensor(_ids("to_tensor", input), dtype=dtype)
    rows = [_ids("to_tensor", row) for row in input]
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        if padding_value is None:
            raise ValueError(
                f"to_tensor(): rows of different lengths ({lengths[0]} to {lengths[-1]}) need a "
                "padding_value"
            )
        rows = [row + [padding_value] * (lengths[-1] - len(row)) for row in rows]
    return rl.tensor(rows, dtype=dtype)


def truncate(input: list[Any], max_seq_len: int) -> list[Any]:
    """The first `max_seq_len` tokens or ids of a list, or of each list in a list of lists."""
    _require_list("truncate", input)
    if max_seq_len < 0:
        raise ValueError(f"truncate(): max_seq_len must not be negative, got {max_seq_len}")
    if _is_batch(input):
        return [row[:max_seq_len] for row in input]
    return input[:max_seq_len]


def add_token(input: list[Any], token_id: str | int, begin: bool = True) -> list[Any]:
    """The list, or each list of a list of lists, with a token or id before it or after it."""
    _require_list("add_token", input)
    if _is_batch(input):
        return [add_token(row, token_id, begin) for row in input]
    return [token_id, *input] if begin else [*input, token_id]


def str_to_int(input: list[Any]) -> list[Any]:
    """The integers that strings spell, in a list or in a list of lists."""
    _require_list("str_to_int", input)
    if _is_batch(input):
        return [str_to_int(row) for row in input]
    return [int(text) for text in input]


def pad(input: rl.Tensor, max_length: int, pad_value: float) -> rl.Tensor:
    """A tensor ``[*, T]`` padded at its end to ``[*, max_length]``; a longer one is unchanged."""
    if not isinstance(input, rl.Tensor):
        raise TypeError(f"pad(): argument 'input' must be a tensor, not {type(input).__name__}")
    missing = max_length - input.shape[-1]
    return F.pad(input, (0, missing), value=pad_value) if missing > 0 else input


def _is_batch(input: Any) -> bool:
    return len(input) > 0 and isinstance(input[0], (list, tuple))


def _require_list(op: str, input: Any) -> None:
    if not isinstance(input, (list, tuple)):
        raise TypeError(
            f"{op}(): argument 'input' must be a list of tokens or ids, or a list of such lists, "
            f"not {type(input).__name__}"
        )


def _ids(op: str, row: Any) -> list[int]:
    _require_list(op, row)
    for index in row:
        if isinstance(index, str):
            raise TypeError(f"{op}(): expected integer ids, got the string {index!r}")
    return list(row)
