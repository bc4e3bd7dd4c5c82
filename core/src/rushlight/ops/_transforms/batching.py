"""`vmap`: tensors with one dimension that the mapped function does not see.

A :class:`Batched` holds its inner tensor with that dimension first. How an op runs on all examples
at once follows from its kind: elementwise ops align, composites run their body, and the other ops
have a rule from :mod:`rushlight.ops._transforms.batching_rules`. What has none runs once for each
example, with one warning for each op; `fallbacks` counts these loops by name.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter

from rushlight.autograd.engine import grad
from rushlight.errors import shape_text
from rushlight.ops._table.arrays import link
from rushlight.ops._table.op import TABLE, TENSORS
from rushlight.ops._table.rules import result_type
from rushlight.ops._transforms.wrappers import (
    Level,
    ReadsValuesError,
    Wrapped,
    below,
    call_op,
    in_form,
    replace,
    shed,
    take_out,
    wrap,
    write_out,
)
from rushlight.ops.creation.tensors import ones_like
from rushlight.tensor.tensor import Tensor

fallbacks: Counter = Counter()  # loops over a batch, by the op's name
_warned: set[str] = set()


class Batched(Wrapped):
    """One example of many, as the mapped function sees it; ``_inner`` has all, in dimension 0."""

    __slots__ = ()

    def _rewrapped(self, inner):
        return batched(inner, self._level)

    @staticmethod
    def gradients(level, outputs, inputs, gradients, options):
        """The gradients of all examples at once: those of one do not depend on the others."""
        if not all(is_batched(t, level) for t in (*outputs, *inputs)):
            raise NotImplementedError(
                "autograd.grad inside of vmap by a tensor that all examples share: use "
                "rushlight.func.grad or vjp inside of vmap"
            )
        outs = [t._inner for t in outputs]
        given = [None if g is None else front(g, level) for g in gradients]
        given = [ones_like(o) if g is None else g for g, o in zip(given, outs, strict=True)]
        found = grad(outs, [t._inner for t in inputs], given, **options)
        return tuple(None if g is None else batched(g, level) for g in found)

    def _made_like(self, made):
        size = self._level.size
        made = made.expand((size, *made._array.shape)).clone()
        return batched(super()._made_like(made), self._level)

    def is_contiguous(self, *args, **kwargs):
        """Whether one example is."""
        return self._inner[0].is_contiguous(*args, **kwargs) if len(self._inner) else True

    def stride(self, dim=None):
        """Of one example."""
        steps = self._inner.stride()[1:]
        return steps if dim is None else steps[dim]

    def item(self):
        """Refused: the examples may differ."""
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
            "calling .item() on a Tensor, please try to rewrite what you're doing with other "
            "operations."
        )

    tolist = __int__ = __float__ = __complex__ = __index__ = item

    def _control(self):
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
            "flow. We don't support that yet: use torch.where or other operations instead."
        )

    __bool__ = _control


class VmapLevel(Level):
    """One `vmap` in progress over `size` examples."""

    __slots__ = ()
    wrapper = Batched

    def __init__(self, size, randomness):
        super().__init__("vmap", process, size, randomness)


def batched(inner, level):
    """A wrapper around all examples."""
    return wrap(Batched, inner, level, inner._array.shape[1:])


def in_rows(inner, level):
    """All examples, each as one row; there may be none."""
    size = level.size
    count = inner.numel() // size if size else math.prod(inner._array.shape[1:])
    return inner.reshape(size, count)


def is_batched(value, level):
    """Whether a value differs from example to example at this level."""
    return getattr(value, "_level", None) is level


def process(level, function, args, kwargs):
    """Run a call on all examples."""
    op = getattr(function, "op", None)
    if op is None:
        from rushlight.ops._transforms import batching_writes as _batching_writes

        return _batching_writes.special(level, function, args, kwargs)
    variant = getattr(function, "variant", None)
    if variant is not None:
        from rushlight.ops._transforms import batching_writes as _batching_writes

        values = op.bind(args, kwargs)
        return _batching_writes.inplace(level, variant, op, args[0], values)
    out = take_out(op, kwargs)
    values = op.bind(args, kwargs)
    result = _composite(level, op, values) if op.kind == "composite" else call(level, op, values)
    return result if out is None else write_out(out, result)


def _composite(level, op, values):
    from rushlight.ops._transforms import batching_rules as _batching_rules

    rule = _batching_rules.rule_of(op)
    if rule is not None:
        return rewrapped(rule(level, op, values), level)
    try:
        return op.run(values)
    except ReadsValuesError:
        return loop(level, op, values)


def call(level, op, values):
    """Run an op with arrays below it on all examples."""
    from rushlight.ops._transforms import batching_rules as _batching_rules

    if op.kind == "elementwise":
        return rewrapped(elementwise(level, op, values), level)
    rule = _batching_rules.rule_of(op)
    if rule is None:
        return loop(level, op, values)
    found = rule(level, op, values)
    if found is NotImplemented:
        return loop(level, op, values)
    result = rewrapped(found, level)
    if op.kind == "view":
        _note_path(op, values, result)
    return result


def _note_path(op, values, result):
    """What functions that put values back into a view ask for."""
    for out in result if isinstance(result, tuple) else (result,):
        link(out, values[0], op, values)


def rewrapped(result, level):
    """Wrap what a rule gave: tensors that have all examples in their first dimension."""
    if isinstance(result, Tensor):  # a rule may also be written in terms of single examples
        return result if is_batched(result, level) else batched(result, level)
    items = [r if r is None or is_batched(r, level) else batched(r, level) for r in result]
    return in_form(result, items)


def front(value, level):
    """All examples, in dimension 0: repeated without copying if they are all the same."""
    if is_batched(value, level):
        return value._inner
    return value.expand((level.size, *value._array.shape))


def aligned(value, level, ndim):
    """The inner tensor with as many dimensions after the first as `ndim`; others as they are."""
    if not is_batched(value, level):
        return value
    inner, shape = value._inner, value._array.shape
    if len(shape) == ndim:
        return inner
    return inner.reshape((level.size, *(1,) * (ndim - len(shape)), *shape))


def elementwise(level, op, values):
    """Broadcast: examples first, then the dimensions that the function sees."""
    tensors = [values[p] for p in op.tensor_positions if isinstance(values[p], Tensor)]
    ndim = max(t._array.ndim for t in tensors)
    inners = {}
    for position in op.tensor_positions:
        if isinstance(values[position], Tensor):
            inners[position] = aligned(values[position], level, ndim)
    if not ndim or len(tensors) > 1:
        _keep_promotion(op, values, inners)
    found = [inners.get(i, v) for i, v in enumerate(values)]
    return call_op(op, found)


def _keep_promotion(op, values, inners):
    """Examples without dimensions count as such in type promotion, though their batch has one."""
    if op.kind != "elementwise":
        return
    aside = op.options.get("aside", ())
    positions = [p for p in inners if p not in aside]
    kinds = {values[p]._dtype for p in positions}
    numbers = [
        values[p]
        for p in op.tensor_positions
        if p not in inners and p not in aside and values[p] is not None
    ]
    numbers += [
        values[op.index[n]]
        for n in op.options.get("promotes", ())
        if not isinstance(values[op.index[n]], Tensor)
        and values[op.index[n]] is not op.defaults[op.index[n]]
    ]
    if len(kinds) == 1 and not numbers:
        return
    wanted = result_type([values[p] for p in positions], numbers)
    if result_type([inners[p] for p in positions], numbers) is not wanted:
        for p in positions:
            inners[p] = inners[p].to(wanted)


# -------------------------------------------------------------------------------------- fallback
def loop(level, op, values):
    """One call for each example."""
    name = op.name
    fallbacks[name] += 1
    if name not in _warned:
        _warned.add(name)
        warnings.warn(
            f"There is a performance drop because we have not yet implemented the batching rule "
            f"for {name}: it runs once for each example of the batch.",
            stacklevel=5,
        )
    if not level.size:
        raise RuntimeError(f"vmap: {name} has no batching rule and cannot run on no examples")
    results = []
    with below(level):
        for number in range(level.size):
            one = [
                replace(v, lambda t, n=number: t._inner[n] if is_batched(t, level) else t)
                for v in values
            ]
            results.append(call_op(op, one))
    return stacked(results, level)


def stacked(results, level):
    """The results of all examples as one batch."""
    stack = TABLE["stack"].function
    first = results[0]
    if isinstance(first, Tensor):
        shapes = {tuple(r._array.shape) for r in results}
        if len(shapes) > 1:
            listed = ", ".join(shape_text(s) for s in sorted(shapes))
            raise RuntimeError(
                f"vmap: the examples give results of different shapes: {listed}. We do not "
                "support batching operators that can output dynamic shape."
            )
        return batched(stack(results), level)
    items = [
        None if column[0] is None else stacked(list(column), level)
        for column in zip(*results, strict=True)
    ]
    return in_form(first, items)


def tensors_of(op, values):
    """The tensors among bound arguments, lists flattened."""
    found = []
    for position in op.tensor_positions:
        value = values[position]
        found += list(value) if op.kinds[position] == TENSORS else [value]
    return [t for t in found if isinstance(t, Tensor)]


def unbatched(values, level):
    """Bound arguments with the level's wrappers replaced by what they hold."""
    return [replace(v, lambda t: shed(t, level)) for v in values]
