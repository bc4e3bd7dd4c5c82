"""Deferred tensors: elementwise results that wait until somebody looks at their elements.

Inside of a compiled function an interpreter sees every op. A large float32 elementwise result is
not computed but kept as the call that makes it; further calls grow the expression. The first look
at the elements runs all of it as one op (:mod:`expressions`), which records one node. From then on
the tensor is an ordinary one. Writing in place runs what is pending first.
"""

from __future__ import annotations

import math
import weakref

from rushlight import devices
from rushlight.autograd.mode import enable_grad, mode, no_grad
from rushlight.chains.expressions import can_join, chain_op, is_attribute
from rushlight.dtypes import float32
from rushlight.machine import np
from rushlight.tensor.dispatch import PLAIN, Interpreter, _disabled, pop, push
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import EXACT, Tensor

SMALLEST = 1 << 17  # elements of a result worth deferring: waiting costs as much as their kernel
MOST_CALLS = 24  # in one chain
MOST_INPUTS = 8
_new = object.__new__


class Deferred(Tensor):
    """A result that is not computed yet; looking at it makes it a plain Tensor."""

    __slots__ = ()
    __torch_function__ = _disabled  # type: ignore[assignment]

    def __getattr__(self, name):
        if name not in ("_array", "_node", "_storage") or "_call" not in self.__dict__:
            raise AttributeError(f"'Tensor' object has no attribute '{name}'")
        compute(self)
        return getattr(self, name)

    @property
    def shape(self):
        """The extent of every dimension, known without the elements."""
        return Size(self._sizes)

    @property
    def ndim(self):
        """Number of dimensions."""
        return len(self._sizes)

    @property  # type: ignore[misc] # nothing sets it before the chain is computed
    def requires_grad(self):
        """Whether the chain will be recorded."""
        return self._records


PLAIN.add(Deferred)


class _Call:
    """One waiting call: bound values, tensors with their versions, the calls it needs, and (once
    it has run) a weak reference to its result with its version."""

    __slots__ = ("inputs", "needs", "op", "result", "values")

    def __init__(self, op, values, inputs, needs):
        self.op, self.values, self.inputs, self.needs = op, values, inputs, needs
        self.result = None

    def computed(self):
        """The result, if it has been computed, is still there and still the same."""
        if self.result is None:
            return None
        tensor, version = self.result[0](), self.result[1]
        return tensor if tensor is not None and _version(tensor) == version else None


def _version(tensor):
    storage = tensor._storage
    return 0 if storage is None else storage.version


class Chains(Interpreter):
    """Sees every op of a compiled function and defers those that can join a chain."""

    asks_types = False

    def __init__(self):
        self.pending = []  # weak references, in the order of the calls
        self.seen = self.deferred = 0  # calls
        self.saved = 0  # elements of results that wait for others instead of being written and read

    def pays(self):
        """Whether that saved more time than it cost (in nanoseconds, both measured)."""
        return 0.06 * self.saved > 1_500 * self.seen + 9_000 * self.deferred

    def __exit__(self, kind, *exc):
        super().__exit__(kind, *exc)
        if kind is None:  # after an error what waits is computed if somebody looks at it
            self.compute_all()

    def compute_all(self):
        """Run everything that somebody still holds; last results first, since what only they need
        is gone with them."""
        pending, self.pending = self.pending, []
        while pending:
            tensor = pending.pop()()
            if type(tensor) is Deferred:
                compute(tensor)

    def process(self, function, types, args, kwargs):
        """Defer an elementwise call, open a composite one, run any other."""
        self.seen += 1
        op = getattr(function, "op", None)
        variant = getattr(function, "variant", None)
        if variant == "inplace" and type(args[0]) is Deferred and self._rewrite(op, args, kwargs):
            return args[0]
        if op is None or variant is not None or "out" in kwargs:
            self.compute_all()  # it may write into what waiting calls read
            return function(*args, **kwargs)
        if op.kind == "composite":
            return self._open(op, function, args, kwargs)
        if op.kind == "elementwise":
            if _are_small(args):
                return function(*args, **kwargs)
            if can_join(op):
                found = self._defer(op, args, kwargs)
                if found is not None:
                    return found
        _compute_among(args)
        _compute_among(kwargs.values())
        return function(*args, **kwargs)

    def _rewrite(self, op, args, kwargs):
        """In place on a result that waits: nobody has its memory yet, so it waits for more."""
        if op.kind != "elementwise" or not can_join(op):
            return False
        target, found = args[0], self._defer(op, args, kwargs)
        if found is None or found._sizes != target._sizes or found._records != target._records:
            return False
        target._call = found._call
        return True

    def _open(self, op, function, args, kwargs):
        """Run a composite op's body so that the ops in it are seen."""
        values = op.bind(args, dict(kwargs))
        if any(isinstance(v, Tensor) and type(v) not in _KNOWN for v in values):
            return function(*args, **kwargs)
        keywords = dict(zip(op.names[op.positional :], values[op.positional :], strict=True))
        push(self)
        try:
            return op.body(*values[: op.positional], **keywords)
        finally:
            pop(self)

    def _defer(self, op, args, kwargs):
        """The waiting result of a call, or None where it has to run now."""
        values = op.bind(args, dict(kwargs))
        inputs, needs, shapes, records, place, saved = {}, {}, [], False, None, 0
        for position in op.tensor_positions:
            value = values[position]
            if type(value) is Deferred and mode.recording and not value._records:
                if any(leaf.requires_grad for leaf, _ in value._call.inputs.values()):
                    compute(value)  # made without recording: no gradient may flow through it
            if type(value) in _KNOWN:
                place = value._device if place is None else place
                if value._device is not place or place.type == "meta":
                    return None
            if type(value) is Deferred:
                inputs.update(value._call.inputs)
                needs.update(value._call.needs)
                needs[id(value._call)] = value._call
                shapes.append(value._sizes)
                records |= value._records
                saved += math.prod(value._sizes)
            elif type(value) in EXACT:
                if value._dtype is not float32:
                    return None
                inputs[id(value)] = (value, _version(value))
                shapes.append(value._array.shape)
                records |= value.requires_grad
            elif type(value) not in _ATTRIBUTES or position in op.strict:
                return None
        if not shapes or len(needs) >= MOST_CALLS or len(inputs) > MOST_INPUTS:
            return None
        records = records and mode.recording
        found = self._waiting(op, values, inputs, needs, shapes, records, place)
        if found is not None:
            self.deferred += 1
            self.saved += 2 * saved if records else saved  # backward passes are single too
        return found

    def _waiting(self, op, values, inputs, needs, shapes, records, place):
        for position, value in enumerate(values):
            if is_attribute(op, position) and type(value) not in _ATTRIBUTES:
                return None
        operand, out = op.rule(float32)
        try:
            shape = shapes[0] if len(shapes) == 1 else np.broadcast_shapes(*shapes)
        except ValueError:
            return None  # running it gives the error that names the arguments
        count = 1
        for length in shape:
            count *= length
        least = SMALLEST if place is devices.cpu else 1  # a GPU gains by every launch that is not
        if operand is not float32 or out is not float32 or count < least:
            return None
        check = op.options.get("check")
        if check is not None:
            check(*values)
        values = [value._call if type(value) is Deferred else value for value in values]
        tensor = _new(Deferred)
        tensor._dtype = float32
        tensor._call, tensor._sizes, tensor._records = (
            _Call(op, values, inputs, needs),
            shape,
            records,
        )
        if mode.inference:
            tensor._inference = True
        if place is not devices.cpu:
            tensor._device = place
        self.pending.append(weakref.ref(tensor))
        return tensor


