"""The slow path: a thread-local stack of interpreters that see every op while they are active.

`STATE.modes` counts the active modes of all threads. An op's fast path compares it with zero; only
when it is not does the op ask this thread's stack. An interpreter is an object with
``process(function, types, args, kwargs)``; while it runs it is off the stack, so that ops it calls
go to the interpreter below it, or to the kernel.
"""

from __future__ import annotations

import threading

from rushlight.autograd.later import later
from rushlight.machine.forking import MODES


class _State:
    __slots__ = ("dispatching", "inference", "levels", "modes")


STATE = _State()
STATE.modes = 0
STATE.levels = 0  # function transforms that any thread is in
STATE.inference = []  # an entry for each inference mode that any thread is in
STATE.dispatching = False  # whether a subclass of Tensor with a __torch_dispatch__ was defined


class _Stack(threading.local):
    def __init__(self):
        self.interpreters = []
        self.overrides = True  # whether __torch_function__ of subclasses is honoured
        self.dispatches = True  # whether __torch_dispatch__ of subclasses is
        self.levels = []  # the function transforms this thread is in, outermost first


stack = _Stack()
PLAIN: set[type] = set()  # the exact classes that never override: filled by the tensor module


def push(interpreter) -> None:
    """Make `interpreter` the first to see the ops of this thread."""
    stack.interpreters.append(interpreter)
    with MODES:
        STATE.modes += 1


def pop(interpreter) -> None:
    """Remove the innermost interpreter, which must be the given one."""
    if not stack.interpreters or stack.interpreters[-1] is not interpreter:
        raise RuntimeError("interpreters must be left in the reverse order of entering them")
    stack.interpreters.pop()
    with MODES:
        STATE.modes -= 1


class Interpreter:
    """Base of modes: ``with mode:`` sends this thread's ops through `process`."""

    asks_types = True  # whether `process` looks at the types of the arguments
    is_dispatch_mode = False  # whether it is told of ATen's ops, not of public functions

    def __enter__(self):
        push(self)
        return self

    def __exit__(self, *exc):
        pop(self)

    def process(self, function, types, args, kwargs):
        """Handle one op call; by default run it below this interpreter."""
        return function(*args, **kwargs)


def interpret(function, args, kwargs):
    """Hand a call to the innermost interpreter of this thread."""
    interpreters = stack.interpreters
    interpreter = interpreters.pop()
    try:
        types = ()
        if interpreter.asks_types:
            types = tuple({type(a) for a in args if hasattr(type(a), "__torch_function__")})
        return interpreter.process(function, types, args, kwargs)
    finally:
        interpreters.append(interpreter)


class DisableTorchFunction:
    """Inside, subclasses of Tensor are treated as plain tensors."""

    def __enter__(self):
        self.previous, stack.overrides = stack.overrides, False
        return self

    def __exit__(self, *exc):
        stack.overrides = self.previous


class EnableTorchFunction:
    """Inside, ``__torch_function__`` of subclasses is honoured again: what is inside of a tensor
    with ``__torch_dispatch__`` may be sparse, whose ops are answered by it."""

    def __enter__(self):
        self.previous, stack.overrides = stack.overrides, True
        return self

    def __exit__(self, *exc):
        stack.overrides = self.previous


class DisableDispatch:
    """Inside, ``__torch_dispatch__`` of subclasses of Tensor is not called."""

    def __enter__(self):
        self.previous, stack.dispatches = stack.dispatches, False
        return self

    def __exit__(self, *exc):
        stack.dispatches = self.previous


class DisableDispatchModes:
    """Inside, the given modes of ATen's ops, by default all, see none of them."""

    def __init__(self, modes=None):
        self.modes = modes

    def __enter__(self):
        self.kept = stack.interpreters[:], stack.levels
        stack.interpreters[:] = [x for x in self.kept[0] if not self._chosen(x)]
        stack.levels = [x for x in self.kept[1] if not self._chosen(getattr(x, "owner", None))]
        return self

    def __exit__(self, *exc):
        stack.interpreters[:], stack.levels = self.kept

    def _chosen(self, mode):
        if self.modes is None:
            return getattr(mode, "is_dispatch_mode", False)
        return any(mode is x for x in self.modes)


class hidden_from_modes:  # noqa: N801 - reads as a word
    """Inside, the modes of this thread see no op."""

    def __enter__(self):
        self.kept = stack.interpreters
        stack.interpreters = []

    def __exit__(self, *exc):
        stack.interpreters = self.kept


def overriding(args, kwargs):
    """The arguments whose class overrides ``__torch_function__``, subclasses before their bases."""
    found, every = [], stack.overrides
    for value in (*args, *kwargs.values()):
        for item in value if type(value) in (list, tuple) else (value,):
            if type(item) in PLAIN:
                continue
            if stack.levels and getattr(item, "_level", None) is not None:
                return [item]  # a function transform, which comes first and is never off
            if not every:
                continue
            handler = getattr(type(item), "__torch_function__", None)
            if handler is None or handler is _disabled:
                continue
            if any(type(item) is type(other) for other in found):
                continue
            at = next((i for i, o in enumerate(found) if isinstance(item, type(o))), len(found))
            found.insert(at, item)
    return found


def asked(args, kwargs):
    """Who is asked of a call: the arguments whose class overrides ``__torch_function__``; where
    none does, and a class defines ``__torch_dispatch__``, what asks that."""
    found = overriding(args, kwargs)
    if found or not STATE.dispatching or not stack.dispatches:
        return found
    return [AS_ATEN] if any(map(is_dispatching, _flat(args, kwargs))) else found


