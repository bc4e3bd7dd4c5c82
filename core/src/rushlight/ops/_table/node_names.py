"""Names of nodes as PyTorch prints them: the words of a function, and which of its forms it was.

Declarations say by `node` what does not follow from the op's own name: the words, a whole name, or
a function of the node that gives a whole name.
"""

from __future__ import annotations

import re
from collections.abc import Callable


def words_of(name: str) -> str:
    """``log1p`` as ``Log1P``: letters after digits are capital ones too."""
    parts = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return re.sub(r"\d[a-z]", lambda found: found[0].upper(), parts)


def whole_name(words: str) -> str:
    """The name of a node by the words of its function; a whole name as it is."""
    return words if "Backward" in words else words + "Backward0"


def arguments(node) -> list:
    """The arguments of a node's call; None for tensors, and for all where all are usual."""
    return node.values or [None] * len(node.op.names)


def numbered(words: str, form: Callable[[list], int]) -> Callable:
    """The name of a function with several forms, numbered in the order of PyTorch's table of
    gradients; ``form(arguments)`` gives the number."""
    return lambda node: f"{words}Backward{form(arguments(node))}"


def in_dims(words: str) -> Callable:
    """The name of a function of windows, by their number of dims for ``{}``."""
    return lambda node: words.format(f"{max(2, len(arguments(node)[1]))}D") + "Backward0"


def by_dims(words: str) -> Callable:
    """The name of a reduction: of all elements, or over some dims."""
    return numbered(words, lambda values: int(values[1] is not None))


def by_dims_kept(words: str) -> Callable:
    """What is kept of a reduction, of all elements or over some dims, which are kept as well."""
    return lambda node: words if arguments(node)[1] is None else f"dim[] keepdim {words}"


def by_operand(words: str, position: int = 1) -> Callable:
    """The name of a function whose argument at a position is a number (0) or a tensor (1)."""
    return numbered(words, lambda values: int(values[position] is None))
