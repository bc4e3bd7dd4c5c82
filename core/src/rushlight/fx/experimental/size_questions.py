"""What programs ask of sizes and conditions that may be known only when a capture runs.

Guards on what depends on values raise GuardOnDataDependentSymNode, unless the program has said by
:func:`rushlight._check` or :func:`constrain_range` what it is.
"""

from __future__ import annotations

import numbers

import rushlight
from rushlight.symbolic_numbers import SymBool, SymFloat, SymInt
from rushlight.tensor.tensor import Tensor

SymTypes = py_sym_types = (SymInt, SymFloat, SymBool)


def is_symbolic(val) -> bool:
    """Whether a number or condition is known only when the capture runs.

    >>> from rushlight.fx.experimental.symbolic_shapes import is_symbolic
    >>> is_symbolic(3)
    False
    """
    return hasattr(val, "expression") or hasattr(val, "draws")


def is_concrete_float(a) -> bool:
    """Whether a float is known while a program is captured.

    Raises AssertionError for what is no float.
    """
    if is_symbolic(a):
        return False
    if type(a) is not float:
        raise AssertionError(f"is_concrete_float(): expected a float, got {type(a)}")
    return True


def is_nested_int(s) -> bool:
    """Whether a size stands for lengths that differ, as those of nested tensors: none does here."""
    return False


def _guard(name, kind, value):
    """A value of one type, that of a capture as it decides; AssertionError for another type."""
    if is_symbolic(value):
        if kind is bool:
            return value.decided()
        plain = kind.__pos__(value)
        (value == plain).decided()  # raises where other values are possible
        return plain
    if type(value) is not kind:
        raise AssertionError(f"{name}(): Expected {kind.__name__}, got {value}")
    return value


def guard_int(a) -> int:
    """An int; of a capture's one that has one possible value, that."""
    return _guard("guard_int", int, a)


def guard_float(a) -> float:
    """A float; of a capture's one that has one possible value, that."""
    return _guard("guard_float", float, a)


def guard_bool(a) -> bool:
    """A bool; of a condition that is decided for all values, its truth."""
    return _guard("guard_bool", bool, a)


def guard_scalar(a):
    """A bool, int or float, as the function of its type gives it.

    Raises AssertionError for what is none.

    >>> from rushlight.fx.experimental.symbolic_shapes import guard_scalar
    >>> guard_scalar(2.5)
    2.5
    """
    for kind, guard in ((bool, guard_bool), (int, guard_int), (float, guard_float)):
        if isinstance(a, kind) or kind is bool and hasattr(a, "draws") and not _is_number(a):
            return guard(a)
    raise AssertionError(f"unrecognized scalar {a}")


def _is_number(value):
    return isinstance(value, numbers.Number)


def has_static_value(a) -> bool:
    """Whether the value of a number is known whatever the inputs of a capture are.

    Raises AssertionError for what is no number.
    """
    if is_symbolic(a):
        return not _is_number(a) and a.draws.decided(a) is not None
    if not isinstance(a, bool | int | float):
        raise AssertionError(f"has_static_value(): expected a number, got {type(a)}")
    return True


def has_guarding_hint(a) -> bool:
    """Whether there is an example of a number: of all but those that depend on values."""
    return not is_symbolic(a)


def guarding_hint_or_throw(a):
    """The example of a number; raises as :func:`guard_int` does where there is none."""
    return guard_scalar(a)


def sym_eq(x, y):
    """Whether two sizes, or tuples or lists of sizes, are equal: a condition where one depends on
    values. A list and a tuple are equal if their sizes are.

    Raises AssertionError for what are no sizes.

    >>> from rushlight.fx.experimental.symbolic_shapes import sym_eq
    >>> sym_eq((1, 2), [1, 2]), sym_eq((1,), (1, 2))
    (True, False)
    """
    if isinstance(x, tuple | list) and isinstance(y, tuple | list):
        if len(x) != len(y):
            return False
        return sym_and(True, *map(sym_eq, x, y))
    if isinstance(x, int) and isinstance(y, int):
        return x == y
    raise AssertionError(f"unexpected sym_eq between {type(x)} {type(y)}")


