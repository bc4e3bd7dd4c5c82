"""Resizing by the taps of :mod:`rushlight.kernels.resampling.taps`: forward and, with transposed
taps, backward."""

from __future__ import annotations

import math

from rushlight.kernels.launch.cuda import constant, empty, grid_of, launch
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = ["resample"]

TOGETHER = 16  # taps up to which all dims are mapped at once
_FLOAT32, _FLOAT64, _INT64 = map(np.dtype, (np.float32, np.float64, np.int64))


def _tables(taps, device):
    """Index and weight tables in device memory, or None."""
    if taps is None:
        return None, None
    index = constant(np.ascontiguousarray(taps.index, _INT64), device)
    if taps.weight is None:
        return index, None
    return index, constant(np.ascontiguousarray(taps.weight, _FLOAT64), device)


def _mapped(x, maps, dtype, rounds):
    """One launch: all dims by their maps (None keeps a dim)."""
    size = [1] * (3 - len(maps)) + list(x.shape[2:])
    maps = [None] * (3 - len(maps)) + list(maps)
    out = [n if taps is None else len(taps) for n, taps in zip(size, maps, strict=True)]
    tables = [_tables(taps, x.device) for taps in maps]
    result = empty((*x.shape[:2], *out[3 - (x.ndim - 2) :]), dtype, x.device)
    if result.size:
        words = np.array(
            [x.shape[0] * x.shape[1], *size, *out,
             *[1 if taps is None else taps.index.shape[1] for taps in maps],
             *[0 if index is None else index.address for index, _ in tables],
             *[0 if weight is None else weight.address for _, weight in tables], rounds],
            _INT64,
        )  # fmt: skip
        kernel = sources.kernel("resampling", "map_planes", T=x.dtype, D=dtype)
        arguments = (x.address, result.address, words)
        launch(kernel, grid_of(result.size, x.device), 256, arguments, x.device)
    return result


def resample(input, maps):
    """(N, C, ...) with each spatial dimension mapped by its taps (None keeps a dimension).

    Low precision is computed in float32 and rounded once; uint8 is rounded to the nearest.
    """
    x, dtype = input.contiguous(), input.dtype
    moves = all(taps is None or taps.weight is None for taps in maps)
    rounds = dtype.kind == "u" and not moves
    used = [axis for axis, taps in enumerate(maps) if taps is not None]
    taps = math.prod(maps[axis].index.shape[1] for axis in used)
    if moves or taps <= TOGETHER or len(used) < 2:
        return _mapped(x, maps, dtype, rounds)
    wide = _FLOAT64 if dtype == _FLOAT64 else _FLOAT32
    for axis in used:
        last = axis == used[-1]
        only = [m if i == axis else None for i, m in enumerate(maps)]
        x = _mapped(x, only, dtype if last else wide, rounds and last)
    return x
