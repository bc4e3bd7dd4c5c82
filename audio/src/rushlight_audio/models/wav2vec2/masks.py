"""Random spans that are masked in training: the same ones as torchaudio's from the same seed."""

from __future__ import annotations

import rushlight as rl

__all__ = ["mask_indices"]

KINDS = ("static", "uniform", "normal")


def mask_indices(
    shape: tuple[int, int],
    padding_mask: rl.Tensor | None,
    mask_prob: float,
    mask_length: int,
    mask_type: str = "static",
    mask_other: float = 0.0,
    min_masks: int = 0,
    no_overlap: bool = False,
    min_space: int = 0,
) -> rl.Tensor:
    """Where a span covers a position, ``[B, T]``, as many positions in each row.

    Args:
        shape: B and T.
        padding_mask: true at padding, ``[B, T]``.
        mask_prob: chance of a position to be in a span, if spans did not overlap.
        mask_length: positions of a span.
        mask_type: ``"static"``, ``"uniform"`` (between `mask_other` and twice `mask_length`) or
            ``"normal"`` (deviation `mask_other`).
        mask_other: see `mask_type`.
        min_masks: least number of spans.
        no_overlap: spans do not overlap.
        min_space: between spans that do not overlap.
    """
    if mask_type not in KINDS:
        error = NotImplementedError if mask_type == "poisson" else ValueError
        raise error(f"mask selection is one of {', '.join(KINDS)}, got {mask_type!r}")
    batch, frames = shape
    count = _count(mask_prob * frames / mask_length, min_masks)
    rows: list[list[int]] = []
    for row in range(batch):
        size = frames
        if padding_mask is not None:
            size = frames - int(padding_mask[row].sum())
            count = _count(mask_prob * size / mask_length, min_masks)
        lengths = _lengths(count, mask_length, mask_type, mask_other)
        if not lengths:
            rows.append([])
            continue
        if sum(lengths) == 0:
            lengths[0] = min(mask_length, size - 1)
        if no_overlap:
            covered = _apart(size, lengths, min_space)
        else:
            covered = _anywhere(size, lengths)
        rows.append(sorted({each for each in covered if each < size}))
    return _even(rows, shape)


def _count(expected: float, least: int) -> int:
    """A number of spans, rounded at random."""
    return max(least, int(expected + rl.rand(1).item()))


def _lengths(count: int, length: int, kind: str, other: float) -> list[int]:
    """Lengths of `count` spans."""
    if kind == "static":
        return [length] * count
    if kind == "uniform":
        return rl.randint(int(other), length * 2 + 1, size=(count,)).tolist()
    drawn = rl.normal(float(length), other, size=(count,))
    return rl.maximum(rl.ones(1), drawn.round()).to(rl.int64).tolist()


def _anywhere(size: int, lengths: list[int]) -> list[int]:
    """Positions of spans that may overlap."""
    shortest = min(lengths)
    if size - shortest <= len(lengths):
        shortest = size - len(lengths) - 1
    starts = rl.randperm(size - shortest)[: len(lengths)].tolist()
    spans = zip(starts, lengths[: len(starts)], strict=True)
    return [start + offset for start, length in spans for offset in range(length)]


def _apart(size: int, lengths: list[int], min_space: int) -> list[int]:
    """Positions of spans that do not overlap: the longest first, each in a free part that is drawn
    by its length."""
    parts, shortest = [(0, size)], min(lengths)
    covered: list[int] = []
    for length in sorted(lengths, reverse=True):
        sizes = rl.tensor([end - start for start, end in parts])
        sizes = sizes.masked_fill(sizes < length + min_space, 0)
        if int(sizes.sum()) == 0:
            break
        chosen = int(rl.distributions.Categorical(sizes / sizes.sum()).sample())
        start, end = parts.pop(chosen)
        first = int(rl.randint(start, end - length, size=(1,)))
        covered += range(first, first + length)
        if first - start - min_space >= shortest:
            parts.append((start, first - min_space + 1))
        if end - first - shortest - min_space > shortest:
            parts.append((first + length + min_space, end))
    return covered


def _even(rows: list[list[int]], shape: tuple[int, int]) -> rl.Tensor:
    """A mask with as many positions in each row as the row with the fewest has."""
    mask = rl.zeros(shape, dtype=rl.bool)
    fewest = min(len(row) for row in rows)
    for number, row in enumerate(rows):
        positions = rl.tensor(row, dtype=rl.int64)
        if len(row) > fewest:
            positions = positions[rl.randperm(len(row))[:fewest]]
        mask[number, positions] = True
    return mask
