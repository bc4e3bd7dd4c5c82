"""The ops that `run_decompositions` takes apart: the default, and a table to change."""

from __future__ import annotations

from collections.abc import Callable

from rushlight.fx.experimental.decompositions import core
from rushlight.library.operators import COMPOSITE, Operator

__all__ = ["CustomDecompTable", "default_decompositions"]


def _stays(*args, **kwargs):
    """What is called instead of an op that stays."""
    return NotImplemented


class CustomDecompTable(dict):
    """Overloads of ATen by what is called instead: the default table of
    :meth:`~rushlight.export.ExportedProgram.run_decompositions`, which it may be given to.

    An op whose entry is deleted stays in the graph; an entry that is set takes an op apart. Ops
    without an entry stay whole, so that deleting one that PyTorch's table takes apart is no error;
    deleting it twice is. Views whose parts are always written down (``flatten``, ``chunk``)
    cannot be kept.

    Example:
        >>> import rushlight
        >>> table = rushlight.export.default_decompositions()
        >>> del table[rushlight.ops.aten.linear.default]
        >>> program = rushlight.export.export(rushlight.nn.Linear(3, 2), (rushlight.ones(1, 3),))
        >>> nodes = program.run_decompositions(table).graph.find_nodes(op="call_function")
        >>> [str(node.target) for node in nodes]
        ['aten.linear.default']
    """

    def __init__(self):
        super().__init__(core())
        self._deleted: set = set()

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self._deleted.discard(key)

    def __delitem__(self, key):
        self.pop(key)

    def update(self, other_dict):
        """Set the entries of another table."""
        for key, value in other_dict.items():
            self[key] = value

    def pop(self, key, *default):
        """Delete an entry, so that its op stays in the graph, and give what was called instead.

        Args:
            key: the overload.
            default: what to give for an op that was deleted before, or that cannot be kept.

        Raises:
            KeyError: such an op, and there is no `default`.
            NotImplementedError: a custom operator whose parts are in programs from the start.
        """
        if len(default) > 1:
            raise TypeError(f"pop(): expected at most 2 arguments, got {1 + len(default)}")
        if key in self:
            self._deleted.add(key)
            return super().pop(key)
        if isinstance(key, Operator) and COMPOSITE in key.kernels:
            raise NotImplementedError(
                f"CustomDecompTable: {key} cannot be kept: its implementation is composite, and "
                "export() writes down its parts; register it for 'CPU' instead"
            )
        if key not in self._deleted and _may_stay(key):
            self._deleted.add(key)
            return _stays
        if default:
            return default[0]
        raise KeyError(f"{key} doesn't exist in the table")

    def copy(self) -> CustomDecompTable:
        """A table of the same entries."""
        made = CustomDecompTable()
        dict.clear(made)
        dict.update(made, self)
        made._deleted = set(self._deleted)
        return made

    def materialize(self) -> dict[object, Callable]:
        """The entries as a plain dict."""
        return dict(self)


def _may_stay(key):
    """Whether graphs have an op as it is: an overload, but no composite whose results are views."""
    if isinstance(key, Operator):
        return True
    if getattr(key, "namespace", None) != "aten" or not hasattr(key, "_schema"):
        return False
    op = getattr(key.overloadpacket._function, "op", None)
    views = any("(" in kind and "!" not in kind for kind in key._schema.returns)
    return not (views and op is not None and op.kind == "composite")


def default_decompositions() -> CustomDecompTable:
    """A new table of the ops that :meth:`~rushlight.export.ExportedProgram.run_decompositions`
    takes apart by default: those of networks (``linear``, ``matmul``, convolutions, norms, pooling,
    resampling, activations, dropout, attention, recurrent layers, losses), general ones (``lerp``,
    ``masked_fill``, ``roll``, ``std``, ``logsumexp``, ``diag_embed``, ``outer``), and those that
    PyTorch's core ATen graphs have as others (``t`` and ``transpose`` as ``permute``, ``zeros`` as
    ``full``). Recurrent layers over sequences of free length stay whole, attention whose heads
    have a free size, resampling by the ratio of free sizes and less common functions, and so does
    ``reshape``: whether it is a ``view`` depends on strides, which programs do not know.

    Example:
        >>> import rushlight
        >>> table = rushlight.export.default_decompositions()
        >>> rushlight.ops.aten.linear.default in table, rushlight.ops.aten.relu.default in table
        (True, False)
    """
    return CustomDecompTable()
