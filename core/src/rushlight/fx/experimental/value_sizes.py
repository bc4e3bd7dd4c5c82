"""Numbers that a captured program reads from tensors, and sizes that depend on values."""

from __future__ import annotations

from typing import Any

from rushlight.dtypes import bool_
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from rushlight.fx.locations import at_user_line
from rushlight.library.operators import lookup
from rushlight.ops._transforms.capturing import Captured
from rushlight.tensor.tensor import sized


class ValueSizes:
    """What a recorder does about them; `draws` gives the numbers, if the capture takes any."""

    pending: list
    draws: Any = None

    def number_of(self, tensor):
        """The one element of a tensor, as a number that depends on values."""
        dtype, source = tensor._dtype, f"item() of '{self.name(tensor)}'"
        if self.draws is None or tensor.numel() != 1 or dtype.is_complex or dtype is bool_:
            return self.value_needed(tensor, "item")
        node = self.node("call_function", lookup("aten").item.default, (tensor,), {})
        real = None if self.level.fake else tensor._inner.item()
        if dtype.is_floating_point:
            node.meta["reads_values"] = True
            return self.draws.given(self.draws.read_float(node, source, real))
        found = self.draws.take(source=source, real=real)
        node.meta["val"] = int(found)
        self._note(found, node, None)
        return self.draws.given(found)

    def _note(self, drawn, node, dim):
        """Remember where a number comes from."""
        self.draws.origins[str(drawn.expression)] = node, dim
        node.meta["reads_values"] = True

    def drawing(self, function, real=None):
        """What gives sizes for the results of a step whose sizes depend on values: those of the
        `real` results where these are there."""
        name = function.__name__.strip("_")
        several = real if isinstance(real, tuple | list) else (real,)

        def draw(least=0, most=None, dim=0, result=0, also=()):
            if self.draws is None:
                raise GuardOnDataDependentSymNode(
                    at_user_line(
                        f"{name}(): the size of the result depends on the values of its arguments, "
                        "which are not there here; export() takes such programs"
                    )
                )
            size = None if real is None else sized(several[result])[dim]
            found = self.draws.take(least, most, f"a size of what {name}() gives", size)
            self.pending += [(found, *each) for each in ((dim, result), *also)]
            return int(found)

        return draw

    def sized(self, step, tensor, result=0):
        """Let a result, of several the one at a position, know which of its sizes depend on
        values."""
        if self.draws is None or not self.draws.values:
            return tensor
        found = {}
        for drawn, dim, position in self.pending:
            if position == result:
                found[dim] = drawn
                self._note(drawn, tensor._fx_node, dim)
        self.pending = [each for each in self.pending if each[2] > result]
        if not found:
            known = _known(step)
            found = {d: known[n] for d, n in enumerate(sized(tensor)) if n in known}
        if found:
            tensor._drawn_sizes = {dim: self.draws.given(size) for dim, size in found.items()}
        return tensor


def _known(step):
    """The numbers of a step's arguments that depend on values, unless another one is equal."""
    drawn, fixed = {}, set()
    for value in _leaves((step.args, step.kwargs)):
        for size in value.shape if isinstance(value, Captured) else (value,):
            if hasattr(size, "draws"):
                drawn.setdefault(size.as_plain(), size)
            elif type(size) is int or hasattr(size, "made_by"):  # a size that is tracked
                fixed.add(int(size))
    return {number: size for number, size in drawn.items() if number not in fixed}


def _leaves(value):
    """All that is in tuples, lists and dicts."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]
