"""The results of operators of the user, for drafts: their dtypes and dimensions where these cannot
be told without running them, or where the fake kernel tells them wrongly."""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight.devices import meta
from rushlight.ops.creation.tensors import empty
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


class Forms(NamedTuple):
    """What a call of an operator gives: for each result its dtype and number of dimensions; the
    `reason` why the fake kernel does not say so, None without one."""

    operator: Any
    reason: str | None
    several: bool
    results: tuple

    def sized(self, draw):
        """Such results without values, whose sizes ``draw()`` gives."""
        made = [
            empty([draw(0, None, dim, i) for dim in range(count)], dtype=dtype, device=meta)
            for i, (dtype, count) in enumerate(self.results)
        ]
        return tuple(made) if self.several else made[0]


def forms_of(operator, values, result) -> Forms | None:
    """The forms of a call's result; None where the operator has a fake kernel that gives them, or
    where there is more than tensors."""
    several = isinstance(result, tuple | list)
    results = tuple(result) if several else (result,)
    if not results or not all(isinstance(one, Tensor) for one in results):
        return None
    forms = tuple((one.dtype, one.ndim) for one in results)
    if operator.fake is None and "meta" not in operator.kernels:
        return Forms(operator, None, several, forms)
    fake = _without_values(operator, values)
    reason = None if fake is None else _difference(fake, results)
    return Forms(operator, reason, several, forms) if reason else None


def _without_values(operator, values):
    """What the fake kernel gives; None where it raises, which exports tell by themselves."""
    given = pytree.tree_map_only(Tensor, lambda t: t.detach().to(meta), values)
    try:
        found = operator.run(given)
    except Exception:
        return None
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def _difference(fake, real):
    if len(fake) != len(real):
        return f"it gives {len(fake)} results, the operator {len(real)}"
    for one, other in zip(fake, real, strict=True):
        if one.dtype is not other.dtype:
            return f"its result has dtype {one.dtype}, the operator's {other.dtype}"
        if one.shape != other.shape:
            return f"its result has shape {tuple(one.shape)}, the operator's {tuple(other.shape)}"
    return None


def has_operators(graph_module) -> bool:
    """Whether a graph calls operators of the user, whose fake kernels may be wrong."""
    targets = (node.target for node in graph_module.graph.nodes)
    return any(getattr(target, "_custom", False) for target in targets)
