"""Modes that see every ATen op: ``__torch_dispatch__(self, func, types, args, kwargs)``.

Where a :class:`~rushlight.overrides.TorchFunctionMode` sees the calls of a program, a
:class:`TorchDispatchMode` sees the ATen overloads they come to, those of the backward pass too.
"""

from __future__ import annotations

import contextlib
import functools

from rushlight.autograd import observer
from rushlight.autograd.mode import mode
from rushlight.machine.forking import MODES
from rushlight.ops._transforms.wrappers import Level
from rushlight.ops.indexing import captured_items  # noqa: F401 - indexing by ATen's steps
from rushlight.refusals import rest_of
from rushlight.tensor.dispatch import (
    STATE,
    DisableDispatchModes,
    Interpreter,
    call_overrides,
    dispatching_types,
    is_dispatching,
    overriding,
    stack,
)
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor
from rushlight.utils.dispatch_steps import handled, tensors_in


class _ModeLevel(Level):
    """What functions that are no ops of the table ask (factories, ``copy_``) where a mode is on."""

    __slots__ = ("owner",)
    tracking = None  # of sizes

    def __init__(self, owner):
        super().__init__("capture", _from_level)
        self.owner = owner

    def outside(self):
        """Inside of ``with``, no mode sees what runs."""
        return _disable_current_modes()


def _from_level(level, function, args, kwargs):
    owner, interpreters = level.owner, stack.interpreters
    kept = interpreters[:]
    interpreters[:] = kept[: kept.index(owner)]
    try:
        return owner._handle(function, args, kwargs, records=False)
    finally:
        interpreters[:] = kept


class TorchDispatchMode(Interpreter):
    """A mode: inside of ``with``, every ATen op of this thread goes through its
    ``__torch_dispatch__(func, types, args, kwargs)``, those of the backward pass too.

    `func` is an overload such as ``rushlight.ops.aten.add.Tensor``. While the method runs, the mode
    is off: ``func(*args, **kwargs)`` runs the op, or goes to the mode around this one. What the
    method computes beside that is not recorded for gradients. What it returns is the result of the
    op, with the gradient formula of the op.

    Raises:
        NotImplementedError: the class does not define ``__torch_dispatch__``.

    Example:
        >>> import rushlight
        >>> from rushlight.utils._python_dispatch import TorchDispatchMode
        >>> class Names(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     _ = rushlight.ones(2) + 1
        aten.ones.default
        aten.add.Tensor
    """

    asks_types = False
    is_dispatch_mode = True
    _entered: tuple = ()  # of each ``with`` that is active: its level, and who watched backward

    def __init__(self, _dispatch_key=None):
        if _dispatch_key is not None:
            raise NotImplementedError(
                "TorchDispatchMode: _dispatch_key is not available; derive a class without it"
            )

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """What an op of ATen gives; called with its overload and arguments."""
        raise NotImplementedError(
            f"{type(self).__name__} has to define __torch_dispatch__(self, func, types, args, "
            "kwargs)"
        )

    def __enter__(self):
        level = _ModeLevel(self)
        level.__enter__()
        self._entered = (*self._entered, (level, observer.around_node))
        observer.around_node = _around(self, observer.around_node)
        # function modes and autocast come before modes of ATen's ops, whenever they were entered
        stack.interpreters.insert(len(_modes()), self)
        with MODES:
            STATE.modes += 1
        return self

    def __exit__(self, *exc):
        *outer, (level, observer.around_node) = self._entered
        self._entered = tuple(outer)
        level.__exit__()
        if self not in stack.interpreters:
            raise RuntimeError(f"{type(self).__name__} is left, but it is not active")
        stack.interpreters.reverse()
        stack.interpreters.remove(self)
        stack.interpreters.reverse()
        with MODES:
            STATE.modes -= 1

    def process(self, function, types, args, kwargs):
        """What the dispatcher calls."""
        return self._handle(function, args, kwargs)

    def _handle(self, function, args, kwargs, records=True):
        """Tell the method of a call, or open the call; the mode itself is off the stack."""
        found = overriding(args, kwargs)
        if found:  # function transforms and __torch_function__ come first; their parts are seen
            with _on(self):
                return call_overrides(function, found, args, kwargs)
        return handled(_Told(self, records), function, args, kwargs)


