"""How a user names sizes that may differ: `Dim`, and structures of it beside the arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from rushlight.export.dynamic.expressions import Expression, add, symbol, times
from rushlight.export.tracing import _positional
from rushlight.utils import _pytree as pytree

__all__ = ["Dim", "ShapesCollection", "dims"]
LEAST = 2  # a limit that PyTorch does not print, as it takes 0 and 1 for special


@dataclass(frozen=True)
class DimHint:
    """What `Dim.AUTO`, `Dim.DYNAMIC` and `Dim.STATIC` are; ONNX's axes have a name too."""

    kind: str
    min: int | None = None
    max: int | None = None
    name: str | None = None

    def __call__(self, min=None, max=None):  # noqa: A002 - PyTorch's names
        """The same with a least and a greatest size."""
        if min is not None and max is not None and max < min:
            raise AssertionError(f"Dim.{self.kind}: max {max} is less than min {min}")
        return replace(self, min=min, max=max)

    def __repr__(self):
        limits = {"min": self.min, "max": self.max}
        given = [f"{word}={limit}" for word, limit in limits.items() if limit is not None]
        return f"DimHint({', '.join([self.kind, *given])})"


class Dim:
    """A size that may differ from call to call; equal objects of one name are equal sizes.

    Arithmetic with whole numbers gives sizes that depend on it: ``2 * batch``, ``batch + 1``.
    `Dim.AUTO` lets the export find out, `Dim.DYNAMIC` demands that the size may differ,
    `Dim.STATIC` that it does not.

    Args:
        name: an identifier, which messages, ranges and ONNX models have.
        min: the least size, by default 0.
        max: the greatest size, by default none.

    Raises:
        AssertionError: `name` is no identifier, or `max` is less than `min`.

    Example:
        >>> import rushlight
        >>> batch = rushlight.export.Dim("batch", min=2, max=64)
        >>> (batch.__name__, batch.min, batch.max, 2 * batch)
        ('batch', 2, 64, 2*batch)
    """

    AUTO = DimHint("AUTO")
    DYNAMIC = DimHint("DYNAMIC")
    STATIC = DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):  # noqa: A002
        if not isinstance(name, str) or not name.isidentifier():
            raise AssertionError(f"Dim(): name must be an identifier, got {name!r}")
        self.min = 0 if min is None else min
        self.max: float = math.inf if max is None else max
        if self.max < self.min:
            raise AssertionError(f"Dim({name!r}): max {max} is less than min {min}")
        self.__name__, self.root, self.expression = name, self, symbol(name)

    def _derived(self, expression: Expression) -> Dim:
        made = object.__new__(Dim)
        made.root, made.expression = self.root, expression
        made.__name__ = str(expression)
        name, most = self.root.__name__, self.root.max
        made.min = expression.value({name: self.root.min})
        made.max = most if most == math.inf else expression.value({name: most})
        return made

    def __add__(self, other):
        _check_whole("adding", other)
        return self._derived(add(self.expression, other))

    __radd__ = __add__

    def __sub__(self, other):
        _check_whole("subtracting", other)
        return self._derived(add(self.expression, -other))

    def __mul__(self, other):
        _check_whole("multiplying by", other)
        if other <= 0:
            raise NotImplementedError(f"Dim: {self} times {other}: expected a positive number")
        return self._derived(times(other, self.expression))

    __rmul__ = __mul__

    def __str__(self):
        return self.__name__.replace(" + -", " - ")

    def __repr__(self):
        if self.root is not self:
            return str(self)
        least = [f"min={self.min}"] if self.min != LEAST else []
        most = [f"max={self.max}"] if self.max != math.inf else []
        return f"Dim({', '.join([repr(self.__name__), *least, *most])})"


def _check_whole(what, other):
    if type(other) is not int:
        raise NotImplementedError(f"Dim: {what} {other!r}: only whole numbers are possible")


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:  # noqa: A002
    """Several :class:`Dim` of one range."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """Sizes by tensor: ``shapes[x] = {0: batch}``, or ``shapes[x][0] = batch``; goes where
    `dynamic_shapes` goes."""

    def __init__(self):
        self._found = {}

    def __setitem__(self, tensor, shape):
        """The sizes of one of the arguments."""
        self._found[id(tensor)] = tensor, shape

    def __getitem__(self, tensor):
        """The sizes of one of the arguments, to be set one by one."""
        return self._found.setdefault(id(tensor), (tensor, {}))[1]

    def __len__(self):
        return len(self._found)

    def dynamic_shapes(self, m, args, kwargs=None):
        """The structure beside the arguments, by the module's names of them."""
        named = dict(_positional(getattr(m, "forward", m), args)) | (kwargs or {})
        of = lambda leaf: self._found.get(id(leaf), (None, None))[1]  # noqa: E731
        leaves, spec = pytree.tree_flatten(named)
        return pytree.tree_unflatten(map(of, leaves), in_lists(spec))


def in_lists(spec: pytree.TreeSpec) -> pytree.TreeSpec:
    """The structure that `dynamic_shapes` has beside one of arguments: objects of registered
    classes become lists of their parts."""
    if spec.is_leaf():
        return spec
    builtin = spec.type in pytree.BUILTIN_TYPES
    kind, context = (spec.type, spec.context) if builtin else (list, None)
    return pytree.TreeSpec(kind, context, list(map(in_lists, spec.children_specs)))
