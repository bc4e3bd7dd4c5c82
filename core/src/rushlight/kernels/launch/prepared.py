"""Kernels as built-in functions that make their own results, one per layout of the arguments.

A range kernel whose argument words are a number, the results' addresses, the inputs' addresses,
numbers and constants can be called through `rushlight.machine.native_functions`: one call of 0.2 us
checks dtypes, allocates and computes. What such a call needs to know follows from shapes, strides
and dtypes: it is worked out once and remembered under them.
"""

from __future__ import annotations

import ctypes
import math
import struct

from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import np, threads
from rushlight.machine.arrays import BY_ARRAY_DTYPE
from rushlight.machine.memory import bytes_of, empty

__all__ = [
    "Remembered",
    "Short",
    "by_layout",
    "by_layouts",
    "called",
    "nothing",
    "of_copies",
    "prepared",
    "stays",
    "word_of",
]

LIMIT = 1024  # layouts remembered by one function
_HUGE = 1 << 22  # bytes from which NumPy makes the result: it asks for huge pages then
_dtypes: set = set()  # the native calls hold bare addresses of these
_BY_ADDRESS = {id(dtype): found for dtype, found in BY_ARRAY_DTYPE.items()}


def word_of(number):
    """A double as an argument word of a kernel: its bits."""
    return struct.unpack("<q", struct.pack("<d", number))[0]


def prepared(code, items, grain, inputs, outputs, words=(), numbers="", head=0, scratch=False):
    """``f(*arrays, *numbers)`` that runs the kernel at `code` and gives new dense arrays.

    `inputs`: arrays of the layout that calls will have. `outputs`: ``(shape, dtype)`` of each
    result; one gives an array, several a tuple. The kernel's argument words are `head`, the
    results, the inputs, the numbers of a call ("f": as a double, "i": as an int64) and `words`.
    A kernel that uses `scratch` memory of its thread gets it from the pool, whatever its size.
    Arrays of other dtypes or unaligned ones make the function answer NotImplemented; that shapes
    and strides are those of `inputs` is the caller's business.
    """
    from rushlight.machine import native_functions as door

    size = max(bytes_of(shape, dtype.itemsize) for shape, dtype in outputs)
    total = 1 + len(outputs) + len(inputs) + len(numbers) + len(words)
    widest = max(len(shape) for shape, _ in outputs)
    if not door.is_available() or total > door.TABLE_WORDS or widest > 8:
        return _by_launch(code, items, grain, inputs, outputs, words, len(numbers), head)
    given = 0 if len(outputs) == 1 and size < _HUGE else len(outputs)
    plan = _plan(code, items, grain, inputs, outputs, words, numbers, head, given, scratch)
    call = door.doors().layout(plan)
    if not given:
        return call
    if size < _HUGE:
        made = fast.several(call, len(inputs) + len(numbers), outputs)
        if made is not None:
            return made
    return _allocating(call, outputs)


def _plan(code, items, grain, inputs, outputs, words, numbers, head, given, scratch, extents=()):
    """The words of a native call's plan. `extents`: where operands begin and end, the results
    first, and for each result a mask of the inputs that may be the very same."""
    from rushlight.machine import native_functions as door

    plan = [0] * door.LAYOUT_DTYPES
    shape, dtype = outputs[0]
    _dtypes.update([d for _, d in outputs], [x.dtype for x in inputs])
    plan[door.DRIVER], plan[door.INPUTS], plan[door.PARAMS] = code, len(inputs), len(numbers)
    plan[door.OUT], plan[door.TYPE] = id(dtype), door.doors().type
    plan[door.KINDS] = sum(1 << i for i, kind in enumerate(numbers) if kind == "i")
    plan[door.GIVEN], plan[door.N], plan[door.DESCRIPTOR] = given, items, head
    plan[door.GRAIN] = grain
    if items > grain or scratch:
        plan[door.LAUNCH], plan[door.POOL] = threads.launch_entry()
    plan[door.DIMS] = len(shape)
    plan[door.SHAPE : door.SHAPE + len(shape)] = shape
    plan[door.STRIDES : door.STRIDES + len(shape)] = _dense(shape, dtype.itemsize)
    plan[door.TAIL] = len(words)
    plan[door.BYTES] = math.prod(shape) * dtype.itemsize
    passed = [d for _, d in outputs[:given]] + [x.dtype for x in inputs]
    # Where results are new no input can overlap them: their extents need not be known.
    return [*plan, *map(id, passed), *(extents or [0] * (2 * len(passed) + given)), *words]


