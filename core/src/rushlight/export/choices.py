"""What a program reads of the values of its example, and how it chooses by them, for drafts.

A run on the example's values writes it down. Captures begin with these numbers and make the same
choices, which the program asserts; numbers that are *pinned* are always those of the example.
"""

from __future__ import annotations

import copy
import math
import operator
from contextvars import ContextVar
from typing import Any, NamedTuple

from rushlight.export.dynamic.drawn_floats import FloatDraws
from rushlight.export.dynamic.expressions import comparison_text
from rushlight.export.operator_forms import Forms, forms_of
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from rushlight.fx.locations import at_user_line, user_frames
from rushlight.library.operators import lookup
from rushlight.ops._table.value_sized import value_sized
from rushlight.ops.random.generators import get_rng_state, set_rng_state
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

ASSUMED: ContextVar[Observed | None] = ContextVar("assumed", default=None)  # by a draft

# What Python asks a tensor of one element for, by the method that it calls.
_READS = {
    "__bool__": bool, "__int__": int, "__float__": float, "__index__": operator.index,
    "__complex__": complex, "item": lambda number: number,
}  # fmt: skip


class Frame(NamedTuple):
    """A line of the program that was running."""

    file: str
    line: int
    name: str


class Event(NamedTuple):
    """What a program learned of the example's values: the expression, what it is, where the program
    asked, and the local names there with what they stand for. `known` if the program had said so
    before."""

    expr: str
    result: Any
    frames: tuple[Frame, ...]
    locals: dict[str, str]
    known: bool = False


class Observed:
    """Writes down what a run on values learns; `pins` are numbers, counted as they are read, that
    the program gets as plain ones."""

    READS = frozenset(_READS)

    def __init__(self, pins=frozenset()):
        self.pins, self.needed = frozenset(pins), set(pins)
        self.numbers: list = []
        self.names: list[str] = []
        self.events: list[Event] = []
        self.calls: list[Forms | None] = []  # of operators of the user

    def number(self, name, real):
        """The number that the program reads, and whether it is pinned."""
        pinned = len(self.numbers) in self.pins
        self.numbers.append(real)
        self.names.append(name)
        if pinned:
            self._note(name, real)
        return real, pinned

    def pin(self, names) -> bool:
        """Note that the program needs numbers as plain ones; True, as they are there."""
        self.needed.update(self.names.index(name) for name in names)
        return True

    def decided(self, condition, known) -> bool:
        """Whether a comparison holds; the program keeps to it from now on."""
        result = condition.holds
        text = comparison_text(condition.kind, *condition.sides())
        self._note(text, result, known is not None)
        if known is None:
            kept = condition if result else condition.opposite()
            if kept.holds:  # neither does of NaN
                kept.assume()
        return result

    def value(self, recorder, tensor, name):
        """The element of a tensor, in the form that a method of it gives."""
        is_float, real = tensor._dtype.is_floating_point, tensor._inner.item()
        found = _READS[name](real)
        symbol = recorder.draws.reserved(is_float)
        if type(found) is bool:
            text = f"Eq({symbol}, 1)"
        else:
            text = f"TruncToInt({symbol})" if is_float and name == "__int__" else symbol
        self._note(text, found)
        return found

    def operator(self, called, kernel):
        """The kernel of an operator of the user, which is compared with the fake one."""

        def compared(*args, **kwargs):
            result = kernel(*args, **kwargs)
            self.calls.append(forms_of(called, called._schema.bind(args, kwargs), result))
            return result

        own = kernel.value_sized
        return value_sized(
            lambda draw, *given, **named: _sized(self.calls[-1], own, draw, *given, **named)
        )(compared)

    def _note(self, expr, result, known=False):
        frames = user_frames()
        lines = tuple(Frame(f.f_code.co_filename, f.f_lineno, f.f_code.co_name) for f in frames)
        names = _locals(frames[-1]) if frames else {}
        self.events.append(Event(expr, result, lines, names, known))


def _sized(forms, rule, draw, *args, **kwargs):
    """The results of an operator without values: those of the example, or by its own rule."""
    if forms is not None:
        return forms.sized(draw)
    return NotImplemented if rule is None else rule(draw, *args, **kwargs)


def _locals(frame):
    """The tensors and numbers among the local names of a frame, as text."""
    return {
        name: _described(value)
        for name, value in frame.f_locals.items()
        if isinstance(value, Tensor | int | float | str)
    }


def _described(value):
    if isinstance(value, Tensor):
        return f"Tensor(shape: {tuple(value.shape)}, dtype: {value.dtype})"
    return str(getattr(value, "expression", value))


class Repeated:
    """Gives a capture the numbers of an example to begin with, and repeats its choices."""

    READS = Observed.READS

    def __init__(self, observed: Observed):
        self.pins = observed.pins
        self.numbers, self.events = enumerate(observed.numbers), iter(observed.events)
        self.calls = iter(observed.calls)

    def number(self, name, real):
        """The number of the example, and whether it is pinned."""
        turn, found = self._next(self.numbers)
        pinned = turn in self.pins
        if pinned:
            self._next(self.events)
        return found, pinned

    def pin(self, names) -> bool:
        """False: what is to be pinned is known before."""
        return False

    def decided(self, condition, known) -> bool:
        """The choice of the example, which the capture keeps to."""
        result = self._next(self.events).result
        if known is not None:
            return known
        (condition if result else condition.opposite()).assume()
        return result

    def value(self, recorder, tensor, name):
        """What the element of a tensor is for the example; the program asserts it."""
        found = self._next(self.events).result
        recorder.draws.reserved(tensor._dtype.is_floating_point)
        line = at_user_line(f"{name.strip('_')}() of '{recorder.name(tensor)}'")
        check = lookup("aten")._assert_async.msg
        message = f"draft_export() assumes {found} for {line}"
        recorder.node("call_function", check, (_holds(tensor, found), message), {})
        return found

    def operator(self, called, kernel):
        """The kernel of an operator of the user, which gives what it gave for the example."""
        forms = self._next(self.calls)
        own = kernel.value_sized
        return value_sized(lambda *args, **kwargs: _sized(forms, own, *args, **kwargs))(kernel)

    def _next(self, several):
        for found in several:
            return found
        raise GuardOnDataDependentSymNode(
            at_user_line("the program reads more values than for the example")
        )


def _holds(tensor, value):
    """A tensor that says whether one has an element that gives a value."""
    if type(value) is bool:
        return tensor != 0 if value else tensor == 0
    if type(value) is int and tensor._dtype.is_floating_point:
        return tensor.trunc() == value
    if isinstance(value, float) and math.isnan(value):
        return tensor.isnan()
    return tensor == value


def observed(module, args, kwargs, pins=frozenset()) -> Observed:
    """What a module learns of the values of the example."""
    found = Observed(pins)
    generator = get_rng_state()
    try:
        trace(copy.deepcopy(module), _copied(args), _copied(kwargs or {}), found)
    finally:
        set_rng_state(generator)
    if found.needed != found.pins:
        return observed(module, args, kwargs, found.needed)
    return found


def _copied(given):
    return pytree.tree_map_only(Tensor, Tensor.clone, given)


def trace(module, args, kwargs, found):
    """Run a module on values; frames below this one are the program's."""
    from rushlight.export.tracing import Tracing

    draws = FloatDraws()
    draws.assumed = found
    Tracing(module, draws, fake=False).run(args, kwargs)
