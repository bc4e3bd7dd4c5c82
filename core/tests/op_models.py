"""Every op of the table with its samples, as models that are captured and exported."""

from __future__ import annotations

import importlib
import pkgutil

import rushlight
import rushlight.export
import rushlight.nn.functional
import rushlight.ops
from rushlight import nn
from rushlight.export.dynamic.export import declaration_of
from rushlight.ops._table.op import TABLE
from rushlight.testing.samples import samples_of
from rushlight.utils import _pytree as pytree

UNDEFINED = frozenset(["empty_permuted", "empty_strided", "new_empty_strided"])  # memory as it is


def _names():
    for module in pkgutil.walk_packages(rushlight.ops.__path__, "rushlight.ops."):
        if not any(part in module.name for part in ("._table", "._t", "._calls", "former")):
            importlib.import_module(module.name)
    public = [n for n in TABLE if n[0] != "_" and n not in UNDEFINED]
    return sorted(n for n in public if samples_of(TABLE[n]))


NAMES = _names()


class Call(nn.Module):
    """An op as a model: its tensors are inputs, the rest is fixed."""

    def __init__(self, function, leaves, spec):
        super().__init__()
        self.function, self.leaves, self.spec = function, leaves, spec

    def forward(self, *tensors):
        left = iter(tensors)
        leaves = [next(left) if rushlight.is_tensor(v) else v for v in self.leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.function(*args, **kwargs)


def cases(name, change=lambda tensor: tensor):
    """The samples of an op as models with their inputs, each of which `change` may convert."""
    for args, kwargs in samples_of(TABLE[name]):
        leaves, spec = pytree.tree_flatten((args, kwargs))
        leaves = [change(v.detach()) if rushlight.is_tensor(v) else v for v in leaves]
        inputs = tuple(v for v in leaves if rushlight.is_tensor(v))
        yield Call(TABLE[name].function, leaves, spec).eval(), inputs


def rows_free(inputs):
    """`dynamic_shapes` that let the first size of every tensor differ, if the program does."""
    auto = rushlight.export.Dim.AUTO
    return tuple({0: auto} if x.ndim and len(x) else None for x in inputs)


def with_other_rows(program, inputs):
    """Inputs with other first sizes, and elements of the given ones; None where all are fixed."""
    sizes = declaration_of(program).sizes
    if not program.range_constraints:
        return None
    first = sum(n.op == "placeholder" for n in program.graph.nodes) - len(inputs)
    values = {str(s): 7 + 2 * i for i, s in enumerate(program.range_constraints)}
    found = []
    for place, x in enumerate(inputs):
        size = sizes.get((first + place, 0))
        rows = None if size is None else rushlight.arange(size.value(values)) % len(x)
        found.append(x if rows is None else x.index_select(0, rows))
    return tuple(found)