def prepared_into(code, items, grain, inputs, words=()):
    """``f(*inputs, target)`` that runs the kernel at `code` on dense arrays and writes into the
    target, which is what it gives; that may be the first input and shares no memory with others,
    or the answer is NotImplemented. None where there are no native calls."""
    from rushlight.machine import native_functions as door

    if not door.is_available() or max(x.ndim for x in inputs) > 8:
        return None
    first = inputs[0]
    ends = [first.nbytes, *(x.nbytes for x in inputs)]
    outputs, extents = [(first.shape, first.dtype)], [*[0] * len(ends), *ends, 1]
    plan = _plan(code, items, grain, inputs, outputs, words, "", 0, 1, False, extents)
    return door.doors().layout(plan)


def _dense(shape, size):
    strides = [size] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * max(shape[d + 1], 1)
    return strides


def _allocating(call, outputs):
    """A native call that is given its results, behind their allocation."""
    if len(outputs) == 1:
        ((shape, dtype),) = outputs
        return lambda *arguments: call(*arguments, empty(shape, dtype))

    def several(*arguments):
        made = tuple([empty(shape, dtype) for shape, dtype in outputs])
        return made if call(*arguments, *made) is not NotImplemented else NotImplemented

    return several


def _by_launch(code, items, grain, inputs, outputs, words, numbers, head):
    """The same without native calls."""
    count = 1 + len(outputs) + len(inputs) + numbers
    plan = threads.plan(code, items, grain, [0] * count + list(words))
    dtypes = [x.dtype for x in inputs]

    def call(*arguments):
        for dtype, x in zip(dtypes, arguments, strict=False):
            if x.dtype is not dtype or not x.flags.aligned:
                return NotImplemented
        made = [empty(shape, dtype) for shape, dtype in outputs]
        threads.run(plan, head, *made, *arguments)
        return made[0] if len(made) == 1 else tuple(made)

    return call


def called(call, arrays, *numbers):
    """The results of a prepared call; arrays that are not aligned are copied first."""
    found = call(*arrays, *numbers)
    if found is NotImplemented:
        found = call(*[np.array(a) for a in arrays], *numbers)
    return found


class Remembered(dict):
    """Functions by layout; the oldest are forgotten together when there are too many."""

    def keep(self, key, function):
        """Remember a function (None: this layout is left to the general path)."""
        if len(self) >= LIMIT:
            self.clear()
        self[key] = function
        return function

    def built(self, key, build):
        """What is remembered, which is built the first time."""
        found = self.get(key)
        return self.keep(key, build()) if found is None else found


_EVERY = 32  # calls that miss the table, of which one is put there


def stays(attribute):
    """Whether there is one object of this value, by which machine code may know it."""
    kind = type(attribute)
    if kind is int:
        return -5 <= attribute <= 256 or attribute == -100  # as `ignore_index` by default
    return kind is bool or attribute is None or getattr(kind, "constants", False)


class _Fast:
    """What the fast path does with prepared calls once tensors have machine code; it sets these,
    kernels know nothing of tensors."""

    known_calls = None

    @staticmethod
    def several(call, arguments, outputs):
        """A function that makes several results at once, or None."""

    @staticmethod
    def described(call):
        """How many arrays a call takes and its results' dtypes, or None."""


fast = _Fast()


def nothing(*arguments):
    """In the place of a function that machine code has not made."""
    return NotImplemented


