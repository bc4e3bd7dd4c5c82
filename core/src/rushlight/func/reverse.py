"""Reverse-mode transforms: `grad`, `grad_and_value`, `vjp`, `jacrev`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from rushlight.autograd.mode import recorded
from rushlight.dtypes import COMPLEX, FLOAT
from rushlight.func.batching import vmap
from rushlight.func.trees import (
    argument,
    check_argnums,
    check_real,
    flat_tensors,
    unwrapped,
    with_argument,
)
from rushlight.ops._transforms.differentiation import grad_level, zero_like
from rushlight.ops.creation.tensors import zeros
from rushlight.tensor.tensor import Tensor
from rushlight.utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["grad", "grad_and_value", "jacrev", "vjp"]


def _tracked(level, leaves, name):
    found = []
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"Thing passed to transform API must be Tensor, got {type(leaf)} ({name})"
            )
        if leaf._dtype.category < FLOAT:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients; "
                f"{name} got one of dtype {leaf.dtype}"
            )
        found.append(level.track(leaf))
    return found


def _with_aux(name, found):
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return found


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux=False
) -> Callable[..., Any]:
    """A function that gives ``(gradient, value)`` of a scalar function, by the arguments numbered
    `argnums`; with `has_aux` the function gives ``(value, aux)`` and the result is
    ``(gradient, (value, aux))``."""
    check_argnums("grad", argnums)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        level = grad_level()
        leaves, spec = tree_flatten(argument(args, argnums))
        with level, recorded():
            tracked = _tracked(level, leaves, "grad_and_value(f)(*args)")
            given = with_argument(args, argnums, tree_unflatten(tracked, spec))
            output = func(*given, **kwargs)
            aux = None
            if has_aux:
                output, aux = _with_aux("grad_and_value(f)(*args)", output)
            _check_scalar(output)
            # the pass itself records only where somebody outside differentiates by it
            found = level.gradients([output], tracked, [_one(output)])
        pieces = [
            zero_like(leaf) if g is None else level.release(g)
            for leaf, g in zip(leaves, found, strict=True)
        ]
        value = level.release(output)
        gradient = tree_unflatten(pieces, spec)
        if has_aux:
            return gradient, (value, unwrapped(aux, level.release))
        return gradient, value

    return wrapper


def _one(output):
    from rushlight.ops.creation.tensors import ones

    return ones((), dtype=output.dtype, device=output.device)


def _check_scalar(output):
    if not isinstance(output, Tensor):
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a single tensor, got type "
            f"{type(output)}"
        )
    if output.dim():
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor "
            f"with {output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    if output._dtype.category == COMPLEX:
        raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a real scalar")


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux=False
) -> Callable[..., Any]:
    """The gradient of a scalar function, by the arguments numbered `argnums`.

    >>> import rushlight
    >>> rushlight.func.grad(rushlight.sin)(rushlight.tensor(0.0))
    tensor(1.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func: Callable[..., Any], *primals, has_aux=False) -> tuple[Any, ...]:
    """``(func(*primals), pull)``: ``pull(cotangents)`` gives a tuple of gradients, one a primal.

    With `has_aux` the function gives ``(output, aux)``, and so does this before `pull`.
    """
    outputs, spec, pull, aux = _pulled(func, primals, has_aux)
    whole = tree_unflatten(outputs, spec)
    return (whole, pull, aux) if has_aux else (whole, pull)


