"""What a node keeps of its call under PyTorch's names: ``node._saved_NAME``.

The names are those of the arguments and results that the gradient formulas of an op read. Where
PyTorch keeps something else the declaration says so by `saves`: words, or a function of the node
that gives them. A word is the name of an argument (``self`` is the first), ``result`` or
``result1`` of an output, or ``self_sym_sizes`` or ``self_sym_numel`` of an argument;
``mat1:input`` is an argument with another name here, ``dim[]`` one number or several as a tuple.
``N:`` is ``saves_as["N"]``, a constant, or a function of a function that reads a word:
``lambda read: read("input_sym_sizes")[0]``, whose `node` is at hand as well.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

from rushlight.ops._table.op import TENSORS, Op
from rushlight.ops.creation.tensors import tensor
from rushlight.tensor.tensor import Tensor

# Numbers of any kind: PyTorch shows those of other arguments that are negative without a sign.
_SCALARS = frozenset(
    "alpha beta exponent input_scale lambd lambda max max_val min min_val negative_slope ord other "
    "p rounding_mode scale self tensor threshold value weight".split()
)
_NO_ARGUMENTS = ("grad", "grads", "needs")
_OF_SHAPES = {
    "_sym_sizes": lambda shape: None if shape is None else tuple(shape),
    "_sym_numel": lambda shape: math.prod(shape),
}


def _output(word: str) -> int | None:
    """The number of the output that a word means, else None."""
    for head in ("result", "out"):
        number = word.removeprefix(head)
        if number != word and (not number or number.isdigit()):
            return int(number or 0)
    return None


def _words_of_formulas(op: Op) -> Iterator[str]:
    """The words of what formulas read."""
    formulas = [op.joint[1]] if op.joint is not None else op.formulas.values()
    for formula in formulas:
        code = formula.__code__
        for name in code.co_varnames[: code.co_argcount]:
            if name in _NO_ARGUMENTS:
                continue
            number = None if name in op.index else _output(name)
            if number is not None:
                yield "result" if op.outputs == 1 and not number else f"result{number}"
                continue
            whole = name.removesuffix("_shape")
            shown = "self" if whole == op.names[0] == "input" else whole
            yield shown if whole == name else f"{shown}_sym_sizes"


def _found(op: Op, name: str, source: str) -> Callable[[Any], Any]:
    """What reads one value of a node."""
    if not source:
        return _computed(op.options["saves_as"][name])
    for suffix, of_shape in _OF_SHAPES.items():
        if source.endswith(suffix):
            position = _position(op, source.removesuffix(suffix))
            return lambda node: of_shape(_shape(node, position))
    if source == "self" or source in op.index:
        position = _position(op, source)
        if position in op.tensor_positions:
            return _TensorOf(position)
        return lambda node: shown((node.values or op.defaults)[position], name in _SCALARS)
    number = _output(source)
    if number is None:
        raise TypeError(f"{op.name}: `saves` names unknown {source!r}")
    return _OutputOf(number)


def _computed(value):
    if not callable(value):
        return lambda node: value
    return lambda node: shown(value(_Reader(node)))


class _Reader:
    """Reads words of a `node` for a function of `saves_as`."""

    def __init__(self, node):
        self.node = node

    def __call__(self, word):
        return _found(self.node.op, word, word)(self.node)


def _several(read):
    """A number as a tuple of one."""

    def found(node):
        value = read(node)
        return (value,) if isinstance(value, int) else value

    return found


class _TensorOf:
    """Reads a tensor argument, or a tuple of a list of them."""

    def __init__(self, position):
        self.position = position

    def __call__(self, node):
        return _tensor(node, self.position)

    def place(self, node):
        """Where among the saved values of a node it is."""
        return node.plan.inputs.index(_flat(node, self.position)[0])


class _OutputOf:
    """Reads an output."""

    def __init__(self, number):
        self.number = number

    def __call__(self, node):
        if self.number not in node.plan.outputs:
            return None
        return _unpacked(node)[self.place(node)]

    def place(self, node):
        """Where among the saved values of a node it is."""
        return len(node.plan.inputs) + node.plan.outputs.index(self.number)


@functools.cache
def _readers(op: Op, words: str | None) -> dict[str, Callable[[Any], Any]]:
    given = _words_of_formulas(op) if words is None else words.split()
    found = {}
    for word in given:
        name, colon, source = word.partition(":")
        several = name.endswith("[]")
        name = name.removesuffix("[]")
        read = _found(op, name, source if colon else name)
        found[name] = _several(read) if several else read
    return found


def readers(node) -> dict[str, Callable[[Any], Any]]:
    """What reads the values of a node, by their names."""
    saves = node.op.options.get("saves")
    return _readers(node.op, saves(node) if callable(saves) else saves)


def _position(op, name):
    return 0 if name == "self" else op.index[name]


def _flat(node, position):
    """Where a tensor argument, or each of a list, stands among the flattened ones."""
    op = node.op
    first = op.tensor_positions.index(position)
    extra = len(node.plan.key) - len(op.tensor_positions)
    if op.list_position < 0 or position < op.list_position:
        return range(first, first + 1)
    if position > op.list_position:
        return range(first + extra, first + extra + 1)
    return range(first, first + extra + 1)


def _unpacked(node):
    if node.saved is None:
        raise RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors "
            "after they have already been freed). Specify retain_graph=True."
        )
    return node.op.unpack_saved(node)


def _tensor(node, position):
    """A tensor argument as it was saved: None where it was not; a number as it is or, where
    PyTorch makes a tensor of it, as one without dims."""
    places = _flat(node, position)
    inputs = node.plan.inputs
    found = [None if i not in inputs else _unpacked(node)[inputs.index(i)] for i in places]
    if node.op.kinds[position] == TENSORS:
        return tuple(found)
    number = node.values and node.values[position]
    if not isinstance(number, bool | int | float | complex):
        return found[0]
    return tensor(number) if node.op.options.get("wraps_numbers") else number


def _shape(node, position):
    """The shape of a tensor argument: where it is not noted, all have that of the output."""
    places = _flat(node, position)
    if node.op.kinds[position] == TENSORS:
        return [node.shapes[i] for i in places]
    if node.shapes is not None:
        return node.shapes[places[0]]
    values = [value for value in _unpacked(node) if isinstance(value, Tensor)]
    if not values:
        raise AttributeError(f"'{node.name()}' object has not kept the sizes of its arguments")
    return values[0].shape


def shown(value, scalar=False):
    """A number, or several, as PyTorch shows them of a node: whole ones that are no scalars have no
    sign, lists are tuples."""
    if isinstance(value, list | tuple):
        return tuple(shown(item, scalar) for item in value)
    if type(value) is int and value < 0 and not scalar:
        return value + 2**64
    return value


def place_of(node, name: str) -> int | None:
    """Where among the saved values of a node a tensor is; None of what is no saved tensor."""
    place = getattr(readers(node).get(name), "place", None)
    try:
        return None if place is None else place(node)
    except ValueError:  # this call did not need it
        return None
