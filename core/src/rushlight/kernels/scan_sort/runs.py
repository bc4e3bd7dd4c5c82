"""Runs of equal elements of a row."""

from __future__ import annotations

import importlib

from rushlight.kernels.launch.execution import ORDERED_TYPES, REFERENCE
from rushlight.kernels.launch.prepared import Remembered
from rushlight.machine import np, threads

__all__ = ["runs"]

_plans = Remembered()  # by dtype and what is wanted; the sizes are given to each call


def runs(row, numbered, measured):
    """``(values, numbers or None, lengths or None)`` of the runs of a dense row of one dimension:
    their first elements, the run of each element and how many each has, where wanted. None where
    that is left to NumPy: dtypes other than float32, float64, int32 and int64, no elements."""
    name = row.dtype.str[1:]
    if REFERENCE or name not in ORDERED_TYPES or not row.dtype.isnative or not row.size:
        return None
    if not row.flags.c_contiguous or not row.flags.aligned:
        return None
    n, count = row.size, np.empty(1, np.int64)
    values = np.empty(n, row.dtype)
    numbers = np.empty(n if numbered else 1, np.int64)
    lengths = np.empty(n if measured else 1, np.int64)
    plan = _plan(row.dtype, n, int(numbered), int(measured))
    threads.run(plan, count, values, numbers, lengths, row)
    found = int(count[0])
    return (
        _cut(values, found),
        numbers if numbered else None,
        _cut(lengths, found) if measured else None,
    )


def _cut(array, count):
    """The first elements; the memory of many others is given back."""
    return array if count == array.size else array[:count].copy()


def _plan(dtype, n, numbered, measured):
    key = dtype, n, numbered, measured
    plan = _plans.get(key)
    if plan is None:
        native = importlib.import_module("rushlight.kernels.scan_sort.run_kernels")
        language = importlib.import_module("rushlight.machine.language.functions")
        element = getattr(language, ORDERED_TYPES[dtype.str[1:]])
        code = native.runs.address(
            element=element, width=dtype.itemsize, numbered=numbered, measured=measured
        )
        plan = _plans.keep(key, threads.plan(code, 1, 1, [0, 0, 0, 0, 0, n]))
    return plan
