"""The recorder: an interpreter that notes when every op began and ended, and what it was given.

It sees forward ops through the slow path and nodes of the backward pass through the engine's
observer. It sits below all other interpreters, so that it sees what really runs; while an op runs
the count of modes is as if it were not there, so that ops and gradients take the ways they take
without it.
"""

from __future__ import annotations

import os
import sys
import threading
from time import perf_counter_ns

from rushlight.autograd import observer
from rushlight.machine.forking import MODES
from rushlight.tensor.dispatch import STATE, Interpreter, stack
from rushlight.tensor.tensor import Tensor
from rushlight.utils.flop_counter import flops_of, opens

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OP, _NODE, _NOTE = "cpu_op", "backward", "user_annotation"
_active: list = []  # the recorder that runs, or nothing


def active():
    """The recorder that runs, or None."""
    return _active[-1] if _active else None


class Span:
    """One thing that took time: nanoseconds from `begin` to `end` on a thread."""

    __slots__ = ("begin", "bytes", "category", "end", "flops", "name", "sequence", "shapes",
                 "stack", "thread")  # fmt: skip

    def __init__(self, name, category, begin, end):
        self.name, self.category, self.begin, self.end = name, category, begin, end
        self.thread = threading.get_ident()
        self.bytes = self.flops = 0
        self.sequence, self.shapes, self.stack = -1, None, None


class Recorder(Interpreter):
    """Notes spans from :meth:`start` to :meth:`stop`."""

    def __init__(self, shapes=False, memory=False, stacks=False, flops=False):
        self.shapes, self.memory, self.stacks, self.flops = shapes, memory, stacks, flops
        self.spans: list = []
        self.begin = self.end = 0
        self.hooks: list = []
        self.steps: dict = {}
        self.running = False

    # ------------------------------------------------------------------------------- on and off
    def start(self) -> None:
        """Begin to note what this thread does."""
        if _active:
            raise RuntimeError("a profiler is running already; stop it before starting another")
        from rushlight.optim import optimizer

        _active.append(self)
        self.running = True
        self.hooks = [
            optimizer.register_optimizer_step_pre_hook(self._before_step),
            optimizer.register_optimizer_step_post_hook(self._after_step),
        ]
        observer.around_node = self._node
        self._watch(True)
        self.begin = perf_counter_ns()

    def stop(self) -> None:
        """Stop noting."""
        self.end = perf_counter_ns()
        self._watch(False)
        observer.around_node = None
        for hook in self.hooks:
            hook.remove()
        if self in _active:
            _active.remove(self)
        self.running = False

    def _watch(self, wanted):
        """Join this thread's interpreters as the lowest, or leave them."""
        if wanted:
            stack.interpreters.insert(0, self)
        else:
            stack.interpreters.remove(self)
        with MODES:
            STATE.modes += 1 if wanted else -1

    # --------------------------------------------------------------------------------- what runs
    def process(self, function, types, args, kwargs):
        """Run one op and note it."""
        op = getattr(function, "op", None)
        inside = op is not None and op.kind == "composite" and opens(function, args, kwargs)
        begin = perf_counter_ns()
        if inside:
            stack.interpreters.append(self)  # its parts are seen too
            try:
                result = op.run(op.bind(args, dict(kwargs)))
            finally:
                stack.interpreters.remove(self)
        else:
            result = self._unseen(function, args, kwargs)
        end = perf_counter_ns()
        span = Span("aten::" + getattr(function, "__name__", "op"), _OP, begin, end)
        node = getattr(result, "_node", None)
        span.sequence = getattr(node, "sequence", -1)
        if self.memory and op is not None and op.kind not in ("view", "composite"):
            span.bytes = 0 if function.variant else _bytes(result)
        self._describe(span, op, args, kwargs, result)
        return result

    def _unseen(self, function, args, kwargs):
        """Call with modes counted as if this one were not there."""
        with MODES:
            STATE.modes -= 1
        try:
            return function(*args, **kwargs)
        finally:
            with MODES:
                STATE.modes += 1

    def _node(self, node, grads, create, run):
        """Run one node of the backward pass and note it."""
        here = self in stack.interpreters
        if here and not create:
            stack.interpreters.remove(self)
        begin = perf_counter_ns()
        try:
            if create:
                pieces = run(node, grads, create)
            else:
                pieces = self._unseen(run, (node, grads, create), {})
        finally:
            if here and not create:
                stack.interpreters.insert(0, self)
        span = Span(node.name(), _NODE, begin, perf_counter_ns())
        span.sequence = node.sequence
        if self.memory:
            span.bytes = _bytes(pieces)
        self._describe(span, None, grads if type(grads) is list else (grads,), {}, None)
        return pieces

    def _describe(self, span, op, args, kwargs, result):
        if self.shapes:
            span.shapes = [shape_of(value) for value in args]
        if self.stacks:
            span.stack = frames()
        if self.flops and op is not None:
            span.flops = flops_of(op.name, args, kwargs, result)
        self.spans.append(span)

    def note(self, name, begin, category=_NOTE):
        """A span of the user's, which ends now."""
        span = Span(name, category, begin, perf_counter_ns())
        if self.stacks:
            span.stack = frames()
        self.spans.append(span)

    def _before_step(self, optimizer, args, kwargs):
        self.steps[id(optimizer)] = perf_counter_ns()

    def _after_step(self, optimizer, args, kwargs):
        begin = self.steps.pop(id(optimizer), None)
        if begin is not None:
            name = type(optimizer).__name__
            self.note(f"Optimizer.step#{name}.step", begin)


def shape_of(value):
    """A tensor's sizes as a list, those of the tensors in a list, else an empty list."""
    if isinstance(value, Tensor):
        return list(value.shape)
    if type(value) in (list, tuple) and any(isinstance(v, Tensor) for v in value):
        return [list(v.shape) if isinstance(v, Tensor) else [] for v in value]
    return []


def _bytes(result):
    """Bytes of the tensors in a result."""
    if isinstance(result, Tensor):
        return result._array.nbytes if result._device.type != "meta" else 0
    if type(result) in (list, tuple):
        return sum(_bytes(value) for value in result)
    return 0


def frames(limit=32):
    """The callers outside of the library, innermost first, as ``file(line): function``."""
    found, frame = [], sys._getframe(1)
    while frame is not None and len(found) < limit:
        code = frame.f_code
        if not code.co_filename.startswith((_ROOT, "<")):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found
