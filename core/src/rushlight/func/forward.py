"""Forward-mode transforms: `jvp`, `jacfwd`, `hessian`, `linearize`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from rushlight.dtypes import FLOAT
from rushlight.func.batching import vmap
from rushlight.func.reverse import _identity, _with_aux, jacrev
from rushlight.func.trees import (
    argument,
    check_argnums,
    check_real,
    flat_tensors,
    unwrapped,
    with_argument,
)
from rushlight.ops._transforms.differentiation import pullback, zero_like
from rushlight.ops._transforms.forward import DualLevel, dual
from rushlight.ops._transforms.wrappers import shed
from rushlight.ops.creation.tensors import ones_like, zeros
from rushlight.utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["hessian", "jacfwd", "jvp", "linearize"]


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict=False,
    has_aux=False,
) -> tuple[Any, ...]:
    """``(func(*primals), J @ tangents)``: the value, and its derivative along `tangents`.

    With `strict` an output that does not depend on the primals is an error; otherwise its
    derivative is zero. With `has_aux` the function gives ``(output, aux)``, and `aux` comes last.
    """
    for value, what in ((primals, "primals"), (tangents, "tangents")):
        if not isinstance(value, tuple):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {what} to be a tuple. E.g. it should be "
                f"valid to call f(*primals); got {type(value).__name__}"
            )
    leaves, spec = flat_tensors(primals, "jvp(f, primals, tangents)", "primals")
    moves, move_spec = flat_tensors(tangents, "jvp(f, primals, tangents)", "tangents")
    _check_tangents(leaves, moves, spec, move_spec)
    for tensors, what in ((leaves, "primal"), (moves, "tangent")):
        for leaf in tensors:
            if leaf._dtype.category < FLOAT:
                raise ValueError(
                    f"Expected {what} to be floating point or complex, but got: {leaf._dtype}"
                )
    if not leaves:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to contain at least one Tensor."
        )
    with DualLevel() as level:
        duals = [dual(p, t, level) for p, t in zip(leaves, moves, strict=True)]
        output, aux = func(*tree_unflatten(duals, spec)), None
        if has_aux:
            output, aux = _with_aux("jvp(f, primals, tangents)", output)
    outs, out_spec = flat_tensors(output, "jvp(f, primals, tangents)", "f(*primals)")
    values = [shed(o, level) for o in outs]
    found = [_tangent(o, v, level, strict) for o, v in zip(outs, values, strict=True)]
    result = tree_unflatten(values, out_spec), tree_unflatten(found, out_spec)
    return (*result, unwrapped(aux, lambda t: shed(t, level))) if has_aux else result


def _tangent(out, value, level, strict):
    if getattr(out, "_level", None) is level:
        return out._tangent
    if strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
            "This is not allowed with strict=True."
        )
    return zero_like(value)


def _check_tangents(leaves, moves, spec, move_spec):
    if spec != move_spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python "
            f"structure. For example, if primals is a tuple of 3 tensors, tangents also must be. "
            f"Got primals with structure {spec} and tangents with structure {move_spec}"
        )
    for p, t in zip(leaves, moves, strict=True):
        if p._array.shape != t._array.shape:
            raise RuntimeError(
                f"jvp: a tangent has shape {list(t.shape)}; expected that of its primal, "
                f"{list(p.shape)}"
            )


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux=False,
    *,
    randomness="error",
) -> Callable[..., Any]:
    """The Jacobian by forward mode, all columns in one batched pass: for an output of shape S and
    an argument of shape T a tensor of shape ``(*S, *T)``."""
    check_argnums("jacfwd", argnums)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        inputs = argument(args, argnums)
        leaves, in_spec = flat_tensors(inputs, "jacfwd", "the arguments")
        if not leaves:
            raise RuntimeError("jacfwd: Expected the arguments to contain at least one Tensor.")
        check_real(leaves, "jacfwd", "inputs")
        columns, seen = [], {}

        def chosen(tree):
            return func(*with_argument(args, argnums, tree), **kwargs)

        for number, leaf in enumerate(leaves):

            def push(unit, number=number, leaf=leaf):
                given = [
                    unit.reshape(tuple(x.shape)) if k == number else zeros(
                        tuple(x.shape), dtype=x.dtype, device=x.device
                    )
                    for k, x in enumerate(leaves)
                ]  # fmt: skip
                found = jvp(chosen, (inputs,), (tree_unflatten(given, in_spec),), has_aux=has_aux)
                flat, seen["spec"] = tree_flatten(found[1])
                check_real(flat, "jacfwd", "outputs")
                seen["shapes"] = [tuple(t.shape) for t in flat]
                aux = tree_flatten(found[2])[0] if has_aux else []
                seen["aux"] = tree_flatten(found[2])[1] if has_aux else None
                return flat, aux

            flat, aux = vmap(push, randomness=randomness)(_identity(leaf._array.size, leaf))
            columns.append([
                column.movedim(0, -1).reshape((*shape, *leaf.shape))
                for column, shape in zip(flat, seen["shapes"], strict=True)
            ])  # fmt: skip
        rows = [tree_unflatten(list(row), in_spec) for row in zip(*columns, strict=True)]
        result = tree_unflatten(rows, seen["spec"])
        if not has_aux:
            return result
        return result, tree_unflatten([a[0] for a in aux], seen["aux"])

    return wrapper


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The second derivatives of a scalar function: forward mode over reverse mode.

    >>> import rushlight
    >>> rushlight.func.hessian(lambda x: (x**3).sum())(rushlight.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals) -> tuple[Any, Callable[..., Any]]:
    """``(func(*primals), push)``: ``push(*tangents)`` gives the derivative along tangents like the
    primals. `func` runs once, here: `push` only repeats what is linear."""
    leaves, spec = flat_tensors(primals, "linearize", "primals")
    seen = {}

    def flat(*tensors):
        outs, seen["spec"] = flat_tensors(
            func(*tree_unflatten(list(tensors), spec)), "linearize", "f(*primals)"
        )
        return outs

    outputs, pull = pullback(flat, leaves)
    _, transpose = pullback(lambda *v: pull(v), [ones_like(o) for o in outputs])

    def push(*tangents):
        """The derivative along the tangents."""
        moves, move_spec = flat_tensors(tangents, "linearize", "the tangents")
        _check_tangents(leaves, moves, spec, move_spec)
        for number, (p, t) in enumerate(zip(leaves, moves, strict=True)):
            if p._dtype is not t._dtype:
                raise RuntimeError(
                    f"linearize: tangent:{number} has dtype {t._dtype}; expected that of its "
                    f"primal, {p._dtype}"
                )
        return tree_unflatten(transpose(moves), seen["spec"])

    return tree_unflatten(outputs, seen["spec"]), push
