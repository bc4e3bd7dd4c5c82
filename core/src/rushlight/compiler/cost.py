"""How much work a program is per element: decides when a call is shared among threads."""

from __future__ import annotations

from rushlight.compiler.graph import topological

CHEAP_LIMIT, MODERATE_LIMIT, LEAST = 32768, 16384, 1024  # elements
# In units of one exp; everything else is cheap.
HEAVY = {name: 1 for name in "exp exp2 expm1 log log2 log10 log1p tanh erf".split()}
HEAVY |= {name: 2 for name in "sin cos erfinv power floor_divide remainder fmod".split()}
HEAVY |= {
    name: 8
    for name in (
        "tan asin acos atan atan2 sinh cosh asinh acosh atanh erfc lgamma digamma hypot"
    ).split()
}


def inline_limit(program) -> int:
    """Elements up to which one thread does the call: a function of the program alone."""
    work = sum(HEAVY.get(e.op, 0) for e in topological([e for e, _ in program.outputs]))
    if work == 0:
        return CHEAP_LIMIT
    return max(LEAST, MODERATE_LIMIT // max(1, work // 2))