class Short:
    """The way of an op's native call past its kernel: ``call(*tensors, *attributes)`` gives the
    tensor of the result where machine code knows the layouts and the very attributes, else
    NotImplemented.

    `count` is how many arguments of the op that is (None: all of them), `whole` whether a call must
    give all of these; `listed` says that the tensors come as a list."""

    whole = False
    first = 0  # misses that are all learned
    others = False  # whether further arguments are allowed, because they change no result

    def __init__(self, tensors=1, count=None, listed=False, failures=0):
        self.call, self.tensors, self.count, self.listed = nothing, tensors, count, listed
        self.known, self.missed, self.failures = None, 0, failures
        self.layouts = Remembered()  # what was prepared for layouts, by these and attributes

    def forget(self):
        """Know no call, nor what has been prepared for layouts."""
        self.layouts.clear()
        self.missed = 0
        if self.known is not None:
            self.known.forget()

    def miss(self, found, arrays, attributes=()):
        """A call that has been seen before came the long way: now and then it is learned again."""
        self.missed += 1
        if self.missed <= self.first or not self.missed % _EVERY:
            self.learn(found, arrays, attributes)

    def learn(self, found, arrays, attributes=()):
        """Know what a function of :func:`prepared` computes for such arrays and attributes."""
        if type(found) is not type(len) or not all(map(stays, attributes)):
            return
        shape = fast.described(found)
        if shape is None or shape[0] != len(arrays):
            return
        dtypes = [_BY_ADDRESS.get(address) for address in shape[1]]
        if None in dtypes:
            return
        if self.known is None:
            self.known = fast.known_calls(self.tensors, len(attributes), self.listed, self.failures)
        if self.known.attributes == len(attributes):
            alone = found.__name__ == "layout"
            self.known.note(arrays, attributes, found, dtypes[0] if alone else tuple(dtypes))
            self.call = self.known.function


def of_copies(prepare, count=1):
    """`prepare`, and where it knows nothing for arrays (its first `count` arguments) with gaps
    between their elements, or in another order, a function of dense copies. Only where results do
    not take after their strides."""

    def prepared_or_copied(*arguments):
        found, arrays = prepare(*arguments), arguments[:count]
        if found is not None or REFERENCE or all(a.flags.c_contiguous for a in arrays):
            return found
        if any(_seems_large(a) or not a.size for a in arrays):
            return None
        dense = [a if a.flags.c_contiguous else np.empty(a.shape, a.dtype) for a in arrays]
        found = prepare(*dense, *arguments[count:])
        if found is None:
            return None
        copies = [_copy(a) for a in arrays]
        if count == 1:
            (copy,) = copies
            return lambda array: found(copy(array))
        return lambda *given: found(*[copy(a) for copy, a in zip(copies, given, strict=True)])

    return prepared_or_copied


def _seems_large(array):
    """Whether an array has fewer elements in memory than it seems."""
    return any(not s and n > 1 for n, s in zip(array.shape, array.strides, strict=True))


def _copy(array):
    """``f(array)``: a dense copy of an array of this layout, or the array itself."""
    from rushlight.kernels.copying import assignment

    if array.flags.c_contiguous:
        return lambda array: array
    copy = assignment.copied(array)

    def copied(array):
        dense = NotImplemented if copy is None else copy(array)
        return assignment.by_rows(array) if dense is NotImplemented else dense

    return copied


def by_layout(prepare, general, count=None):
    """``f(array, *attributes)`` out of `prepare`, which gives a function of the array (or None) for
    a layout and attributes, and `general`, which takes everything; a `dtype` to compute in is left
    to that. `count`: see :class:`Short`."""
    short = Short(1, count)
    known = short.layouts

    def call(input, *attributes, dtype=None):
        if dtype is not None:
            return general(input, *attributes, dtype=dtype)
        key = input.shape, input.strides, input.dtype, attributes
        try:
            found = known[key]
            short.miss(found, (input,), attributes)
        except KeyError:
            found = known.keep(key, prepare(input, *attributes))
            short.learn(found, (input,), attributes)
        except TypeError:  # attributes that cannot be a key
            return general(input, *attributes)
        if found is not None:
            result = found(input)
            if result is not NotImplemented:
                return result
        return general(input, *attributes)

    call.general, call.short = general, short
    return call


def by_layouts(prepare, general, count=None, failures=None):
    """:func:`by_layout` for ``f(array, array, *attributes)``. `failures`: a counter in memory;
    what a call gives that raises it is not used."""
    short = Short(2, count, failures=0 if failures is None else ctypes.addressof(failures))
    known = short.layouts

    def call(a, b, *attributes):
        key = a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype, attributes
        try:
            found = known[key]
            short.miss(found, (a, b), attributes)
        except KeyError:
            found = known.keep(key, prepare(a, b, *attributes))
            short.learn(found, (a, b), attributes)
        except TypeError:  # attributes that cannot be a key
            return general(a, b, *attributes)
        if found is not None:
            before = None if failures is None else failures.value
            result = found(a, b)
            if result is not NotImplemented and (failures is None or failures.value == before):
                return result
        return general(a, b, *attributes)

    call.general, call.short = general, short
    return call