def _pulled(func, primals, has_aux):
    level = grad_level()
    leaves, spec = tree_flatten(primals)
    with level, recorded():
        tracked = _tracked(level, leaves, "vjp(f, *primals)")
        output, aux = func(*tree_unflatten(tracked, spec)), None
        if has_aux:
            output, aux = _with_aux("vjp(f, *primals)", output)
    outs, out_spec = flat_tensors(output, "vjp(f, *primals)", "f(*primals)")
    _check_outputs(outs)

    def pull(cotangents, retain_graph=True, create_graph=None):
        """The gradients for cotangents like the outputs; the graph is kept for further calls
        unless `retain_graph` is False. They are differentiable where somebody outside asks for it
        and `create_graph` is not False."""
        given, given_spec = tree_flatten(cotangents)
        _check_cotangents(given, given_spec, outs, out_spec)
        create = False if create_graph is False else None  # what is recorded is found out
        found = level.gradients(outs, tracked, given, create, retain_graph)
        pieces = [
            zero_like(leaf) if g is None else g for leaf, g in zip(leaves, found, strict=True)
        ]
        result = tree_unflatten(pieces, spec)
        return tuple(result)

    released = [level.release(o) for o in outs]
    return released, out_spec, pull, unwrapped(aux, level.release) if has_aux else None


def _check_outputs(outs):
    """Raise RuntimeError unless there are outputs, all of floating point or complex dtype."""
    if not outs:
        raise RuntimeError(
            "vjp(f, *primals): Expected f to be a function that has non-empty output (got output = "
            "[])"
        )
    for out in outs:
        if out._dtype.category < FLOAT:
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {out._dtype}"
            )


def _check_cotangents(given, given_spec, outs, out_spec):
    if given_spec != out_spec:
        raise RuntimeError(
            f"Expected pytree structure of cotangents to be the same as pytree structure of "
            f"outputs to the function. cotangents: {given_spec}, primal output: {out_spec}"
        )
    for v, o in zip(given, outs, strict=True):
        if v is not None and not isinstance(v, Tensor):
            raise TypeError(
                f"vjp: cotangents can be either Tensors or None, but got {type(v).__name__}"
            )
        if v is not None and v._array.shape != o._array.shape:
            raise RuntimeError(
                f"vjp: a cotangent has shape {list(v.shape)}; expected that of the output, "
                f"{list(o.shape)}"
            )


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux=False,
    chunk_size: int | None = None,
    _preallocate_and_copy=False,
) -> Callable[..., Any]:
    """The Jacobian by reverse mode, all rows in one batched pass, or `chunk_size` rows at a time:
    for an output of shape S and an argument of shape T a tensor of shape ``(*S, *T)``."""
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    check_argnums("jacrev", argnums)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        def chosen(tree):
            return func(*with_argument(args, argnums, tree), **kwargs)

        inputs = argument(args, argnums)
        leaves, in_spec = tree_flatten(inputs)
        check_real(leaves, "jacrev", "inputs")
        outputs, spec, pull, aux = _pulled(chosen, (inputs,), has_aux)
        check_real(outputs, "jacrev", "outputs")
        rows = [_rows(pull, outputs, spec, k, chunk_size) for k in range(len(outputs))]
        blocks = []
        for out, row in zip(outputs, rows, strict=True):
            shaped = [j.reshape((*out.shape, *x.shape)) for j, x in zip(row, leaves, strict=True)]
            blocks.append(tree_unflatten(shaped, in_spec))
        result = tree_unflatten(blocks, spec)
        return (result, aux) if has_aux else result

    return wrapper


def _rows(pull, outputs, spec, number, chunk_size):
    """The derivatives of the elements of one output, row by row, by every input leaf."""
    out = outputs[number]
    count = out._array.size

    def one(unit):
        given = [
            unit.reshape(tuple(o.shape)) if k == number else zeros(
                tuple(o.shape), dtype=o.dtype, device=o.device
            )
            for k, o in enumerate(outputs)
        ]  # fmt: skip
        return tree_flatten(pull(tree_unflatten(given, spec)))[0]

    basis = _identity(count, out)
    if chunk_size == 1:
        from rushlight.ops.shape.joining import stack

        found = [one(basis[i]) for i in range(count)]
        return [stack(column) for column in zip(*found, strict=True)]
    return vmap(one, chunk_size=chunk_size)(basis)


def _identity(count, like):
    from rushlight.ops.creation.tensors import eye

    return eye(count, dtype=like.dtype, device=like.device)
