"""Collate functions: lists of (ids, label) to the tensors that models of text take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import rushlight as rl
from rushlight_text.functional import pad_sequence

__all__ = ["collate_bags", "collate_padded", "pad_ids"]

Sample = tuple[Sequence[int] | rl.Tensor, int | float | rl.Tensor]


def collate_bags(samples: Sequence[Sample]) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
    """The form of `EmbeddingBag`: all ids in one row, and where each sample begins.

    Args:
        samples: pairs of ids (a list, or a tensor ``[T]``) and label; ids may be empty.

    Returns:
        ids ``[sum of T]`` int64, offsets ``[B]`` int64, labels ``[B]`` (int64, or float32 when
        they are floats).

    >>> collate_bags([([5, 6], 0), ([7], 1)])
    (tensor([5, 6, 7]), tensor([0, 2]), tensor([0, 1]))
    """
    rows = [_row("collate_bags", ids, place) for place, (ids, _) in enumerate(samples)]
    flat = [index for row in rows for index in row]
    starts = list(accumulate((len(row) for row in rows[:-1]), initial=0))
    return (
        rl.tensor(flat, dtype=rl.int64),
        rl.tensor(starts[: len(rows)], dtype=rl.int64),
        _labels(samples),
    )


def collate_padded(
    samples: Sequence[Sample], padding_value: int = 0, batch_first: bool = True
) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
    """The form of recurrent networks: rows padded to the longest, with their true lengths.

    Returns:
        ids ``[B, T]`` (``[T, B]`` without `batch_first`) int64, lengths ``[B]`` int64, labels
        ``[B]``.
    """
    rows = [_row("collate_padded", ids, place) for place, (ids, _) in enumerate(samples)]
    tensors = [rl.tensor(row, dtype=rl.int64) for row in rows]
    return (
        pad_sequence(tensors, batch_first, padding_value),
        rl.tensor([len(row) for row in rows], dtype=rl.int64),
        _labels(samples),
    )


def pad_ids(
    rows: Sequence[Sequence[int] | rl.Tensor],
    pad_id: int = 0,
    *,
    side: str = "right",
    multiple: int = 1,
    max_length: int | None = None,
) -> tuple[rl.Tensor, rl.Tensor]:
    """Ids ``[B, T]`` int64 and their mask, 1 at ids and 0 at padding: the form of transformers.

    Args:
        rows: lists of ids, or tensors ``[T]``.
        pad_id: id of padding.
        side: ``"right"``, or ``"left"`` for generation.
        multiple: make T a multiple of it.
        max_length: cut longer rows; at the end, or at the beginning with padding on the left.

    >>> pad_ids([[5, 6, 7], [8]], side="left")
    (tensor([[5, 6, 7],
            [0, 0, 8]]), tensor([[1, 1, 1],
            [0, 0, 1]]))
    """
    if side not in ("left", "right"):
        raise ValueError(f"pad_ids(): side must be 'left' or 'right', got {side!r}")
    if not len(rows):
        raise ValueError("pad_ids(): received an empty list of rows")
    listed = [_row("pad_ids", row, place) for place, row in enumerate(rows)]
    if max_length is not None:
        listed = [r[-max_length:] if side == "left" else r[:max_length] for r in listed]
    longest = -(-max(map(len, listed)) // multiple) * multiple
    ids, mask = [], []
    for row in listed:
        fill, zeros, ones = (
            [pad_id] * (longest - len(row)),
            [0] * (longest - len(row)),
            [1] * len(row),
        )
        ids.append([*fill, *row] if side == "left" else [*row, *fill])
        mask.append([*zeros, *ones] if side == "left" else [*ones, *zeros])
    return rl.tensor(ids, dtype=rl.int64), rl.tensor(mask, dtype=rl.int64)


def _row(op: str, ids: Sequence[int] | rl.Tensor, place: int) -> list[int]:
    if isinstance(ids, rl.Tensor):
        if ids.dim() != 1 or ids.is_floating_point():
            raise ValueError(
                f"{op}(): ids of sample {place} must be integers of shape [T], got "
                f"{ids.dtype} of shape {list(ids.shape)}"
            )
        return ids.tolist()
    if isinstance(ids, str) or any(isinstance(index, str) for index in ids):
        raise TypeError(f"{op}(): sample {place} holds text where integer ids are expected")
    return list(ids)


def _labels(samples: Sequence[Sample]) -> rl.Tensor:
    return rl.tensor(
        [label.item() if isinstance(label, rl.Tensor) else label for _, label in samples]
    )
