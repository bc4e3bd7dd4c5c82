"""How much work a program is per element: decides when a call is shared among threads."""

from __future__ import annotations

from rushlight.compiler.graph import topological

CHEAP_LIMIT, MODERATE_LIMIT, LEAST = 32768, 16384, 1024  # elements
# Time per element in units of a float32 exp (0.2 ns on one core); what is not named is cheap.
UNITS = {
    1: "exp exp2 expm1 log log2 log10 log1p tanh erf sinh cosh asin acos sin cos tan atan",
    3: "asinh acosh atanh erfc erfinv atan2 hypot floor_divide remainder fmod",
    8: "power",
    12: "digamma lgamma trigamma",
}
WORK = {name: units for units, names in UNITS.items() for name in names.split()}
LIBRARY = {("power", "f64"): 60, ("lgamma", "f64"): 80}  # the C library's, lane by lane
INTEGER_POWER = 20  # lane by lane


def work(e) -> float:
    """Units of one node."""
    if e.op == "power" and e.dtype in ("i32", "i64"):
        return INTEGER_POWER
    units = WORK.get(e.op, 0)
    return LIBRARY.get((e.op, e.dtype), units * (2.5 if e.dtype == "f64" else 1))


def inline_limit(program) -> int:
    """Elements up to which one thread does the call: a function of the program alone."""
    units = sum(work(e) for e in topological([e for e, _ in program.outputs]))
    if units == 0:
        return CHEAP_LIMIT
    return max(LEAST, int(MODERATE_LIMIT / max(1, units / 2)) // LEAST * LEAST)
