"""Capture: a level whose wrappers write down what is done with them.

The tensor below a :class:`Captured` is on the meta device (a shape, a dtype, strides) or holds
values; a call that reaches the level runs there, and `CaptureLevel.recorder` is told the call and
its result. Which calls count as one step, and under which name, is the recorder's to say
(:mod:`rushlight.fx.experimental.proxy_tensor`): the others are opened, a composite by running its
body, so that its parts reach the level in their turn.
"""

from __future__ import annotations

import sys
from typing import Any

from rushlight import devices
from rushlight.ops._table.value_sized import rule_of, value_sized
from rushlight.ops._transforms.wrapped_writes import RECORDING, gives_views, link_views
from rushlight.ops._transforms.wrappers import Level, Wrapped, below, take_out, wrap, write_out
from rushlight.ops.random.generators import get_rng_state, set_rng_state
from rushlight.tensor.construction import without_values
from rushlight.tensor.dispatch import innermost_capture, stack
from rushlight.tensor.shape import Size, wrap_dim
from rushlight.tensor.tensor import Tensor, sized


def _needs_value(name):
    def method(self, *args, **kwargs):
        return self._level.recorder.value_needed(self, name)

    method.__name__ = name
    method.__doc__ = "Refused: the values are not known while a program is captured."
    return method


class Captured(Wrapped):
    """A tensor of a program that is being captured."""

    __slots__ = ()
    _fx_node: Any  # what made it, in the recorder's graph

    @staticmethod
    def takes(function):
        """Whether a function that is no op is one step, not what it calls."""
        return hasattr(function, "aten_call")

    @property
    def device(self):
        """Where the tensor is when the program runs."""
        return self._device

    @property
    def requires_grad(self):
        """Whether the tensor of the program does."""
        return self._node is not None or self.__dict__.get("_asks_gradient", False)

    def requires_grad_(self, requires_grad=True):
        """The tensor itself: gradients are no matter of a graph of calls, but of programs that
        record what they ask for."""
        asked = self._level.recorder.gradients
        if asked is not None and requires_grad:
            asked.begin(self)
        return self

    def is_contiguous(self, *args, **kwargs):
        """Whether the memory is without gaps in a format's order, as that of the values will be."""
        return self._inner.is_contiguous(*args, **kwargs)

    def detach(self):
        """A step of its own."""
        return self._level.process(self._level, Tensor.detach, (self,), {})

    def _alias(self):
        return self.detach()

    def _made_like(self, made):
        return made

    def __deepcopy__(self, memo):
        return self.clone()

    def __repr__(self):
        return f"Captured({tuple(self.shape)}, {self._dtype}, {self._level.recorder.name(self)})"

    @property
    def shape(self):
        """The extent of every dimension; some may be numbers that depend on values."""
        return self._seen(sys._getframe(1))

    def size(self, dim=None):
        """The shape, or the extent of one dimension."""
        found = self._seen(sys._getframe(1))
        if dim is None:
            return found
        plain = Tensor.size(self, dim)  # checks the number of the dimension
        return found[wrap_dim(dim, self.dim())] if found else plain

    def _seen(self, frame):
        """The shape as the code of a frame gets it."""
        drawn = self.__dict__.get("_drawn_sizes")
        found = sized(self)
        if drawn is not None:
            found = Size(drawn.get(d, n) for d, n in enumerate(found))
        tracking = self._level.tracking
        return found if tracking is None else tracking.seen(found, frame)

    def item(self):
        """The one element: a number that the program reads when it runs."""
        return self._level.recorder.number_of(self)

    def tolist(self):
        """The elements as numbers that the program reads when it runs."""
        if not self.dim():
            return self.item()
        return [part.tolist() for part in self.unbind(0)]

    numpy = _needs_value("numpy")
    __bool__, __int__, __float__ = map(_needs_value, ("__bool__", "__int__", "__float__"))
    __complex__, __index__, __array__ = map(_needs_value, ("__complex__", "__index__", "__array__"))


class _outside(below):  # noqa: N801 - reads as a word
    """Inside, neither the given level, nor those deeper, nor any capture is in effect."""

    def __enter__(self):
        super().__enter__()
        stack.levels = [x for x in stack.levels if x.kind != "capture"]


