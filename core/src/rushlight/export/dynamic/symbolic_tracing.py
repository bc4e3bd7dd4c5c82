"""Functions captured with all sizes of arguments free: `make_fx` with "symbolic"."""

from __future__ import annotations

from rushlight.export.dynamic import sampling
from rushlight.export.dynamic.capturing import Captures
from rushlight.export.dynamic.declared import Constraint, Declaration
from rushlight.export.dynamic.expressions import SymFloat, SymInt, ValueRanges, symbol
from rushlight.fx.experimental.symbolic_shapes import ShapeEnv
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


def traced(trace, args):
    """The module of ``trace(args, devices, draws)`` that computes with the sizes of `args`.

    Equal sizes are one symbol, 0 and 1 are fixed, as PyTorch has it; sizes that the function needs
    to be what they are become so, which the module's ``shape_env.guards`` say.
    """
    leaves, spec = pytree.tree_flatten(args)
    declaration = _all_free(leaves)
    before = dict(declaration.free)

    def at(sizes, sample, draws):
        given = sampling.resized(leaves, sizes, sample)
        devices = [leaf.device if isinstance(leaf, Tensor) else None for leaf in leaves]
        return trace(pytree.tree_unflatten(given, spec), devices, draws)

    captures = Captures(at, declaration, sampling.multiples)
    settled, found = captures.settled()
    settled, found = captures.within(settled, found)
    module = captures.at(settled.sizes, found.sample)
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    places = {(inputs[leaf], dim): e for (leaf, dim), e in settled.sizes.items()}
    drawn = found.write(places, checked=False)
    module.graph.eliminate_dead_code(lambda node: not _is_size(node))
    module.graph.lint()
    module.recompile()
    module.shape_env = _environment(before, settled, drawn, found.conditions)
    return module


def _all_free(leaves):
    """All sizes above 1, and numbers; equal ones are the same."""
    found, names = Declaration(), {}

    def note(place, size, label):
        name = names.setdefault(size, f"s{len(names)}")
        found.free.setdefault(
            name, Constraint(name, ValueRanges(2, float("inf")), size, True, True)
        )
        found.labels.setdefault(name, label)
        found.sizes[place] = symbol(name)

    for leaf, value in enumerate(leaves):
        if isinstance(value, Tensor):
            for dim, size in enumerate(value.shape):
                if size > 1:
                    note((leaf, dim), size, f"argument {leaf}, size {dim}")
        elif type(value) is int and value > 1:
            note((leaf, None), value, f"argument {leaf}")
    return found


def _is_size(node):
    return isinstance(node.meta.get("val"), SymInt | SymFloat) and not node.meta.get("reads_values")


def _environment(before, settled, drawn, conditions):
    """What the capture took for granted of sizes that were free `before`."""
    made = ShapeEnv()
    for name, one in before.items():
        key = symbol(name)
        made.var_to_val[key], made.var_to_range[key] = one.example, one.range
        same = settled.free.get(name)
        if same is None:
            made.guard("Eq", name, one.example)
            made.var_to_range[key] = ValueRanges(one.example, one.example)
        elif same.range.lower > one.range.lower:
            made.guard(">=", name, same.range.lower)
            made.var_to_range[key] = same.range
    made.var_to_range.update(drawn)
    for kind, left, right in conditions:
        made.deferred(kind, left, right)
    return made
