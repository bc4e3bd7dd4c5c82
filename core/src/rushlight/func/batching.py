"""`vmap`: a function of one example as a function of many."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from rushlight.func.trees import prefix_leaves
from rushlight.ops._transforms.batching import VmapLevel, batched, fallbacks, is_batched
from rushlight.ops._transforms.wrappers import Wrapped
from rushlight.random import get_rng_state, set_rng_state
from rushlight.tensor.dispatch import innermost
from rushlight.tensor.tensor import Tensor
from rushlight.utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["debug_unwrap", "fallback_counts", "vmap"]

_RANDOMNESS = ("error", "different", "same")


def fallback_counts(reset: bool = False) -> dict[str, int]:
    """How often `vmap` ran an op once for each example, by op; `reset` starts at zero again."""
    counts = dict(fallbacks)
    if reset:
        fallbacks.clear()
    return counts


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What a tensor inside of a transform holds: the one below, or the innermost with `recurse`.
    For looking at while debugging; computing with it is not what the transform computes."""
    if recurse:
        return innermost(tensor)
    return tensor._inner if isinstance(tensor, Wrapped) else tensor


def vmap(
    func: Callable[..., Any],
    in_dims=0,
    out_dims=0,
    randomness="error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """`func` for every example along a dimension of its arguments, all at once.

    `in_dims` says which dimension of each argument is mapped over: an int, None for an argument
    that is the same for all, or a structure like the arguments'. `out_dims` says where the results
    have it. `randomness` is what random functions do inside: refuse ("error"), draw for each
    example ("different"), or once for all ("same"). `chunk_size` limits how many examples are
    computed at a time.

    >>> import rushlight
    >>> dots = rushlight.vmap(rushlight.dot)
    >>> dots(rushlight.ones(3, 5), rushlight.ones(3, 5))
    tensor([5., 5., 5.])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        dims, leaves, spec, size = _inputs(func, in_dims, args)

        def run(part, count):
            return _run(func, dims, part, spec, count, out_dims, randomness, kwargs)

        if chunk_size is None or chunk_size >= size:
            parts = run(leaves, size)
            return tree_unflatten(parts[0], parts[1])
        return _in_chunks(run, dims, leaves, size, randomness, chunk_size)

    return wrapped


def _name(func):
    return getattr(func, "__name__", repr(func))


def _inputs(func, in_dims, args):
    """The mapped dimension of each leaf of the arguments, the leaves, how many examples."""
    name = _name(func)
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a "
            f"(potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = prefix_leaves(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the "
            f"structure of inputs: in_dims has structure {tree_flatten(in_dims)[1]} but inputs has "
            f"structure {spec}."
        )
    found, sizes = [], []
    for leaf, dim in zip(leaves, dims, strict=True):
        found.append(_checked_dim(name, in_dims, leaf, dim))
        if dim is not None:
            sizes.append(leaf.shape[found[-1]])
    if not sizes:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): at least one input must be mapped "
            "over: in_dims has no dimension."
        )
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return found, leaves, spec, sizes[0]


def _checked_dim(name, in_dims, leaf, dim):
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input"
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"{call} but in_dim must be either an integer dimension or None.")
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{call} but the input is of type {type(leaf)}. We cannot vmap over non-Tensor "
            "arguments, please use None as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"{call}, but that input is a Tensor of dimensionality {leaf.dim()} so expected in_dim "
            f"to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
        )
    return dim % leaf.dim()


def _run(func, dims, leaves, spec, size, out_dims, randomness, kwargs):
    """The leaves of the results of all examples, their structure, and where each has them."""
    with VmapLevel(size, randomness) as level:
        wrapped = [
            leaf if dim is None else batched(leaf.movedim(dim, 0) if dim else leaf, level)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        results = func(*tree_unflatten(wrapped, spec), **kwargs)
        outs, out_spec = tree_flatten(results)
        places = prefix_leaves(out_dims, out_spec)
        if out_spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
            places = list(out_dims)
        if places is None:
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
                f"compatible with the structure of `outputs`: out_dims has structure "
                f"{tree_flatten(out_dims)[1]} but outputs has structure {out_spec}."
            )
        found = [
            _released(out, place, level, func, out_dims)
            for out, place in zip(outs, places, strict=True)
        ]
    return found, out_spec, places


def _released(out, place, level, func, out_dims):
    """A result with all examples in the dimension asked for."""
    name = _name(func)
    if not isinstance(out, Tensor):
        if place is None:
            return out
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}. Did you "
            "mean to set out_dims= to None for output?"
        )
    if place is None:
        if is_batched(out, level):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return out
    if not isinstance(place, int):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
            "collection of ints representing where in the outputs the vmapped dimension should "
            "appear."
        )
    inner = out._inner if is_batched(out, level) else None
    if inner is None:
        inner = out.expand((level.size, *out.shape))
    if not -inner.dim() <= place < inner.dim():
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-inner.dim()}, "
            f"{inner.dim() - 1}], but got {place})"
        )
    place %= inner.dim()
    return inner.movedim(0, place) if place else inner


def _in_chunks(run, dims, leaves, size, randomness, chunk_size):
    """The results of ``run(part of the leaves, examples)`` joined."""
    from rushlight.ops.shape.joining import cat

    rows, last = [], None
    state = get_rng_state() if randomness == "same" else None
    for start in range(0, size, chunk_size):
        if start and state is not None:
            set_rng_state(state)  # what is drawn once for all is the same in every chunk
        count = min(chunk_size, size - start)
        part = [
            leaf if dim is None else leaf.narrow(dim, start, count)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        found, out_spec, places = run(part, count)
        rows.append(found)
        last = out_spec, places
    joined = [
        column[0] if place is None else cat(list(column), place)
        for column, place in zip(zip(*rows, strict=True), last[1], strict=True)
    ]
    return tree_unflatten(joined, last[0])