_KNOWN = EXACT | {Deferred}
_ATTRIBUTES = frozenset((int, float, bool, str, type(None)))


def _are_small(values):
    """Whether all tensors among the positional arguments are there, and small."""
    for value in values:
        if type(value) in EXACT:
            if value._array.size >= SMALLEST or value._device is not devices.cpu:
                return False
        elif type(value) is Deferred:
            return False
    return True


def _compute_among(values):
    for value in values:
        if type(value) is Deferred:
            compute(value)
        elif type(value) in (list, tuple):
            _compute_among(value)


def compute(tensor):
    """Run the expression of a deferred tensor and make it a plain one."""
    call = tensor._call
    for leaf, version in call.inputs.values():
        if _version(leaf) != version:
            raise RuntimeError(
                f"compile(): an input of {call.op.name}() was modified in place outside of the ops "
                "of the compiled function before its result was used; compute with a clone of it"
            )
    leaves, numbers, calls, seen = {}, [], [], {}
    _collect(call, leaves, numbers, calls, seen)
    op = chain_op(tuple(calls), len(leaves), tensor._records)
    arguments = [*(leaf for leaf, _ in leaves.values()), *numbers]
    with enable_grad() if tensor._records else no_grad():
        result = op.run(op.bind(arguments, {}))
    for name in ("_call", "_sizes", "_records"):
        del tensor.__dict__[name]
    tensor._array, tensor._node, tensor._storage = result._array, result._node, result._storage
    tensor.__class__ = Tensor
    if tensor._node is not None and result._index:
        tensor._index = result._index
    call.result = weakref.ref(tensor), _version(tensor)


def _collect(call, leaves, numbers, calls, seen):
    """Write a call and what it needs as references; returns its number among the calls."""
    if id(call) in seen:
        return seen[id(call)]
    op, references = call.op, []
    for position, value in enumerate(call.values):
        if type(value) is _Call:
            computed = value.computed()
            if computed is None:
                inner = _collect(value, leaves, numbers, calls, seen)
                references.append(("call", inner))
                continue
            value = computed
        if isinstance(value, Tensor):
            entry = leaves.setdefault(id(value), (value, len(leaves)))
            references.append(("input", entry[1]))
        elif type(value) is float and not _is_text(op, position, value):
            numbers.append(value)
            references.append(("number", len(numbers) - 1))
        else:
            references.append(("text", value))
    seen[id(call)] = len(calls)
    calls.append((op, tuple(references)))
    return seen[id(call)]


def _is_text(op, position, value):
    """Whether a number belongs into the code of a chain: special values, and defaults."""
    name = op.names[position]
    if value is op.defaults[position] or name in op.options.get("static", ()):
        return True
    return value in op.options.get("constants", {}).get(name, ())
