"""Sizes of captured programs: what is known of them, and errors of programs that ask for more.

Sizes are Python's numbers here, in captures too: a capture is made at several sizes. Only numbers
that a program reads from tensors are more than that, and comparisons of these.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from rushlight._dynamo.exc import UserError
from rushlight.fx.experimental.size_questions import (
    SymTypes,
    cast_symbool_to_symint_guardless,
    check_consistent,
    constrain_range,
    constrain_unify,
    expect_true,
    fx_placeholder_targets,
    fx_placeholder_vals,
    guard_bool,
    guard_float,
    guard_int,
    guard_scalar,
    guarding_hint_or_throw,
    has_guarding_hint,
    has_static_value,
    has_symbolic_sizes_strides,
    is_concrete_float,
    is_nested_int,
    is_symbolic,
    py_sym_types,
    sym_and,
    sym_eq,
    sym_or,
)
from rushlight.refusals import rest_of
from rushlight.symbolic_numbers import SymBool, SymFloat, SymInt

IntLike, FloatLike, BoolLike = (int, SymInt), (float, SymFloat), (bool, SymBool)


class GuardOnDataDependentSymNode(RuntimeError):  # noqa: N818 - PyTorch's name
    """What a program does depends on the elements of a tensor."""


class ConstraintViolationError(UserError):
    """A size that was said to differ from call to call cannot."""


class DimDynamic(Enum):
    """How a size is captured: as a symbol of its own, as one with all equal sizes, fixed, as a
    number that depends on values, or a stride that follows the sizes."""

    DYNAMIC, DUCK, STATIC, UNBACKED, INFER_STRIDE = range(5)


@dataclass(frozen=True)
class Constraint:
    """Something that is said of a size; `warn_only`: whether breaking it is only a warning."""

    warn_only: bool


@dataclass(frozen=True)
class RelaxedUnspecConstraint(Constraint):
    """A size that may be fixed by what the program does, but not without need."""


@dataclass(frozen=True)
class SymbolicContext:
    """What is asked of the sizes of an input."""


@dataclass(frozen=True)
class StatelessSymbolicContext(SymbolicContext):
    """What is asked of each size of a tensor: a :class:`DimDynamic`, and a constraint or None."""

    dynamic_sizes: Any
    dynamic_strides: Any = None
    constraint_sizes: Any = None
    constraint_strides: Any = None
    specialize_on: Any = None
    view_base_context: Any = None

    def __post_init__(self):
        count = len(self.dynamic_sizes)
        for name, default in (
            ("dynamic_strides", DimDynamic.INFER_STRIDE), ("constraint_sizes", None),
            ("constraint_strides", None), ("specialize_on", ()),
        ):  # fmt: skip
            if getattr(self, name) is None:
                object.__setattr__(self, name, [default] * count)


@dataclass(frozen=True)
class ShapeGuard:
    """Something that a capture took for granted of sizes; `expr` is its text."""

    expr: str


@dataclass
class ShapeEnv:
    """The symbols of a capture: their values and ranges, and what it took for granted.

    ``make_fx(f, tracing_mode="symbolic")`` leaves one as ``shape_env`` of its module.
    """

    var_to_val: dict = field(default_factory=dict)
    var_to_range: dict = field(default_factory=dict)
    guards: list = field(default_factory=list)
    deferred_runtime_asserts: list = field(default_factory=list)
    _checks: list = field(default_factory=list, repr=False)

    def guard(self, kind, name, value):
        """Note that a symbol is equal to a number, or not less."""
        text = f"Eq({name}, {value})" if kind == "Eq" else f"{name} {kind} {value}"
        self.guards.append(ShapeGuard(text))
        self._checks.append((name, operator.eq if kind == "Eq" else operator.ge, value))

    def deferred(self, kind, left, right):
        """Note what the program itself checks when it runs."""
        self.deferred_runtime_asserts.append((kind, left, right))

    def format_guards(self) -> str:
        """The guards, one a line."""
        return "\n".join(f" - {guard.expr}" for guard in self.guards)

    def evaluate_guards(self, values: dict) -> bool:
        """Whether the guards hold for values of the symbols, by name."""
        return all(check(values[name], value) for name, check, value in self._checks)


def statically_known_true(x) -> bool:
    """Whether a comparison is true for all values that its numbers may have."""
    return x if isinstance(x, bool) else bool(x.draws.decided(x))


def statically_known_false(x) -> bool:
    """Whether a comparison is false for all values that its numbers may have."""
    return not x if isinstance(x, bool) else x.draws.decided(x) is False


def guard_or_false(a) -> bool:
    """A comparison, or False where it depends on values."""
    return statically_known_true(a)


def guard_or_true(a) -> bool:
    """A comparison, or True where it depends on values."""
    return not statically_known_false(a)


def guard_size_oblivious(expr) -> bool:
    """A comparison of sizes; of sizes that depend on values, as for sizes other than 0 and 1."""
    if isinstance(expr, bool):
        return expr
    return expr.draws.decided(expr, least=2) is True


def is_concrete_int(a) -> bool:
    """Whether a number is known while a program is captured."""
    return not hasattr(a, "expression")


def is_concrete_bool(a) -> bool:
    """Whether the truth of a comparison is known while a program is captured."""
    return isinstance(a, bool) or a.draws.decided(a) is not None


def hint_int(a, fallback: int | None = None) -> int:
    """The value of a size in the capture; of one that depends on values, `fallback`.

    Raises GuardOnDataDependentSymNode without one.
    """
    if is_concrete_int(a) or not a.expression.depends_on_values():
        return int(a)
    if fallback is None:
        raise GuardOnDataDependentSymNode(
            f"hint_int(): {a.expression} depends on values and has no example; give a fallback"
        )
    return fallback


def free_symbols(val) -> set:
    """The names of the symbols in a number, a shape, a tensor of a capture or a list of these."""
    if val is None:
        return set()
    if isinstance(val, tuple | list):
        return {name for item in val for name in free_symbols(item)}
    if hasattr(val, "shape"):
        return free_symbols(tuple(val.shape))
    found = getattr(val, "expression", val)
    return set(found.symbols()) if hasattr(found, "symbols") else set()


def has_free_symbols(val) -> bool:
    """Whether there are symbols in it."""
    return bool(free_symbols(val))


def optimization_hint(a, fallback: int | None = None) -> int:
    """:func:`hint_int`, for choices that change no result."""
    return hint_int(a, fallback)


def has_free_unbacked_symbols(x) -> bool:
    """Whether there are symbols in it that depend on values."""
    return bool(free_unbacked_symbols(x))


def free_unbacked_symbols(val) -> set:
    """The names of the symbols in it that depend on values."""
    return {name for name in free_symbols(val) if name[0] == "u" and name[1:].isdigit()}


__getattr__ = rest_of(__name__)
__all__ = [
    "BoolLike",
    "Constraint",
    "ConstraintViolationError",
    "DimDynamic",
    "FloatLike",
    "GuardOnDataDependentSymNode",
    "IntLike",
    "RelaxedUnspecConstraint",
    "ShapeEnv",
    "StatelessSymbolicContext",
    "SymTypes",
    "SymbolicContext",
    "cast_symbool_to_symint_guardless",
    "check_consistent",
    "constrain_range",
    "constrain_unify",
    "expect_true",
    "free_symbols",
    "fx_placeholder_targets",
    "fx_placeholder_vals",
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_scalar",
    "guard_size_oblivious",
    "guarding_hint_or_throw",
    "has_free_symbols",
    "has_free_unbacked_symbols",
    "has_guarding_hint",
    "has_static_value",
    "has_symbolic_sizes_strides",
    "hint_int",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "is_nested_int",
    "is_symbolic",
    "optimization_hint",
    "py_sym_types",
    "statically_known_false",
    "statically_known_true",
    "sym_and",
    "sym_eq",
    "sym_or",
]