def sym_and(x, *others):
    """All of the conditions; of those that depend on values, one may be left that is not decided.

    Raises NotImplementedError for several of these.
    """
    return _joined("sym_and", True, (x, *others))


def sym_or(x, *others):
    """One or more of the conditions; of those that depend on values, one may be left that is not
    decided.

    Raises NotImplementedError for several of these.
    """
    return _joined("sym_or", False, (x, *others))


def _joined(name, neutral, conditions):
    """Conditions as one, where `neutral` is the truth that changes nothing."""
    result, left = neutral, []
    for each in conditions:
        known = each.draws.decided(each) if is_symbolic(each) else each
        if known is None:
            left.append(each)
        elif bool(known) is not neutral:
            return known
        else:
            result = known
    if len(left) > 1:
        texts = ", ".join(map(str, left))
        raise NotImplementedError(
            f"{name}(): {texts} depend on values, all of them; say each by rushlight._check, or "
            "choose with rushlight.cond or rushlight.where"
        )
    return left[0] if left else result


def expect_true(a, skip: int = 0) -> bool:
    """The truth of a condition; one that depends on values is checked when the capture runs.

    `skip` counts callers that messages leave out, and has no effect.
    """
    if is_symbolic(a):
        rushlight._check(a)
        return True
    return bool(a)


def check_consistent(new, old) -> None:
    """Raise RuntimeError unless two tensors have one shape, or two numbers are equal."""
    if isinstance(new, Tensor):
        if not isinstance(old, Tensor):
            raise AssertionError(f"check_consistent(): expected a tensor, got {type(old)}")
        new, old = new.shape, old.shape
    elif not (_is_number(new) and _is_number(old)):
        return
    if not expect_true(sym_eq(tuple(new), tuple(old)) if isinstance(new, tuple) else new == old):
        raise RuntimeError(f"{new} != {old} (old != new)")


def constrain_range(a, *, min: int | None, max: int | None = None) -> None:  # noqa: A002
    """Say between which bounds, both included, a number is; None is no bound.

    Raises ValueError for one that does not, RuntimeError when the capture runs for one that depends
    on values.

    >>> from rushlight.fx.experimental.symbolic_shapes import constrain_range
    >>> constrain_range(3, min=2, max=5)
    """
    for bound, holds in ((min, lambda: a >= min), (max, lambda: a <= max)):
        if bound is None:
            continue
        if is_symbolic(a):
            rushlight._check(holds())
        elif not holds():
            least = "-int_oo" if min is None else min
            raise ValueError(
                f"Invalid value {a} for range [{least}:{'int_oo' if max is None else max}]"
            )


def constrain_unify(a, b) -> None:
    """Say that two numbers are equal; AssertionError for two that are not."""
    if is_symbolic(a) or is_symbolic(b):
        rushlight._check(a == b)
    elif a != b:
        raise AssertionError(f"constrain_unify(): Expected {a} == {b}")


def cast_symbool_to_symint_guardless(symbool) -> int:
    """A condition as 1 or 0."""
    return 1 if symbool else 0


def has_symbolic_sizes_strides(elem) -> bool:
    """Whether a tensor has sizes or strides that depend on values."""
    return any(map(is_symbolic, (*elem.shape, *elem.stride())))


def fx_placeholder_vals(gm) -> list:
    """``meta["val"]`` of the inputs of a graph module."""
    return [node.meta["val"] for node in _placeholders(gm)]


def fx_placeholder_targets(gm) -> list[str]:
    """The names of the inputs of a graph module.

    >>> import rushlight
    >>> from rushlight.fx.experimental.symbolic_shapes import fx_placeholder_targets
    >>> fx_placeholder_targets(rushlight.fx.symbolic_trace(lambda x, y: x + y))
    ['x', 'y']
    """
    return [node.target for node in _placeholders(gm)]


def _placeholders(gm):
    return [node for node in gm.graph.nodes if node.op == "placeholder"]
