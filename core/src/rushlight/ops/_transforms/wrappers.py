"""Wrapped tensors: what function transforms pass to the functions they transform.

A transform (`vmap`, forward mode, `grad` inside of those) is a :class:`Level` on this thread's
stack. Its wrappers stand for an inner tensor of the levels below. They are subclasses of Tensor,
so an op that meets one goes by the slow path, which hands it to the deepest level among its
arguments: that level unwraps, calls the same op below itself, and wraps. Where no wrapper is
involved nothing here is loaded, and an op's short way knows nothing of it.
"""

from __future__ import annotations

import importlib
from typing import Any

from rushlight import devices
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.machine.forking import MODES
from rushlight.tensor.dispatch import PLAIN, STATE, innermost_capture, stack
from rushlight.tensor.subclasses import without_subclass
from rushlight.tensor.tensor import Tensor

_new = object.__new__


class Level:
    """One transform in progress. `process` is the function that takes ops of its wrappers."""

    __slots__ = ("alive", "depth", "kind", "leaves", "process", "randomness", "size")

    def __init__(self, kind, process, size=None, randomness="error"):
        self.kind, self.process, self.size, self.randomness = kind, process, size, randomness
        self.alive, self.depth, self.leaves = True, 0, []

    def __enter__(self):
        levels = stack.levels
        self.depth = levels[-1].depth + 1 if levels else 1
        levels.append(self)
        with MODES:
            STATE.levels += 1
        return self

    def __exit__(self, *exc):
        self.alive = False
        stack.levels.remove(self)
        with MODES:
            STATE.levels -= 1

    def __repr__(self):
        return f"<{self.kind} level {self.depth}>"


class below:  # noqa: N801 - reads as a word
    """Inside, the given level and those deeper are not in effect."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        self.levels = stack.levels
        stack.levels = [x for x in self.levels if x.depth < self.level.depth]

    def __exit__(self, *exc):
        stack.levels = self.levels


class ReadsValuesError(RuntimeError):
    """Something asked for the elements of a wrapped tensor."""


def _refuse(*args, **kwargs):
    raise ReadsValuesError(
        "this function reads the elements of its arguments, which is not possible inside of a "
        "function transform (vmap, jvp, jacfwd, ...) nor while a program is captured: compute it "
        "outside, or with other operations"
    )


def refusing(kind, message):
    """Have the class of placeholders `kind` say `message` where elements are read."""

    def refuse(*args, **kwargs):
        raise ReadsValuesError(message)

    for name, value in vars(Placeholder).items():
        if value is _refuse:
            setattr(kind, name, refuse)


class Placeholder(np.ndarray):
    """The shape and dtype of a wrapped tensor. Reading elements is an error."""

    __slots__ = ()
    __array_ufunc__ = __array_function__ = __getitem__ = __setitem__ = _refuse
    astype = copy = item = tolist = tobytes = __bool__ = __int__ = __float__ = _refuse
    __index__ = __complex__ = fill = _refuse


_ELEMENTS = [
    np.full((), (True if d.kind == "b" else np.iinfo(d).max) if d.kind in "biu" else np.nan, d)
    for d in BY_CODE
]


def placeholder(shape, code):
    """A placeholder; every element it has is the same one, a number that shows up if read."""
    element = _ELEMENTS[code]
    return np.ndarray.__new__(Placeholder, shape, element.dtype, element, 0, (0,) * len(shape))


class Wrapped(Tensor):
    """A tensor as one level sees it. ``_inner`` is the tensor below, ``_level`` whose it is."""

    __slots__ = ()
    _inner: Tensor
    _level: Any
    _asked_by_ops = True  # functions made of ops need not ask it

    @staticmethod
    def takes(function):
        """Whether a function that is no op is taken whole, and not op by op."""
        return False

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """Hand a call to the deepest level among the arguments."""
        return dispatch(function, args, kwargs or {})

    @property
    def requires_grad(self):
        """Whether operations on this tensor are recorded, at this level or below."""
        return self._node is not None or self._inner.requires_grad

    @requires_grad.setter
    def requires_grad(self, value):
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad=True):
        """Refused inside of transforms, which say themselves what they differentiate by."""
        if not requires_grad:
            return self.detach()
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using "
            "torch.autograd.functional.* APIs) inside of a function being transformed by a "
            "functorch transform. This is unsupported, please attempt to use the functorch "
            "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() "
            "outside of a function being transformed instead."
        )

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Refused inside of transforms."""
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "rushlight.func.grad or vjp (or autograd.grad) instead or call backward() outside of "
            "the transforms."
        )

    @property
    def is_leaf(self):
        """Whether nothing was recorded for it."""
        return self._node is None and self._inner.is_leaf

    def detach(self):
        """The same values, outside of what any level records."""
        return self._rewrapped(self._inner.detach())

    def _alias(self):
        return self.detach()

    def _rewrapped(self, inner):
        return wrap(type(self), inner, self._level)

    @staticmethod
    def gradients(level, outputs, inputs, gradients, options):
        """`autograd.grad` of wrappers that the ordinary graph does not know."""
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")

    def _made_like(self, made):
        """A new tensor as ``self.new_zeros`` gives it: each example of a batch has its own."""
        return self._inner._made_like(made) if isinstance(self._inner, Wrapped) else made

    def _refresh(self):
        """Views of wrappers are renewed when their base is written to."""

    def is_contiguous(self, *args, **kwargs):
        """As the tensor below."""
        return self._inner.is_contiguous(*args, **kwargs)

    def stride(self, dim=None):
        """As the tensor below."""
        return self._inner.stride(dim)

    def storage_offset(self):
        """As the tensor below."""
        return self._inner.storage_offset()

    def data_ptr(self):
        """As the tensor below."""
        return self._inner.data_ptr()

    def item(self):
        """The number in a tensor of one element."""
        return self._inner.item()

    def tolist(self):
        """The elements as nested lists."""
        return self._inner.tolist()

    def numpy(self, **options):
        """Wrapped tensors have no array."""
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage: numpy() inside of a "
            "function transform"
        )

    def __array__(self, *args, **kwargs):
        """Wrapped tensors have no array."""
        return self.numpy()

    def __bool__(self):
        """The truth of the element, from the tensor below."""
        return bool(self._inner)

    def __int__(self):
        """The element as an int, from the tensor below."""
        return int(self._inner)

    def __float__(self):
        """The element as a float, from the tensor below."""
        return float(self._inner)

    def __complex__(self):
        """The element as a complex number, from the tensor below."""
        return complex(self._inner)

    def __index__(self):
        """The element as an index, from the tensor below."""
        return self._inner.__index__()

    def __deepcopy__(self, memo):
        """A copy of the values."""
        return self.clone()

    def __getitem__(self, index):
        """Part of the tensor; see :func:`rushlight.ops.indexing.items.getitem`."""
        return getitem(self, index)

    def __repr__(self):
        return f"{type(self).__name__}(level={self._level.depth}, {self._inner!r})"


