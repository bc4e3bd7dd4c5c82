"""PyTorch's path to tables of ATen ops by what is called instead: for ``decomposition_table`` of
`make_fx` and ``decompositions`` of `aot_function`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rushlight.fx.experimental.decompositions import core
from rushlight.library.kinds import OpOverload, OpOverloadPacket

decomposition_table: dict = {}  # what `register_decomposition` adds without a registry


def core_aten_decompositions() -> dict:
    """The overloads that :meth:`~rushlight.export.ExportedProgram.run_decompositions` takes apart,
    by the functions that it calls instead; one that returns NotImplemented leaves a call whole.

    >>> import rushlight
    >>> from rushlight._decomp import core_aten_decompositions
    >>> rushlight.ops.aten.silu.default in core_aten_decompositions()
    True
    """
    return core()


def get_decompositions(aten_ops: Iterable, type: str = "post_autograd") -> dict:  # noqa: A002
    """The entries of some ops, of those that have one: registered ones, and the core table's.

    Args:
        aten_ops: overloads (``rushlight.ops.aten.silu.default``), or ops, which mean all of theirs.
        type: PyTorch's word for when a table is used; there is one table here.

    >>> import rushlight
    >>> from rushlight._decomp import get_decompositions
    >>> [str(op) for op in get_decompositions([rushlight.ops.aten.silu, rushlight.ops.aten.mm])]
    ['aten.silu.default']
    """
    wanted = set(aten_ops)
    known = {**core(), **decomposition_table}
    return {op: f for op, f in known.items() if op in wanted or op.overloadpacket in wanted}


def remove_decompositions(decompositions: dict, aten_ops: Iterable) -> None:
    """Delete the entries of ops, or of overloads, from a table; none for those without."""
    wanted = set(aten_ops)
    for op in list(decompositions):
        if op in wanted or op.overloadpacket in wanted:
            del decompositions[op]


def register_decomposition(
    aten_op, registry: dict | None = None, *, type: str = "post_autograd",  # noqa: A002
    unsafe: bool = False,
) -> Callable:  # fmt: skip
    """A decorator: the function is what :func:`get_decompositions` gives for an overload, for all
    overloads of an op, or for several in a list.

    Args: `registry` is another table to add to; `type` and `unsafe` are accepted. Raises TypeError
    for what is no ATen op, RuntimeError for an overload that has an entry in the table already.

    >>> import rushlight
    >>> from rushlight._decomp import register_decomposition
    >>> table = {}
    >>> @register_decomposition(rushlight.ops.aten.logit.default, table)
    ... def logit(x, eps=None):
    ...     return (x / (1 - x)).log()
    >>> list(table) == [rushlight.ops.aten.logit.default]
    True
    """
    table = decomposition_table if registry is None else registry
    overloads = _overloads(aten_op)

    def register(function):
        for overload in overloads:
            if overload in table:
                raise RuntimeError(f"duplicate registrations for {overload}")
            table[overload] = function
        return function

    return register


def _overloads(aten_op):
    """The overloads that an op, an overload or a list of these stands for."""
    if isinstance(aten_op, OpOverload):
        return [aten_op]
    if isinstance(aten_op, OpOverloadPacket):
        return [getattr(aten_op, name) for name in aten_op.overloads()]
    if isinstance(aten_op, list | tuple):
        return [overload for each in aten_op for overload in _overloads(each)]
    raise TypeError(f"register_decomposition(): expected an op of ATen, got {aten_op!r}")


__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "register_decomposition",
    "remove_decompositions",
]
