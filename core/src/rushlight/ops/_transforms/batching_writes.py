"""In-place writes, copies and random fills inside of `vmap`."""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.ops._transforms.batching import aligned, batched, call, is_batched
from rushlight.ops._transforms.wrappers import call_op, replace, shed
from rushlight.ops.creation import conversion
from rushlight.ops.indexing import items
from rushlight.ops.random import sampling
from rushlight.tensor.tensor import Tensor


def inplace(level, variant, op, target, values):
    """``target.op_(...)`` on all examples."""
    if not is_batched(target, level):
        raise _captured(op.name + "_")
    if variant == "inplace_view":
        view = call_op(op, [target._rewrapped(target._inner), *values[1:]])
        target._inner, target._array = view._inner, view._array
        return target
    if op.kind == "elementwise":
        ndim = target.dim()
        inner = [aligned(v, level, ndim) if isinstance(v, Tensor) else v for v in values]
        larger = any(isinstance(v, Tensor) and v.dim() > ndim for v in values)
        if not larger:
            named = dict(zip(op.names[op.positional :], inner[op.positional :], strict=True))
            op.inplace(*inner[: op.positional], **named)
            return target
    return _store(op.name + "_", target, call_op(op, [_before(target), *values[1:]]))


def _before(target):
    """What the target holds now: a copy, where the op below may save it for a backward pass."""
    if mode.recording:
        return target._rewrapped(target._inner.clone())
    return target


def _captured(name):
    return RuntimeError(
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in "
        "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
        f"over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
        f"operators instead of {name}. If said operator is being called inside the PyTorch "
        "framework, please file a bug report instead."
    )


def _store(name, target, new):
    if new._array.shape != target._array.shape:
        raise RuntimeError(
            f"{name}: output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(new.shape)}"
        )
    level = target._level
    target._inner.copy_(new._inner if is_batched(new, level) else new)
    return target


def special(level, function, args, kwargs):
    """Functions on arrays that are no ops: copying in, filling, writing at an index, drawing."""
    if function is conversion.copy_:
        target, source = args[:2]
        if not is_batched(target, level):
            raise _captured(function.__name__)
        target._inner.copy_(aligned(source, level, target.dim()))
        return target
    if function is conversion.fill_:
        if not is_batched(args[0], level):
            raise _captured(function.__name__)
        value = args[1]
        if isinstance(value, Tensor):
            return args[0].copy_(value)
        args[0]._inner.fill_(value)
        return args[0]
    if function is items.put:
        target, index, values, accumulate = args
        if not is_batched(target, level):
            raise _captured("index_put_")
        new = call(level, items._index_put.op, [_before(target), values, index, accumulate])
        return _store("index_put_", target, new)
    if function is sampling.fill_with:
        from rushlight.ops._transforms.batching_random import fill_batched

        return fill_batched(level, function, *args)
    # makers of tensors like another one: one for each example
    found = function(*replace(tuple(args), lambda t: shed(t, level)), **kwargs)
    return batched(found, level)