def is_dispatching(value) -> bool:
    """Whether the class of a value defines ``__torch_dispatch__``."""
    return getattr(type(value), "_dispatches", False)


def answered(tensor, name):
    """What a class with ``__torch_dispatch__`` has instead of the method `name` of Tensor; None of
    others. Callers look at ``STATE.dispatching`` first."""
    if not stack.dispatches or not is_dispatching(tensor):
        return None
    return vars(later("dispatching_methods").Dispatching)[name]


def dispatching_types(values) -> tuple:
    """The classes of values that define ``__torch_dispatch__``, each once."""
    return tuple(dict.fromkeys(type(v) for v in values if is_dispatching(v)))


def _flat(args, kwargs):
    for value in (*args, *kwargs.values()):
        if type(value) in (list, tuple):
            yield from value
        else:
            yield value


class _AsAten:
    """Asked last: tells ``__torch_dispatch__`` of arguments' classes of a call as ATen's."""

    _asked_by_ops = True

    @staticmethod
    def takes(function):
        """Whether a function that is no op is one op of ATen, not what it calls."""
        return hasattr(function, "aten_call") and later("dispatching").is_whole(function)

    @staticmethod
    def __torch_function__(function, types, args=(), kwargs=None):
        return later("dispatching").process(function, args, kwargs or {})


AS_ATEN = _AsAten()


def _disabled(function, types, args=(), kwargs=None):
    """What classes carry that must never be dispatched on, such as Parameter; called by a program,
    it runs the function without asking any class."""
    with DisableTorchFunction():
        return function(*args, **(kwargs or {}))


def _undispatched(function, types, args=(), kwargs=None):
    """``Tensor.__torch_dispatch__``: runs the function without asking any class."""
    with DisableTorchFunction(), DisableDispatch():
        return function(*args, **(kwargs or {}))


def call_overrides(function, found, args, kwargs):
    """Ask each overriding class in turn; all declining is a TypeError."""
    types = tuple(type(x) for x in found)
    for item in found:
        result = type(item).__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(t.__name__ for t in types)
    raise TypeError(
        f"no implementation found for '{function.__name__}' on types that implement "
        f"__torch_function__: [{names}]"
    )


def readable(tensor) -> bool:
    """Whether the elements can be looked at: not on the meta device, nor on a GPU, which would
    have to be waited for, nor inside of `vmap`, where there are many for each."""
    below = _of_one_example(tensor)
    return below is not None and below._device.type == "cpu"


def ends_capture(tensor) -> bool:
    """As :func:`readable`, and True inside of a capture as well, which reading then ends: for
    checks that the captured program would lose."""
    return _of_one_example(tensor) is not None


def _of_one_example(tensor):
    """The tensor below all function transforms; None off the CPU and inside of `vmap`."""
    if tensor._device.type != "cpu":
        return None
    while stack.levels and getattr(tensor, "_level", None) is not None:
        if tensor._level.size is not None:
            return None
        tensor = tensor._inner
    return tensor


def innermost(value):
    """The tensor below all function transforms, which holds the elements of all examples."""
    while getattr(value, "_level", None) is not None:
        value = value._inner
    return value


def below_transforms(value):
    """The tensor below all function transforms that a captured program itself enters; outside of
    captures :func:`innermost`."""
    while getattr(getattr(value, "_level", None), "kind", "capture") != "capture":
        value = value._inner
    return value


def through_levels(function, values, args, kwargs):
    """The result of a call that reaches an array without passing the slow path, where one of
    `values` is a wrapper of a function transform; NotImplemented otherwise. Callers look at
    ``stack.levels`` first."""
    for value in values:
        if type(value) not in PLAIN and getattr(value, "_level", None) is not None:
            return type(value).__torch_function__(function, (), args, kwargs)
    return NotImplemented


def innermost_capture():
    """The level of the program that this thread captures, of several the innermost; None where it
    captures none."""
    return next((x for x in reversed(stack.levels) if x.kind == "capture"), None)


def captured(function, args, kwargs):
    """The result of a call that is a step of the program that this thread captures; NotImplemented
    where it captures none, or where a transform inside of it comes first. Callers look at
    ``STATE.levels`` first."""
    level = innermost_capture()
    if level is None:
        return NotImplemented
    for value in (*args, *kwargs.values()):
        if getattr(value, "_level", level).kind != "capture":
            return NotImplemented
    return level.process(level, function, args, kwargs)


def dispatching() -> bool:
    """Whether a mode of this thread sees ATen's ops, so that no kernel may stand for several."""
    return bool(STATE.modes) and any(x.is_dispatch_mode for x in stack.interpreters)


def dispatched(function, args):
    """:func:`through_levels` of a write by what is no op of the table; where none of its tensors is
    a wrapper, a dispatch mode sees it. Callers look at ``stack.levels`` first."""
    found = through_levels(function, args, args, {})
    if found is NotImplemented and getattr(stack.levels[-1], "owner", None) is not None:
        return captured(function, args, {})
    return found


def captured_part(tensor):
    """The tensor of the captured program below function transforms; None where there is none."""
    while (level := getattr(tensor, "_level", None)) is not None:
        if level.kind == "capture":
            return tensor
        tensor = tensor._inner
    return None