class _Told:
    """A mode as :func:`handled` tells it of calls."""

    def __init__(self, mode, records):
        self.mode, self.records = mode, records

    def parts(self):
        """The mode is on again."""
        return _on(self.mode)

    def off(self):
        """The mode sees nothing."""
        return _off(self.mode)

    def told(self, function, call, args, kwargs):
        """What the mode's method gives for a call."""
        return _Call(self.mode, function, call, self.records).run(args, kwargs)


class _Call(Interpreter):
    """One call of a mode's method: records the op that it runs, and nothing else.

    A mode is below autograd: the op is recorded, whatever the method does to its result.
    """

    asks_types = False
    is_dispatch_mode = True  # function modes are entered above it

    def __init__(self, owner, function, step, records):
        self.owner, self.function, self.step = owner, function, step
        self.recording = mode.recording and records
        self.asked = tensors_in(step.args, step.kwargs)
        self.recorded = None

    def process(self, function, types, args, kwargs):
        """Run an op of the method: with its history, where it is the one the method is about."""
        given = tensors_in(args, kwargs)
        same = len(given) == len(self.asked) and all(map(lambda a, b: a is b, given, self.asked))
        if self.recorded is not None or not same:
            return function(*args, **kwargs)
        mode.recording = True
        try:
            self.recorded = function(*args, **kwargs)
        finally:
            mode.recording = False
        return self.recorded

    def run(self, args, kwargs):
        """The result of the method, as part of the program."""
        wanted = self.recording and any(t.requires_grad for t in self.asked)
        step, handler = self.step, self.owner.__torch_dispatch__
        types = dispatching_types(self.asked)
        with _off(self.owner):
            if not wanted:
                return handler(step.target, types, step.args, step.kwargs)
            mode.recording = False
            try:
                with self:
                    result = handler(step.target, types, step.args, step.kwargs)
            finally:
                mode.recording = True
            if self.recorded is None and not step.writes and _differentiable(result):
                # the method made the result of something else: the op gives the gradient formula
                self.recorded = self.function(*args, **kwargs)
            return _with_history(result, self.recorded)


def _differentiable(result):
    return any(t._dtype.is_floating_point or t._dtype.is_complex for t in tensors_in(result))


def _with_history(result, recorded):
    """The values of `result` with the gradient formulas of `recorded`."""
    if result is recorded or recorded is None:
        return result
    if isinstance(result, tuple | list) and isinstance(recorded, tuple | list):
        items = [_with_history(*pair) for pair in zip(result, recorded, strict=True)]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    if not isinstance(result, Tensor) or not isinstance(recorded, Tensor):
        return result
    if recorded._node is None or result.shape != recorded.shape:
        return result
    out = result.detach()
    out._node, out._index = recorded._node, recorded._index
    return out


def _around(owner, before):
    """How nodes of the backward pass run where a mode is on: by ops, which the mode sees."""

    def around(node, grads, create, run):
        run = run if before is None else functools.partial(before, run=run)
        watched = owner in stack.interpreters and not getattr(node.op, "of_user", False)
        if create or not watched:
            return run(node, grads, create)
        # formulas come to ops where they are recorded, and to kernels of their own elsewhere
        recording, mode.recording = mode.recording, True
        try:
            return [_bare(piece) for piece in run(node, grads, True)]
        finally:
            mode.recording = recording

    return around


def _bare(piece):
    return piece if piece is None or piece._node is None else piece.detach()


def _modes():
    """The modes of this thread, outermost first."""
    return [x for x in stack.interpreters if x.is_dispatch_mode]


@contextlib.contextmanager
def _on(owner):
    """A mode is on again for the parts of a call that it is asked about."""
    stack.interpreters.append(owner)
    try:
        yield
    finally:
        stack.interpreters.pop()


