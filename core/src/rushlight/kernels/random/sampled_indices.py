"""Indices drawn from rows of probabilities: the NumPy side of `multinomial`."""

from __future__ import annotations

import ctypes

from rushlight.kernels.indexing.indices import failures
from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import Remembered
from rushlight.kernels.random import sampled_kernels as native
from rushlight.machine import np, threads

__all__ = ["check", "largest", "running_sums", "with_replacement"]

_plans = Remembered()


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
    if len(rows) == 1:  # without the cost of going along an axis
        row = rows[0]
        chosen = row.argpartition(row.size - count)[-count:]
        return chosen[(-row[chosen]).argsort()][None]
    chosen = np.argpartition(rows, rows.shape[1] - count, axis=1)[:, -count:]
    order = np.argsort(-np.take_along_axis(rows, chosen, 1), axis=1)
    return np.take_along_axis(chosen, order, 1)


def running_sums(rows):
    """The running sums of dense rows of probabilities, in their dtype; None for rows that
    :func:`check` has something to say about, and for those of the reference mode or a GPU."""
    if REFERENCE or type(rows) is not np.ndarray or rows.dtype not in COMPILED_DTYPES:
        return None
    if not rows.size or not rows.flags.c_contiguous:
        return None
    key = rows.shape, rows.dtype
    plan = _plans.get(key)
    if plan is None:
        (count, n), code = rows.shape, native.running_sums.address(real=language_type(rows.dtype))
        words = [0, 0, n, ctypes.addressof(failures)]
        plan = _plans.keep(key, threads.plan(code, count, chunk(count, 4 * n), words))
    sums, before = np.empty(rows.shape, rows.dtype), failures.value
    threads.run(plan, sums, rows)
    return sums if failures.value == before else None


def _searched(sums, draws):
    """How many of the shares of a row are below each of its draws."""
    key = sums.shape, draws.shape, sums.dtype
    plan = _plans.get(key)
    if plan is None:
        (rows, n), count = sums.shape, draws.shape[1]
        grain = chunk(rows, 16 * count * n.bit_length())
        code = native.search_sums.address(real=language_type(sums.dtype))
        plan = _plans.keep(key, threads.plan(code, rows, grain, [0, 0, 0, n, count]))
    found = np.empty(draws.shape, np.int64)
    threads.run(plan, found, sums, draws)
    return found


def with_replacement(engine, rows, count, sums=None):
    """Indices drawn with the (unnormalised) probabilities of each row, `count` of each; `sums` are
    what :func:`running_sums` gave."""
    if sums is not None:
        return _searched(sums, engine.uniform(len(sums) * count, True).reshape(len(sums), count))
    cumulative = rows.cumsum(1)
    cumulative = cumulative / cumulative[:, -1:]
    draws = engine.uniform(len(rows) * count, True).reshape(len(rows), count)
    if type(rows) is not np.ndarray:  # how many of the running sums are below a draw
        return (cumulative[:, None] < draws[..., None]).sum(2)
    found = [np.searchsorted(c, d) for c, d in zip(cumulative, draws, strict=True)]
    return np.stack(found) if found else np.empty((0, count), np.int64)
