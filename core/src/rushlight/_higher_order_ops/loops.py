"""Loops over the slices of tensors."""

from __future__ import annotations

import contextlib

from rushlight.fx.experimental import slice_loops
from rushlight.inspection import TransformedError, recorder_of
from rushlight.ops.shape.joining import stack
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


def _length(name, leaves, dim):
    """The common length of tensors along a dimension."""
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise RuntimeError(f"{name}: xs must be tensors or structures of them, got {leaves}")
    lengths = {leaf.shape[dim] if leaf.dim() else None for leaf in leaves}
    if len(lengths) != 1 or lengths & {None, 0}:
        raise RuntimeError(
            f"{name}: all xs must have one length above 0 along dimension {dim}, got {lengths}"
        )
    return lengths.pop()


def _stacked(results, dim=0):
    """The results of all steps as one structure of tensors with a dimension more."""
    columns = zip(*[pytree.tree_leaves(result) for result in results], strict=True)
    spec = pytree.tree_structure(results[0])
    return pytree.tree_unflatten([stack(list(column), dim) for column in columns], spec)


def map(f, xs, *args):  # noqa: A001 - PyTorch's name
    """``f(x, *args)`` for every slice `x` of `xs` along dimension 0, stacked.

    >>> import rushlight
    >>> from rushlight._higher_order_ops import map
    >>> map(lambda x, y: x.sum() + y, rushlight.ones(2, 3), rushlight.tensor(1.0))
    tensor([4., 4.])
    """
    leaves, spec = pytree.tree_flatten(xs)
    count = _length("map", leaves, 0)
    recorder = recorder_of([*leaves, *pytree.tree_leaves(args)])
    if recorder is not None:
        with contextlib.suppress(TransformedError):
            return _captured_map(recorder, f, leaves, spec, args)
    slices = [pytree.tree_unflatten([leaf[i] for leaf in leaves], spec) for i in range(count)]
    return _stacked([f(each, *args) for each in slices])


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """``carry, y = combine_fn(carry, x)`` for every slice `x` of `xs` along `dim`, from `init` on;
    the last carry, and all `y` stacked along `dim`. With `reverse` from the last slice to the
    first.

    >>> import rushlight
    >>> from rushlight._higher_order_ops import scan
    >>> add = lambda carry, x: (carry + x, carry * 1)
    >>> scan(add, rushlight.tensor(0.0), rushlight.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 1., 3.]))
    """
    leaves, spec = pytree.tree_flatten(xs)
    count, carry, results = _length("scan", leaves, dim), init, []
    recorder = recorder_of([*leaves, *pytree.tree_leaves(init)])
    if recorder is not None:
        with contextlib.suppress(TransformedError):
            return _captured_scan(recorder, combine_fn, init, (leaves, spec), dim, reverse)
    for i in reversed(range(count)) if reverse else range(count):
        part = pytree.tree_unflatten([leaf.select(dim, i) for leaf in leaves], spec)
        carry, result = combine_fn(carry, part)
        results.append(result)
    if pytree.tree_structure(carry) != pytree.tree_structure(init):
        raise RuntimeError("scan: combine_fn must give a carry of the structure of init")
    return carry, _stacked(results[::-1] if reverse else results, dim)


def _captured_map(recorder, f, leaves, spec, args):
    """`map` as a node; TransformedError where a gradient would be lost."""
    given = []

    def function(*slices):
        found, result_spec = pytree.tree_flatten(f(pytree.tree_unflatten(slices, spec), *args))
        given.append(result_spec)
        return found

    results = slice_loops.record_map(recorder, function, leaves, ())
    return pytree.tree_unflatten(results, given[0])


def _captured_scan(recorder, combine_fn, init, xs, dim, reverse):
    """`scan` as a node; TransformedError where a gradient would be lost."""
    (leaves, spec), (carries, carry_spec), given = xs, pytree.tree_flatten(init), []

    def function(*values):
        carry = pytree.tree_unflatten(values[: len(carries)], carry_spec)
        part = pytree.tree_unflatten(values[len(carries) :], spec)
        carry, result = combine_fn(carry, part)
        flat, found_spec = pytree.tree_flatten(carry)
        if found_spec != carry_spec:
            raise RuntimeError("scan: combine_fn must give a carry of the structure of init")
        found, result_spec = pytree.tree_flatten(result)
        given.append(result_spec)
        return [*flat, *found]

    leaves = [_in_front(leaf, dim, reverse) for leaf in leaves]
    last, results = slice_loops.record_scan(recorder, function, carries, leaves)
    results = [_back(result, dim, reverse) for result in results]
    return pytree.tree_unflatten(last, carry_spec), pytree.tree_unflatten(results, given[0])


def _in_front(tensor, dim, reverse):
    """A tensor with the slices of a loop along dimension 0, in its order."""
    tensor = tensor.movedim(dim, 0) if dim else tensor
    return tensor.flip(0) if reverse else tensor


def _back(tensor, dim, reverse):
    tensor = tensor.flip(0) if reverse else tensor
    return tensor.movedim(0, dim) if dim else tensor
