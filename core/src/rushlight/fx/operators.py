"""Python's operators as generated code writes them: the name in `operator` and its form."""

from __future__ import annotations

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "div": "/", "mod": "%",
    "pow": "**", "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^",
}  # fmt: skip
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}

# Those with a form for operands in the other order, ``other + x``.
reflectable_magic_methods = {name: f"{{}} {sign} {{}}" for name, sign in _BINARY.items()}
reflectable_magic_methods |= {"getitem": "{}[{}]", "matmul": "{} @ {}"}
magic_methods = {
    **{name: f"{{}} {sign} {{}}" for name, sign in _COMPARED.items()},
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    **reflectable_magic_methods,
}
inplace_methods = {
    **{f"i{n.rstrip('_')}": f"{{}} {sign}= {{}}" for n, sign in _BINARY.items() if n != "div"},
    "imatmul": "{} @= {}",
    "setitem": "{}[{}] = {}",
}