def getitem(self, index):
    """``self[index]`` where a wrapped tensor may be part of the index."""
    from rushlight.ops.indexing import items as indexing

    items = index if isinstance(index, tuple) else (index,)
    found = [i for i in items if isinstance(i, Wrapped)]
    if any(i._level.kind == "capture" for i in found) and not _transformed(self, found):
        return importlib.import_module("rushlight.ops.indexing.captured_items").getitem(self, index)
    tracing = tracing_level(found)
    if tracing is not None:
        return tracing.process(tracing, getitem, (self, index), {})
    if found:
        from rushlight.ops._transforms.batching_indices import getitem_wrapped

        return getitem_wrapped(self, items)
    return indexing.getitem(self, index)


def tracing_level(items):
    """The level of ``jit.trace`` to which one of wrapped tensors belongs; None without one."""
    return next((x._level for x in items if x._level.kind == "tracing"), None)


def _transformed(self, items):
    """Whether a level inside of the capture has a part in an index."""
    return any(getattr(x, "_level", items[0]._level).kind != "capture" for x in (self, *items))


def wrap(kind, inner, level, shape=None):
    """A wrapper of class `kind` around `inner`; its shape, if not the inner one's."""
    if type(inner) not in PLAIN and level.kind != "capture":
        inner = without_subclass(Tensor, inner)
    out = _new(kind)
    shape = inner._array.shape if shape is None else shape
    out._array, out._dtype = placeholder(shape, inner._dtype.code), inner._dtype
    out._node = out._storage = None
    if inner._device is not devices.cpu:
        out._device = inner._device
    out._inner, out._level = inner, level
    return out


def wrappers_in(args):
    """All wrapped tensors in arguments and in sequences among them."""
    found = []
    for value in args:
        if isinstance(value, Wrapped):
            found.append(value)
        elif type(value) in (tuple, list):
            found += wrappers_in(value)
        elif type(value) is dict:
            found += wrappers_in(value.values())
    return found


def replace(value, change):
    """`value` with every tensor in it (and in sequences in it) replaced by ``change(tensor)``."""
    if isinstance(value, Tensor):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)(replace(v, change) for v in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[replace(v, change) for v in value])
    return value


def dispatch(function, args, kwargs):
    """Run a call at the deepest level among its arguments."""
    found = wrappers_in((*args, *kwargs.values()))
    level = max((w._level for w in found), key=_depth)
    if level.kind == "capture" and level.alive:  # a part of a program may be captured on its own
        level = innermost_capture()
    if not level.alive:
        if level.kind == "vmap":
            raise RuntimeError(
                "a tensor escaped from inside of a function that was transformed by vmap: return "
                "it from the function instead"
            )
        args = replace(tuple(args), lambda t: shed(t, level))
        kwargs = {k: replace(v, lambda t: shed(t, level)) for k, v in kwargs.items()}
        return function(*args, **kwargs)
    return level.process(level, function, args, kwargs)


def _depth(level):
    return level.depth


def shed(tensor, level):
    """The tensor below, if the wrapper is the level's; else the tensor."""
    return tensor._inner if getattr(tensor, "_level", None) is level else tensor


def is_plain(tensor):
    """Whether a tensor is no wrapper."""
    return type(tensor) in PLAIN or not isinstance(tensor, Wrapped)


def call_op(op, values):
    """The op's public function on bound values."""
    if len(values) == op.positional:
        return op.function(*values)
    names = op.names[op.positional :]
    return op.function(
        *values[: op.positional], **dict(zip(names, values[op.positional :], strict=True))
    )


def in_form(result, items):
    """Several results in the form of others: a named tuple of their kind, or a tuple."""
    return type(result)(*items) if hasattr(result, "_fields") else tuple(items)


def take_out(op, kwargs):
    """The tensors given as ``out=``, taken out of the keywords; None if there are none."""
    if op is not None and "out" in kwargs and "out" not in op.index:
        return kwargs.pop("out")
    return None


def write_out(out, result):
    """Write results into the tensors given as ``out=``."""
    pairs = zip(out, result, strict=True) if isinstance(out, (tuple, list)) else ((out, result),)
    for target, value in pairs:
        target.copy_(value)
    return out
