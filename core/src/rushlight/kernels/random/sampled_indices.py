"""Indices drawn from rows of probabilities: the NumPy side of `multinomial`."""

from __future__ import annotations

from rushlight.kernels.scan_sort import search
from rushlight.machine import np

__all__ = ["check", "largest", "with_replacement"]


def check(rows):
    """Refuse rows that are no distributions. A minimum and sums tell of nearly all others: a nan
    makes both of them nan."""
    if rows.size and np.minimum.reduce(rows, None) >= 0:
        totals = np.add.reduce(rows, 1)
        if np.minimum.reduce(totals) > 0 and np.maximum.reduce(totals) < np.inf:
            return
    if rows.size and ((rows < 0).any() or not np.isfinite(rows).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (rows.sum(1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def largest(rows, count):
    """Indices of the largest values of each row, falling."""
    if count == 1:
        return rows.argmax(1)[:, None]
    if type(rows) is not np.ndarray or 4 * count > rows.shape[1]:
        return np.argsort(-rows, axis=1, kind="stable")[:, :count]
    chosen = np.argpartition(rows, rows.shape[1] - count, axis=1)[:, -count:]
    order = np.argsort(-np.take_along_axis(rows, chosen, 1), axis=1)
    return np.take_along_axis(chosen, order, 1)


def with_replacement(engine, rows, count):
    """Indices drawn with the (unnormalised) probabilities of each row, `count` of each."""
    cumulative = rows.cumsum(1)
    cumulative = cumulative / cumulative[:, -1:]
    draws = engine.uniform(len(rows) * count, True).reshape(len(rows), count)
    if type(rows) is np.ndarray:
        found = search.places(cumulative, draws, False)
        if found is not None:
            return found
    if type(rows) is not np.ndarray:  # how many of the running sums are below a draw
        return (cumulative[:, None] < draws[..., None]).sum(2)
    found = [np.searchsorted(c, d) for c, d in zip(cumulative, draws, strict=True)]
    return np.stack(found) if found else np.empty((0, count), np.int64)
