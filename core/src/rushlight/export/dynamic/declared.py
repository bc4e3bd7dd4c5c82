"""What `dynamic_shapes` says: which sizes of which arguments may differ, as symbols with ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from rushlight._dynamo.exc import UserError
from rushlight.export.dynamic.additional import AdditionalInputs
from rushlight.export.dynamic.dims import Dim, DimHint, ShapesCollection
from rushlight.export.dynamic.expressions import Expression, ValueRanges, symbol
from rushlight.export.dynamic.sampling import LEAST
from rushlight.export.dynamic.variadic import unpacked
from rushlight.fx.experimental.symbolic_shapes import ConstraintViolationError
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree
from rushlight.utils._pytree.kinds import kind_of


@dataclass
class Constraint:
    """A size that may differ, as `dynamic_shapes` declares it: the symbol's name, its range, the
    size that the example has; whether it may turn out to be fixed (`auto`), or equal to others
    (`inferred`).

    A name for annotations: programs get none of these."""

    name: str
    range: ValueRanges
    example: int
    auto: bool = False
    inferred: bool = False


@dataclass
class Declaration:
    """The free sizes by name, and the expression of each size of an argument's leaf that has one,
    by ``(leaf, dimension)``, of a leaf that is a number itself by ``(leaf, None)``; `labels` says
    in words where that is."""

    free: dict[str, Constraint] = field(default_factory=dict)
    sizes: dict[tuple[int, int], Expression] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    def copied(self):
        """The same, whose ranges may be changed by themselves."""
        return Declaration(dict(self.free), self.sizes, self.labels)

    def without(self, name):
        """The declaration with one size fixed."""
        free = {n: f for n, f in self.free.items() if n != name}
        sizes = {p: e for p, e in self.sizes.items() if name not in e.symbols()}
        return Declaration(free, sizes, self.labels)

    def least(self, name):
        """The least value of a symbol that captures look at: sizes 0 and 1 are left out."""
        lower = self.free[name].range.lower
        of_number = any(d is None and name in e.symbols() for (_, d), e in self.sizes.items())
        return lower if of_number else max(lower, LEAST)

    def only(self, names):
        """The declaration in which no other sizes are free."""
        found = self
        for name in self.free:
            if name not in names:
                found = found.without(name)
        return found

    def merged(self, group):
        """The declaration in which several sizes are the first of them."""
        names = dict.fromkeys(group, group[0])
        sizes = {place: e.renamed(names) for place, e in self.sizes.items()}
        free = {n: f for n, f in self.free.items() if names.get(n, n) == n}
        return Declaration(free, sizes, self.labels)

    def substituted(self, name, expression, roots):
        """The declaration in which a size is an expression of others, `roots`."""
        free = {n: f for n, f in self.free.items() if n != name} | {f.name: f for f in roots}
        sizes = {place: e.substituted(name, expression) for place, e in self.sizes.items()}
        return Declaration(free, sizes, self.labels)


def declared(shapes, names, args, kwargs, module) -> Declaration:
    """The declaration that `dynamic_shapes` makes, for arguments of these names."""
    found = Declaration()
    if shapes is None:
        return found
    if isinstance(shapes, ShapesCollection | AdditionalInputs):
        shapes = shapes.dynamic_shapes(module, args, kwargs)
    structures = _by_argument(unpacked(shapes, module, args, kwargs), names, args, kwargs)
    leaf = 0
    for name, value in zip(names, [*args, *kwargs.values()], strict=True):
        leaf = _argument(found, name, structures.get(name), value, leaf)
    return found


def _by_argument(shapes, names, args, kwargs):
    """What is said of each argument, by name."""
    if isinstance(shapes, dict):
        if shapes and set(shapes) != set(names):
            raise UserError(
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg "
                f"names {names} of `inputs`, but here they are {list(shapes)}. Alternatively, "
                "give a list or tuple in the order of the arguments"
            )
        return shapes
    if not isinstance(shapes, tuple | list) or len(shapes) != len(args) + len(kwargs):
        raise UserError(
            f"export(): dynamic_shapes must be a dict by argument, or a list or tuple of an entry "
            f"for each of the {len(args) + len(kwargs)} arguments, got {shapes!r}"
        )
    return dict(zip(names, shapes, strict=True))


def _argument(found, name, said, value, leaf):
    """Take what is said of an argument; the number of the next argument's first leaf."""
    if isinstance(value, Tensor):
        for dim, spec in _entries(name, said, value):
            _size(found, spec, (leaf, dim), value.shape[dim], f"{name}.shape[{dim}]")
        return leaf + 1
    if type(value) is int and isinstance(said, Dim | DimHint | int):
        _number(found, said, leaf, value, name)
        return leaf + 1
    count = pytree.tree_structure(value).num_leaves
    if said is None:
        return leaf + count
    for part in _parts(name, said, value):
        leaf = _argument(found, *part, leaf)
    return leaf


def _parts(name, said, value):
    """The parts of an argument: their names, what is said of them, and they themselves."""
    if isinstance(value, dict) and isinstance(said, dict):
        return _items(name, said, value)
    if isinstance(said, tuple | list) and (pairs := _keyed(value)) is not None:
        if len(said) != len(pairs):
            raise UserError(
                f"export(): dynamic_shapes of '{name}' has {len(said)} entries, the argument "
                f"{len(pairs)}"
            )
        return [(f"{name}{key}", one, item) for one, (key, item) in zip(said, pairs, strict=True)]
    raise UserError(
        f"export(): dynamic_shapes of '{name}' is {said!r}, but the argument is a "
        f"{type(value).__name__}: sizes belong to tensors"
    )