class CaptureLevel(Level):
    """A capture in progress; with `fake` the tensors below have no values."""

    __slots__ = ("fake", "recorder", "sampled")
    wrapper = Captured

    def __init__(self, recorder, fake):
        super().__init__("capture", process)
        self.recorder, self.fake = recorder, fake

    @property
    def tracking(self):
        """How sizes are tracked that choices are made by; None where they are not."""
        return getattr(self.recorder, "tracking", None)

    @property
    def observed(self):
        """Whether the run has values, and numbers that it reads are written down."""
        return not self.fake and getattr(self.recorder, "draws", None) is not None

    def __enter__(self):
        self.sampled = get_rng_state() if self.fake else None
        return super().__enter__()

    def __exit__(self, *exc):
        super().__exit__(*exc)
        # numbers that were drawn for shapes alone were not drawn: seeds mean the same afterwards
        if self.fake:
            set_rng_state(self.sampled)

    def wrapped(self, inner, device=None):
        """A tensor of the program with the shape (and values) of `inner`."""
        out = wrap(Captured, inner, self)
        device = inner._device if device is None else device
        if device is not devices.cpu:
            out._device = device
        elif inner._device is not devices.cpu:
            out._device = devices.cpu
        return out

    def outside(self):
        """Inside of ``with``, what runs is no part of a program."""
        return _outside(self)

    def lowered(self, value):
        """The tensor below; others than the level's are constants of the program."""
        # a tensor of an outer capture stands for a shape as well; what runs here is no part of it
        while (level := getattr(value, "_level", None)) is not None and level.kind == self.kind:
            value = value._inner  # of this capture, or of one around it
        if self.fake and value._device is not devices.meta:
            with self.outside():
                return without_values(value)
        return value


def process(level, function, args, kwargs):
    """Write down a call, or open it."""
    with level.recorder.calling(function):
        return _process(level, function, args, kwargs)


def _process(level, function, args, kwargs):
    op, variant = getattr(function, "op", None), getattr(function, "variant", None)
    out = take_out(op, kwargs)
    step = level.recorder.step(function, args, kwargs)
    if step is None:
        result = opened(level, function, op, variant, args, kwargs)
    else:
        result = run(level, step, function, args, kwargs)
    return result if out is None else write_out(out, result)


def opened(level, function, op, variant, args, kwargs):
    """The same call by other steps: those that the declaration names, or the body."""
    values = op.bind(args, kwargs)
    if variant is not None:
        return args[0].copy_(op.function(*args, **kwargs))
    by = op.options.get("captured")
    return op.run(values) if by is None else by(*values)


def run(level, step, function, args, kwargs):
    """Run a call below the level, and write it down with its result."""
    if step.decomposed is not None:
        form = getattr(step.decomposed, "form", None)  # the same call by other words
        found = (form or step.decomposed)(*step.args, **step.kwargs)
        if found is not NotImplemented:
            if form is None:
                return found
            step = step._replace(target=found[0], args=found[1], kwargs=found[2])
    lowered = [_lowered(level, value) for value in args]
    named = {k: _lowered(level, v) for k, v in kwargs.items()}
    # what makes a tensor of no other is told where; the rest follows its inputs
    if level.fake and "device" in step.kwargs:
        named["device"] = devices.meta
    if level.fake and named.get("generator") is not None:
        named["generator"] = _as_it_is(named["generator"])
    with level.outside():
        result = _result(level, function, lowered, named)
    # the caller holds the tensor that was written to, and reads the step from now on
    if step.writes and result is lowered[0]:
        level.recorder.written(args[0], step)
        return args[0]
    made = level.recorder.record(step, result)
    op = getattr(function, "op", None)
    if op is not None and gives_views(op) and any(e.kind in RECORDING for e in stack.levels):
        # for writes of recorded values, which give the base and its other views new ones
        many = isinstance(made, tuple | list)
        link_views(op, made if many else (made,), op.bind(args, kwargs), many)
    return made


def _as_it_is(generator):
    """A generator that gives the same numbers: shapes alone draw none from the program's."""
    return type(generator)(generator.device).set_state(generator.get_state())


def _result(level, function, args, kwargs):
    """The result of a call below the level; sizes that depend on values are the recorder's to
    choose, or to note."""
    result, rule = NotImplemented, rule_of(function)
    if rule is not None and level.fake:
        result = rule(level.recorder.drawing(function), *args, **kwargs)
    if result is NotImplemented:
        result = function(*args, **kwargs)
    if rule is not None and level.observed:
        rule(level.recorder.drawing(function, result), *_without_values(args), **kwargs)
    return result


def captured_operator(operator, values):
    """Write down a call of an operator of a namespace with the values of all its arguments."""
    level = innermost_capture()
    step = level.recorder.operator_step(operator, values)

    def kernel(*args, **kwargs):
        return operator.run(operator._schema.bind(args, kwargs))

    kernel = value_sized(operator.sizes_by(kernel))(kernel)
    assumed = getattr(getattr(level.recorder, "draws", None), "assumed", None)
    if assumed is not None and operator._custom:
        kernel = assumed.operator(operator, kernel)
    with level.recorder.calling(operator):
        return run(level, step, kernel, step.args, step.kwargs)


def _without_values(value):
    if isinstance(value, Tensor):
        return without_values(value)
    if type(value) in (tuple, list):
        return type(value)(_without_values(v) for v in value)
    return value


def _lowered(level, value):
    if isinstance(value, Tensor):
        return level.lowered(value)
    if type(value) in (tuple, list):
        return type(value)(_lowered(level, v) for v in value)
    plain = getattr(value, "as_plain", None)  # of a number that depends on values
    return value if plain is None else plain()
