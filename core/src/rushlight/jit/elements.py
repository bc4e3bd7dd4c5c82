"""``tensor.tolist()``: nested lists, of which the program says how deep they are and of what."""

from __future__ import annotations

import functools

from rushlight.jit import scalars, tree
from rushlight.jit.kinds import BOOL, COMPLEX, FLOAT, INT

_NUMBERS = {INT: int, FLOAT: float, BOOL: bool, COMPLEX: complex}


def listed(compiler, tensor, hint, node):
    """The elements of a tensor as a value of the type that is asked for."""
    depth, kind = 0, hint
    while kind.name == "List":
        depth, kind = depth + 1, kind.args[0]
    if kind not in _NUMBERS:
        compiler.fault(
            node, f"tolist() gives lists of int, float, bool or complex, not '{hint}'"
        )  # fmt: skip
    target = scalars.Scalar("tolist", functools.partial(_elements, depth, _NUMBERS[kind]), "method")
    call = tree.Call(target, [tensor], {}, type=hint, at=compiler.at(node))
    return tree.Cast("annotate", call, type=hint, at=compiler.at(node))


def _elements(depth, number, tensor):
    if tensor.dim() != depth:
        raise RuntimeError(
            "Output annotation list dimension and runtime tensor dimension must match for "
            f"tolist(): lists {depth} deep for a tensor of {tensor.dim()} dimensions"
        )
    if type(tensor.new_zeros(()).item()) is not number:
        raise RuntimeError(
            "Output annotation element type and runtime tensor element type must match for "
            f"tolist(): {number.__name__} for a tensor of {tensor.dtype}"
        )
    return tensor.tolist()