@contextlib.contextmanager
def _off(owner):
    """A mode's level is off, as the mode is."""
    kept = stack.levels
    stack.levels = [x for x in kept if getattr(x, "owner", None) is not owner]
    try:
        yield
    finally:
        stack.levels = kept


# ------------------------------------------------------------------------------ modes in effect
def _get_current_dispatch_mode():
    """The innermost active mode; None where there is none."""
    found = _get_current_dispatch_mode_stack()
    return found[-1] if found else None


def _get_current_dispatch_mode_stack() -> list:
    """The active modes of this thread, outermost first."""
    return [x for x in stack.interpreters if isinstance(x, TorchDispatchMode)]


@contextlib.contextmanager
def _disable_current_modes():
    """Inside of ``with``, no :class:`TorchDispatchMode` sees an op; gives the modes.

    Example:
        >>> from rushlight.utils._python_dispatch import _disable_current_modes
        >>> with _disable_current_modes() as modes:
        ...     print(modes)
        []
    """
    found = _get_current_dispatch_mode_stack()
    with DisableDispatchModes():
        yield found


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    """Inside of ``with``, the innermost mode is off; gives the mode.

    Raises:
        RuntimeError: no mode is active.
    """
    if k is not None:
        raise NotImplementedError("_pop_mode_temporarily: k is not available; leave it out")
    found = _get_current_dispatch_mode()
    if found is None:
        raise RuntimeError("_pop_mode_temporarily(): no TorchDispatchMode is active")
    with DisableDispatchModes([found]):
        yield found


# ---------------------------------------------------------------------------------- wrapper classes
def is_traceable_wrapper_subclass(t) -> bool:
    """Whether a tensor is of a subclass that says by ``__tensor_flatten__`` and
    ``__tensor_unflatten__`` of which tensors it is made.

    Example:
        >>> import rushlight
        >>> from rushlight.utils._python_dispatch import is_traceable_wrapper_subclass
        >>> is_traceable_wrapper_subclass(rushlight.ones(2))
        False
    """
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t) -> bool:
    """:func:`is_traceable_wrapper_subclass` of a type."""
    return (
        t is not Tensor
        and issubclass(t, Tensor)
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """The wrapper `t` made again of ``callback(name, tensor)`` for each of its tensors.

    Args:
        t: a tensor that :func:`is_traceable_wrapper_subclass`.
        outer_size: the shape of the result; by default that of `t`.
        outer_stride: the strides of the result; by default those of `t`.
    """
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(parts, context, size, stride)


def return_and_correct_aliasing(func, args, kwargs, out):
    """What a ``__torch_dispatch__`` of a subclass returns: of an op that writes, the argument that
    was written to; of others `out`, which of a view shares the storage of its base.

    Args:
        func: the overload.
        args, kwargs: its arguments.
        out: the result that the method computed.

    Example:
        >>> import rushlight
        >>> x = rushlight.ones(2)
        >>> add_ = rushlight.ops.aten.add_.Tensor
        >>> return_and_correct_aliasing(add_, (x, 1), {}, rushlight.zeros(2)) is x
        True
    """
    schema = getattr(func, "_schema", None)
    arguments = () if schema is None else schema.arguments
    given = {a.name: v for a, v in zip(arguments, args, strict=False)} | (kwargs or {})
    written = [given[a.name] for a in arguments if a.is_write and a.name in given]
    if not written and func.__name__.endswith("_") and not func.__name__.endswith("__"):
        written = list(args[:1])
    if written:
        if isinstance(out, tuple | list):
            return type(out)(written) if len(written) == len(out) else out
        return out if out is None else written[0]
    viewed = [given[a.name] for a in arguments if a.alias and a.name in given]
    for view in out if isinstance(out, tuple | list) else (out,):
        if viewed and isinstance(view, Tensor) and is_dispatching(view):
            view._storage = storage_of(viewed[0])
    return out


__getattr__ = rest_of(__name__)
__all__ = [
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]
