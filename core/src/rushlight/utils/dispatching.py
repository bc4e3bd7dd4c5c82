"""Subclasses of Tensor that define ``__torch_dispatch__(cls, func, types, args, kwargs)``.

Such a class is told of ATen's overloads, as a :class:`~rushlight.utils._python_dispatch.\
TorchDispatchMode` is and by the same table of calls, below autograd: results are recorded with the
gradient formula of the call, and formulas run by ops that the class is told of in their turn.
"""

from __future__ import annotations

import contextlib
import threading

from rushlight.autograd.mode import mode
from rushlight.library.aten_calls import AtenCall
from rushlight.ops._transforms.wrappers import Level
from rushlight.ops.creation.program_tensors import _local_scalar_dense, _to_copy
from rushlight.ops.indexing import captured_items
from rushlight.tensor.dispatch import STATE, dispatching_types, is_dispatching, stack
from rushlight.tensor.tensor import Tensor
from rushlight.utils import dispatched_history as history
from rushlight.utils.dispatch_steps import handled, tensors_in


class _Pending(threading.local):
    call = None  # of which a part is told in the name of the whole, for its gradient formula
    result = None  # what that gave


pending = _Pending()
_opened: set = set()  # functions that were found to be made of several ops


def process(function, args, kwargs):
    """The result of a call with arguments of such classes; a mode of ATen's ops comes first."""
    if STATE.modes:
        level = next((x for x in reversed(stack.levels) if hasattr(x, "owner")), None)
        if level is not None and level.owner in stack.interpreters:
            return level.process(level, function, args, kwargs)
    return by_classes(function, args, kwargs)


def by_classes(function, args, kwargs):
    """The result of a call with arguments of such classes."""
    call, op = pending.call, getattr(function, "op", None)
    if call is not None and op is not None and op.kind != "composite":
        if _same(tensors_in(args, kwargs), tensors_in(call.args, call.kwargs)):
            pending.call = None
            pending.result = _CLASSES.told(function, call, args, kwargs)
            return pending.result
    return handled(_CLASSES, function, args, kwargs)


def _same(first, second):
    return len(first) == len(second) and all(any(a is b for b in second) for a in first)


# Functions that ATen makes of ops, which are told instead.
_OF_OTHERS = frozenset(
    "alpha_dropout batch_norm broadcast_tensors cosine_similarity cross_entropy dropout dropout1d "
    "dropout2d dropout3d einsum feature_alpha_dropout feature_dropout group_norm gru instance_norm "
    "l1_loss layer_norm lstm nll_loss one_hot pad rms_norm rnn_relu rnn_tanh".split()
)


def is_whole(function) -> bool:
    """Whether a function that is no op of the table is one op of ATen, not made of others."""
    return pending.call is None and function.__name__ not in _OF_OTHERS


def _has_gradient(function) -> bool:
    """Whether a function that is no op of the table hands gradients on."""
    name = function.__name__
    without = function is Tensor.detach or function is _local_scalar_dense
    return not (without or name.startswith("new_") or name.endswith("_like"))


class _PartsLevel(Level):
    """What functions that are no ops of the table ask while a call of such a class is opened."""

    __slots__ = ("owner",)
    tracking = None  # of sizes

    def __init__(self):
        super().__init__("capture", _of_parts)
        self.owner = _CLASSES

    def outside(self):
        """Inside of ``with``, no class is asked by this level."""
        return _CLASSES.off()


def _of_parts(level, function, args, kwargs):
    with _CLASSES.off():
        if any(map(is_dispatching, tensors_in(args, kwargs))):
            return process(function, args, kwargs)
        return function(*args, **kwargs)


class _Classes:
    """All classes with ``__torch_dispatch__``, as :func:`handled` tells them of calls."""

    @staticmethod
    def parts():
        """Parts of a call, too, are told to the classes of their arguments."""
        return _PartsLevel()

    @staticmethod
    @contextlib.contextmanager
    def off():
        """Calls that are no ops run as they are."""
        kept = stack.levels
        stack.levels = [x for x in kept if type(x) is not _PartsLevel]
        try:
            yield
        finally:
            stack.levels = kept

    @staticmethod
    def told(function, call, args, kwargs):
        """What the classes' methods give for a call, recorded as the call is."""
        tensors = tensors_in(call.args, call.kwargs)
        wanted = mode.recording and any(t.requires_grad for t in tensors)
        if function is call.target:
            return _custom(call, tensors, wanted)
        written = args[0] if call.writes else None
        op = history.op_of(function, written)
        if wanted and op is None and function is _to_copy:
            result = ask(call, tensors)
            return history.recorded_copy(result, tensors[0], kwargs)
        if wanted and (op is None or op.kind == "composite"):
            if written is None and (op is not None or _has_gradient(function)):
                return _by_its_parts(function, call, args, kwargs)
            wanted = False
        if written is not None:
            return history.write(op, written, wanted, args, kwargs, lambda: ask(call, tensors))
        result = ask(call, tensors)
        if wanted:
            result = history.recorded(op, tensors, args, kwargs, result)
        return history.linked(op, tensors[0], result) if tensors else result


_CLASSES = _Classes()


parts = _CLASSES.parts


def _custom(call, tensors, wanted):
    """A call of an operator of :mod:`rushlight.library`."""
    if wanted and call.target.backward is not None:
        raise NotImplementedError(
            f"{call.target}: gradients of custom operators are not available for classes with "
            "__torch_dispatch__; compute it of the tensors inside, or use an autograd.Function"
        )
    return ask(call, tensors)


def _by_its_parts(function, call, args, kwargs):
    """A call of what has no gradient formula by its body: the op in it that has one is told in the
    name of the call, unless there are several."""
    op = getattr(function, "op", None)
    before = pending.call, pending.result
    pending.call, pending.result = None if function in _opened else call, None
    try:
        with _CLASSES.off():
            result = function(*args, **kwargs) if op is None else op.run(op.bind(args, kwargs))
        told = pending.result
    finally:
        pending.call, pending.result = before
    if told is None or all(any(r is t for t in tensors_in(told)) for r in tensors_in(result)):
        return result
    _opened.add(function)
    return _by_its_parts(function, call, args, kwargs)


def ask(call: AtenCall, tensors):
    """What the first class gives that takes the call, subclasses before their bases.

    Raises TypeError where all of them give NotImplemented.
    """
    types = dispatching_types(tensors)
    order = sorted(types, key=lambda kind: -sum(issubclass(kind, other) for other in types))
    before = mode.recording, pending.call
    mode.recording, pending.call = False, None
    try:
        with _CLASSES.off():
            for kind in order:
                result = kind.__torch_dispatch__(call.target, types, call.args, call.kwargs)
                if result is not NotImplemented:
                    return result
    finally:
        mode.recording, pending.call = before
    names = ", ".join(t.__name__ for t in types)
    raise TypeError(
        f"Multiple dispatch failed for '{call.target}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented: {names}"
    )


def getitem(self, index):
    """``self[index]`` by ATen's steps, each of which the class is told of."""
    if pending.call is not None:
        return _plain_getitem(self, index)
    with _CLASSES.parts():
        return captured_items.getitem(self, index)


def setitem(self, index, value):
    """``self[index] = value`` by ATen's steps."""
    with _CLASSES.parts():
        captured_items.setitem(self, index, value)


_plain_getitem = vars(Tensor)["__getitem__"]
