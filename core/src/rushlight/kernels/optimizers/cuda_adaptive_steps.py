"""Steps of the adaptive optimizers over lists of device arrays: one launch for all of them.

A step is that of :mod:`rushlight.kernels.optimizers.adaptive_steps`, arguments and all; its kernel
is printed
from the same formula, for each element type and choice of lists. Numbers come by value; where
arrays differ in numbers (parameters that joined later), they are in a table, one more launch.
"""

from __future__ import annotations

import ctypes
import functools

from rushlight.compiler.cuda.language_text import argument_names, device_function
from rushlight.kernels.launch.cuda import launch, write_words
from rushlight.kernels.optimizers import adaptive_steps
from rushlight.kernels.optimizers import cuda_step_numbers as step_numbers
from rushlight.kernels.optimizers.cuda_foreach import Lists, table_of
from rushlight.machine import np
from rushlight.machine.cuda import runtime, sources

__all__ = ["adadelta", "adagrad", "adamax", "asgd", "nadam", "radam", "rmsprop", "rprop"]

MOST_NUMBERS = 10
DTYPES = ("float32", "float64", "float16", "bfloat16")

_TEXT = """\
#include "common.cuh"
#include "lists.cuh"

struct Numbers {{ double value[{most}]; const double* own; }};

{formula}
extern "C" __global__ void __launch_bounds__(256, 1)
step(const i64* table, i64 rows, Numbers s) {{
  Part part = part_of(table, rows, {width});
  const double* own = s.own ? s.own + {own_count} * part.row[{width} - 1] : nullptr;
{numbers}
  for (i64 i = threadIdx.x; i < part.count; i += blockDim.x) {{
    A {results};
    {name}({arguments});
{stores}
  }}
}}
"""


class Numbers(ctypes.Structure):
    """The numbers of a step, as its kernel takes them by value: own ones first, then shared."""

    _fields_ = (("value", ctypes.c_double * MOST_NUMBERS), ("own", ctypes.c_void_p))


@functools.cache
def text(step, kind, own_count, dtype):
    """The kernel of a step; `kind` are the values of the formula's parameters, as pairs."""
    parameters = dict(kind)
    names = argument_names(step.element)
    lists, numbers = names[: step.lists], names[step.lists :]
    absent = {name for name, used in step.optional if not parameters[used]}
    present = [name for name in lists if name not in absent]
    written = [lists[0], *lists[2:]]
    loads = [f"(A)part.list({present.index(n)})[i]" if n in present else "(A)0" for n in lists]
    results = [f"new_{name}" for name in written]
    body = _TEXT.format(
        most=MOST_NUMBERS,
        formula=device_function(step.element, "A", parameters),
        width=len(present) + 3,
        own_count=own_count,
        numbers="\n".join(
            f"  A {name}_ = (A)(own ? own[{i}] : s.value[{i}]);"
            if i < own_count
            else f"  A {name}_ = (A)s.value[{i}];"
            for i, name in enumerate(numbers)
        ),
        results=", ".join(results),
        name=step.element.__name__,
        arguments=", ".join((*loads, *[f"{name}_" for name in numbers], *results)),
        stores="\n".join(
            f"    part.list({present.index(name)})[i] = (T)new_{name};"
            for name in written
            if name in present
        ),
    )
    return sources.assembled(body, (("T", np.dtype(dtype)),))


_kernels: dict = {}


def _kernel(*key):
    current = runtime.current()
    found = _kernels.get((current.name, key))
    if found is None:
        found = _kernels[current.name, key] = current.load(text(*key)).kernel("step")
    return found


def launch_step(step, kind, lists, own, shared):
    """One launch for the arrays of one dtype; see
    `rushlight.kernels.optimizers.adaptive_steps.launch_all`.

    ``own`` may be numbers on the device (`step_numbers.OwnNumbers`).
    """
    if not len(lists[0]):
        return
    prepared = Lists(lists, [number for number in range(len(lists)) if number != 1])
    on_device = type(own) is step_numbers.OwnNumbers
    sets = {} if on_device else {v: i for i, v in enumerate(dict.fromkeys(own or [()]))}
    first = (0.0,) * own.count if on_device else next(iter(sets))
    numbers = Numbers(value=(*map(float, first), *shared))
    for (dtype, device), rows in prepared.groups():
        table, blocks = table_of(
            [
                (
                    prepared.lists[0][row].size,
                    *[arrays[row].address for arrays in prepared.lists],
                    row if on_device else sets[own[row]] if own else 0,
                )
                for row in rows
            ],
            device,
        )
        if len(sets) > 1:
            held = write_words(np.array(list(sets), np.float64).reshape(-1).view(np.int64), device)
            numbers.own = held.address
        if on_device:
            numbers.own = own.address(device)
        kernel = _kernel(step, kind, len(first), dtype)
        launch(kernel, blocks, 256, (table.address, len(rows), numbers), device)
    prepared.write_back()


def listing():
    """(name, text) of every kernel of a step: to compile them ahead, or to check them."""
    yield from step_numbers.listing()
    for step in adaptive_steps.STEPS:
        names = [used for _, used in step.optional]
        for choice in range(1 << len(names)):
            kind = tuple((used, choice >> i & 1) for i, used in enumerate(names))
            for dtype in DTYPES:
                found = text(step, kind, step.own, sources.dtype_of(dtype))
                words = [step.element.__name__, *(f"{k}={v}" for k, v in kind), f"T={dtype}"]
                yield f"adaptive_steps[{' '.join(words)}]", found


def _on_device(function):
    return functools.partial(function.compiled, launch=launch_step)


adadelta = _on_device(adaptive_steps.adadelta)
adagrad = _on_device(adaptive_steps.adagrad)
adamax = _on_device(adaptive_steps.adamax)
asgd = _on_device(adaptive_steps.asgd)
nadam = _on_device(adaptive_steps.nadam)
radam = _on_device(adaptive_steps.radam)
rmsprop = _on_device(adaptive_steps.rmsprop)
rprop = _on_device(adaptive_steps.rprop)
