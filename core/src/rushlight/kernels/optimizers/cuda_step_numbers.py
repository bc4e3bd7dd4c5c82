"""Steps counted on the device, and the numbers that follow from them: one launch for all of them.

With ``capturable`` the counters (and scalars such as NAdam's product of momenta) are on the device,
so that a captured step counts too. One thread per parameter adds one and evaluates the formulas of
:mod:`rushlight.kernels.optimizers.step_formulas`, printed in double precision.
"""

from __future__ import annotations

import ctypes
import functools

from rushlight.compiler.cuda.language_text import argument_names, device_function
from rushlight.kernels.launch.cuda import constant, empty, launch
from rushlight.kernels.optimizers.step_formulas import NUMBERS
from rushlight.machine import np
from rushlight.machine.cuda import runtime, sources

__all__ = ["count", "numbers_of"]

MOST_SETTINGS = 6
THREADS = 128
# How many numbers a formula gives.
RESULTS = {"count": 0, "adagrad": 1, "adamax": 1, "nadam": 3, "radam": 2, "asgd": 3}

_TEXT = """\
#include "common.cuh"

struct Settings {{ double value[{most}]; }};

{formulas}
// A row of the table: whose numbers these are, the addresses of the step and of scalars of a state.
extern "C" __global__ void __launch_bounds__({threads}, 1)
prepare(const i64* table, i64 rows, Settings s, double* numbers) {{
  i64 row = global_thread();
  if (row >= rows) return;
  const i64* at = table + row * {width};
  double* to = numbers + at[0] * {count};
  S* counter = (S*)at[1];
  double step = (double)((S)(*counter + (S)1));
  *counter = (S)step;
{loads}
{calls}
}}
"""


class Settings(ctypes.Structure):
    """The settings of a group, in the order of the formulas' arguments."""

    _fields_ = (("value", ctypes.c_double * MOST_SETTINGS),)


def _calls(numbers, count):
    """The text of the calls of an optimizer's formulas."""
    given = [f"s.value[{i}]" for i in range(MOST_SETTINGS)]
    states = [f"state_{i}" for i in range(numbers.states)]
    lines = []

    def call(formula, results):
        settings = len(argument_names(formula)) - 1 - len(states)
        arguments = ["step", *states, *given[:settings]]
        if len(results) == 1:
            lines.append(f"  {results[0]} = {formula.__name__}({', '.join(arguments)});")
        else:
            lines.append(f"  {formula.__name__}({', '.join((*arguments, *results))});")

    def update(formula):
        if formula is not None:
            new = [f"new_{i}" for i in range(len(states))]
            lines.append(f"  double {', '.join(new)};")
            call(formula, new)
            for i, (state, value) in enumerate(zip(states, new, strict=True)):
                lines.append(f"  *place_{i} = (T)(T_wide){value};")
                lines.append(f"  {state} = (double)(T_wide)*place_{i};")

    update(numbers.before)
    if numbers.formula is not None:
        call(numbers.formula, [f"to[{i}]" for i in range(count)])
    update(numbers.after)
    return "\n".join(lines)


@functools.cache
def text(name, step_dtype, state_dtype):
    """The kernel of an optimizer for these dtypes of its counters and of its other scalars."""
    numbers = NUMBERS[name]
    formulas = [f for f in (numbers.before, numbers.formula, numbers.after) if f is not None]
    printed = {}
    for formula in formulas:
        for part in device_function(formula, "double", {}).split("static __device__")[1:]:
            printed[part] = "static __device__" + part
    body = _TEXT.format(
        most=MOST_SETTINGS,
        threads=THREADS,
        width=2 + numbers.states,
        count=RESULTS[name],
        formulas="".join(printed.values()),
        loads="\n".join(
            f"  T* place_{i} = (T*)at[{i + 2}];\n  double state_{i} = (double)(T_wide)*place_{i};"
            for i in range(numbers.states)
        ),
        calls=_calls(numbers, RESULTS[name]),
    )
    return sources.assembled(body, (("T", state_dtype), ("S", step_dtype)))


_kernels: dict = {}


def _kernel(*key):
    current = runtime.current()
    found = _kernels.get((current.name, key))
    if found is None:
        found = _kernels[current.name, key] = current.load(text(*key)).kernel("prepare")
    return found


class OwnNumbers:
    """Rows of numbers, one for each of `rows` parameters, in an array on every device."""

    def __init__(self, rows, count):
        self.rows, self.count, self.arrays = rows, count, {}

    def __len__(self):
        return self.rows

    def address(self, device):
        """Where the rows are on a device; only those of its own parameters are filled."""
        if device not in self.arrays:
            shape = (self.rows, self.count)
            self.arrays[device] = empty(shape, np.dtype(np.float64), device)
        return self.arrays[device].address


def numbers_of(name, steps, states, settings):
    """Count `steps` on and evaluate the numbers of each parameter, as :class:`OwnNumbers`.

    `steps` are scalars on a device, `states` lists of such scalars (written where the optimizer
    keeps them), `settings` the numbers that its formulas take last. One launch for each device
    and dtypes of scalars.
    """
    groups = {}
    for row, scalars in enumerate(zip(steps, *states, strict=True)):
        key = (scalars[0].device, *(scalar.dtype for scalar in scalars))
        groups.setdefault(key, []).append((row, *(scalar.address for scalar in scalars)))
    found = OwnNumbers(len(steps), RESULTS[name])
    by_value = Settings(tuple(map(float, settings)))
    for (device, step_dtype, *state_dtypes), rows in groups.items():
        if len(set(state_dtypes)) > 1:
            raise TypeError(
                f"{name}: the scalars in a parameter's state must have one dtype, got "
                f"{', '.join(map(str, state_dtypes))}"
            )
        table = constant(np.array(rows, np.int64), device)
        kernel = _kernel(name, step_dtype, *(state_dtypes[:1] or (np.dtype(np.float32),)))
        arguments = (table.address, len(rows), by_value, found.address(device))
        launch(kernel, -(-len(rows) // THREADS), THREADS, arguments, device)
    return found


def count(steps):
    """Add one to scalars on the device, one launch for each device and dtype."""
    numbers_of("count", steps, (), ())


def listing():
    """(name, text) of every kernel of this module."""
    for name in NUMBERS:
        for word in ("float32", "float64"):
            dtype = np.dtype(word)
            yield f"adaptive_steps[numbers {name} T={word}]", text(name, dtype, dtype)