def _number(found, said, leaf, value, label):
    """Take what is said of an argument that is a whole number."""
    if isinstance(said, Dim):
        raise ValueError(
            "Unable to specify input integers as dynamic through named Dims. Please use Dim.AUTO "
            f"or Dim.DYNAMIC instead, for {label}"
        )
    _size(found, said, (leaf, None), value, label)


def _items(name, said, value):
    """What is said of each value of a dict."""
    if set(said) != set(value):
        raise UserError(
            f"export(): dynamic_shapes of '{name}' has the keys {list(said)}, the argument "
            f"{list(value)}: give every key, with None where no size may differ"
        )
    return [(f"{name}[{key!r}]", said[key], item) for key, item in value.items()]


def _keyed(value):
    """The parts of an argument, for each of which a list has an entry, and the ways to them; None
    for those that have none, and for dicts."""
    _, kind = kind_of(value)
    if kind is None or kind.with_keys is None or isinstance(value, dict):
        return None
    return kind.with_keys(value)[0]


def _entries(name, said, tensor):
    """Pairs of a dimension and what is said of it."""
    if said is None:
        return []
    if isinstance(said, dict):
        pairs = list(said.items())
    elif isinstance(said, tuple | list):
        if len(said) != tensor.ndim:
            raise UserError(
                f"export(): dynamic_shapes of '{name}' has {len(said)} entries for a tensor of "
                f"{tensor.ndim} dimensions"
            )
        pairs = list(enumerate(said))
    else:
        raise UserError(
            f"export(): dynamic_shapes of the tensor '{name}' must be a dict, a list or a tuple, "
            f"got {said!r}"
        )
    _check_dims(name, pairs, tensor)
    return [(dim % tensor.ndim, spec) for dim, spec in pairs]


def _check_dims(name, pairs, tensor):
    for dim, _ in pairs:
        if not isinstance(dim, int):
            raise UserError(
                f"export(): dynamic_shapes of '{name}' names {dim!r}, which is no dimension"
            )
        if not -tensor.ndim <= dim < tensor.ndim:
            raise IndexError(
                f"export(): dynamic_shapes of '{name}' names dimension {dim!r} of a tensor of "
                f"{tensor.ndim} dimensions"
            )


def _size(found, spec, place, size, label):
    """Take what is said of one size."""
    if spec is None or (isinstance(spec, DimHint) and spec.kind == "STATIC"):
        return
    if isinstance(spec, Dim):
        _named(found, spec, place, size, label)
    elif isinstance(spec, DimHint):
        name = _name_for(found, spec, size)
        # what a size of 0 or 1 makes of the program is not looked at, as in PyTorch
        least = 0 if place[1] is None else LEAST
        limits = ValueRanges(max(least, spec.min or 0),
                             math.inf if spec.max is None else spec.max)  # fmt: skip
        found.free[name] = Constraint(name, limits, size, spec.kind == "AUTO", True)
        found.sizes[place], found.labels[name] = symbol(name), label
    elif isinstance(spec, int) and not isinstance(spec, bool):
        if spec != size:
            raise ConstraintViolationError(
                f"Static shape constraint of {spec} does not match input size of {size}, for "
                f"{label}"
            )
    else:
        raise UserError(
            f"export(): dynamic_shapes of {label}: expected a Dim, Dim.AUTO, Dim.DYNAMIC, "
            f"Dim.STATIC, a number or None, got {spec!r}"
        )


def _name_for(found, hint, size):
    """A symbol's name: the hint's, unless that is another size already."""
    known = found.free.get(hint.name)
    if hint.name and (known is None or known.example == size):
        return hint.name
    return f"s{len(found.free)}"


def _named(found, dim, place, size, label):
    name = dim.root.__name__
    example = size if dim.root is dim else _root_of(dim, size, label)
    known = found.free.get(name)
    limits = ValueRanges(dim.root.min, dim.root.max)
    if known is not None and (known.range, known.example) != (limits, example):
        raise ConstraintViolationError(
            f"Dim '{name}' is {known.example} in {limits_text(known.range)} at "
            f"{found.labels[name]}, but {example} in {limits_text(limits)} at {label}: use another "
            "Dim for sizes that are not equal"
        )
    if example not in limits:
        raise ConstraintViolationError(
            f"{example} not in range [{limits.lower}, {limits.upper}], that of Dim '{name}' at "
            f"{label}"
        )
    found.free.setdefault(name, Constraint(name, limits, example))
    found.labels.setdefault(name, label)
    found.sizes[place] = dim.expression


def limits_text(limits):
    """A range in words."""
    return f"[{limits.lower}, {limits.upper}]"


def _root_of(dim, size, label):
    """The size of the Dim that another derives from."""
    name, factor, offset = dim.expression.line()
    found, rest = divmod(size - offset, factor)
    if rest:
        raise ConstraintViolationError(
            f"the size {size} of {label} is not {dim} for any whole {name}"
        )
    return found
