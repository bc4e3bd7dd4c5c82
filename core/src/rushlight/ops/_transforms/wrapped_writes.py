"""In-place writes to wrapped tensors of levels that record (`grad`, forward mode).

Nothing is written to memory: the wrapper gets a new inner tensor, a view's write becomes a new
value of its base, and the other views of that base are taken anew.
"""

from __future__ import annotations

from rushlight.dtypes import can_cast
from rushlight.errors import shape_text
from rushlight.ops._table.arrays import link
from rushlight.ops._transforms.wrappers import call_op, placeholder, take_out, write_out
from rushlight.ops.creation import conversion
from rushlight.ops.indexing import items
from rushlight.ops.random import sampling
from rushlight.ops.shape import views as shape_views
from rushlight.tensor.storage import storage_of

RECORDING = ("grad", "jvp")  # the kinds of levels that record
_new = object.__new__


def alias(tensor):
    """Another object that is the same tensor."""
    out = _new(type(tensor))
    out._array, out._dtype = tensor._array, tensor._dtype
    out._node, out._storage = tensor._node, tensor._storage
    out.__dict__.update(tensor.__dict__)
    return out


def _root(tensor):
    return tensor if tensor._base is None else tensor._base


def _views(root):
    storage = root._storage
    return [] if storage is None else [v for v in storage.live_views() if v._base is root]


def lift(target, level):
    """Make a tensor of a lower level, with all its views, wrappers of this one."""
    root = _root(target)
    if getattr(root, "_level", None) is level:
        return
    views = _views(root)
    inner = alias(root)
    paths = [(v, alias(v)) for v in views]
    _become(root, inner, level)
    storage = storage_of(root)
    for view, below in paths:
        path, below._base = view._path, inner
        if inner._storage is not None:
            inner._storage.add_view(below)
        _become(view, below, level)
        view._base, view._path, view._storage = root, path, storage
        storage.add_view(view)


def _become(tensor, inner, level):
    writable = tensor._writable
    tensor.__class__ = level.wrapper
    tensor.__dict__.clear()
    tensor._array, tensor._node = placeholder(inner._array.shape, inner._dtype.code), None
    tensor._storage = None
    tensor._inner, tensor._level = inner, level
    level.wrapper.complete(tensor)
    if writable is not None:
        tensor._writable = writable


def write(level, op, target, values):
    """``target.op_(...)``: `values` are all arguments, the target first."""
    lift(target, level)
    before = alias(target)
    new = call_op(op, [before, *values[1:]])
    if not can_cast(new._dtype, target._dtype):
        raise RuntimeError(
            f"{op.name}_: result type {new._dtype} can't be cast to the desired output type "
            f"{target._dtype}"
        )
    if new._array.shape != target._array.shape:
        raise RuntimeError(
            f"{op.name}_: output with shape {shape_text(target._array.shape)} doesn't match the "
            f"broadcast shape {shape_text(new._array.shape)}"
        )
    assign(target, new.to(target._dtype))
    return target


def assign(target, new):
    """Give a wrapper the value of another tensor, and its views and its base theirs."""
    if target._writable is not None:
        raise RuntimeError(target._writable)
    base = target._base
    if base is None:
        views = _views(target)
        target.rebind(new)
        base = target
    else:
        views = [v for v in _views(base) if v is not target]
        updated = shape_views.view_scatter(alias(base), new, target._path)
        base.rebind(updated)
        target.rebind(new)
    for view in views:
        view.rebind(shape_views.follow(view._path, alias(base)))


def gives_views(op):
    """Whether the results of an op are views of its first argument."""
    return op.kind == "view"


class Item:
    """A view op that gives several, as the one that gives one of them."""

    def __init__(self, op, number):
        self.op, self.number = op, number
        self.options, self.positional = op.options, op.positional

    def replay(self, tensor, values):
        """The same view of another tensor."""
        return self.op.replay(tensor, values)[self.number]


class _Detaching:
    """``detach()`` as a view op."""

    options: dict = {}
    positional = 1

    @staticmethod
    def body(array):
        """The same elements."""
        return array

    @staticmethod
    def replay(tensor, values):
        """The same of another tensor."""
        return tensor.detach()


DETACHING = _Detaching()


def link_views(op, views, values, many):
    """Note that wrappers are views of the first argument, and that one of several is not written
    to."""
    for number, out in enumerate(views):
        link(out, values[0], Item(op, number) if many else op, values)
        if many:
            out._writable = f"Output of '{op.name}' is one of several views: clone it first."


def process(level, function, args, kwargs, call):
    """Run a call at a level: ``call(level, op, values)`` runs ops that are no composites."""
    op = getattr(function, "op", None)
    if op is None:
        return special(level, function, args, kwargs)
    variant = getattr(function, "variant", None)
    if variant == "inplace":
        return write(level, op, args[0], op.bind(args, kwargs))
    if variant == "inplace_view":
        return inplace_view(level, op, args[0], op.bind(args, kwargs))
    out = take_out(op, kwargs)
    values = op.bind(args, kwargs)
    result = op.run(values) if op.kind == "composite" else call(level, op, values)
    return result if out is None else write_out(out, result)


def special(level, function, args, kwargs):
    """Functions on arrays that are no ops: copying in, filling, writing at an index, drawing."""
    if function is conversion.copy_:
        return write(level, conversion._copy.op, args[0], [args[0], args[1]])
    if function is conversion.fill_:
        return write(level, conversion._fill.op, args[0], [args[0], args[1]])
    if function is items.put:
        target, index, values, accumulate = args
        return write(level, items._index_put.op, target, [target, values, index, accumulate])
    if function is sampling.fill_with:
        target, sample = args
        inner = target._inner if getattr(target, "_level", None) is level else target
        lift(target, level)
        assign(target, function(inner.detach().clone(), sample))
        return target
    # makers of tensors like another one
    from rushlight.ops._transforms.wrappers import replace, shed

    return function(*replace(tuple(args), lambda t: shed(t, level)), **kwargs)


def inplace_view(level, op, target, values):
    """``target.t_()`` and the like: the wrapper takes the shape of its own view."""
    view = call_op(op, [alias(target), *values[1:]])
    target._array = view._array
    target.rebind(view)
    return target
