"""Write ci/typed_calls.txt: a call of every form that PyTorch's stubs know of a function or method.

Usage: python ci/typed_calls.py  (with PyTorch 2.13 and mypy installed)

Each call has values of the types that PyTorch's stubs name, for all of its parameters, and is left
out where Rushlight refuses the name, where PyTorch marks the form as deprecated (numbers before the
first tensor) and where it needs what the CPU has not. `ci/typecheck.py` asks mypy about the rest
with core's stubs: what is valid for PyTorch's types has to be so for ours. Lines that do not pass
today are left out and printed.
"""

from __future__ import annotations

import ast
import re
import tempfile
from pathlib import Path

import torch
import typecheck

import rushlight
from rushlight.refusals import Refused

TARGET = Path(__file__).with_name("typed_calls.txt")
_VALUES = {
    "Tensor": "x", "Number": "2.5", "_int": "1", "int": "1", "SymInt": "1", "_bool": "True",
    "bool": "True", "_float": "0.5", "float": "0.5", "_complex": "2j", "_size": "[1]",
    "Sequence[_int|SymInt]": "[1]", "str": "'mean'", "_dtype": "T.float32", "Generator": "G",
    "DType": "T.float32", "_layout": "T.strided", "DeviceLikeType": "'cpu'", "": "None",
    "memory_format": "T.contiguous_format", "torch.memory_format": "T.contiguous_format",
    "_size_1_t": "1", "_size_2_t": "(1, 2)", "_size_3_t": "1", "_size_any_t": "[1]",
}  # fmt: skip
# Former orders of arguments, and forms that the CPU does not have.
_FORMER = re.compile(r"\((self: Tensor, |self, )?(beta|alpha|value): |out_dtype|reduction: _int")


def value_of(annotation: ast.expr | None) -> str | None:
    """A value of an annotated type; None for types that have none here."""
    if annotation is None:
        return None
    text = re.sub(r"[\s'\"]", "", ast.unparse(annotation))
    text = text.removeprefix("Optional[").removesuffix("]") if "Optional[" in text else text
    first = next((p for p in re.split(r"\|(?![^\[]*\])", text) if p != "None"), "")
    if re.match(r"(tuple|Tuple|Sequence|list|List)\[Tensor", first):
        count = first.count("Tensor") if first.startswith(("tuple", "Tuple")) else 1
        return "[x]" if "..." in first or count == 1 else f"({', '.join(['x'] * count)})"
    return _VALUES.get(first)


def call_of(node: ast.FunctionDef, prefix: str, method: bool) -> str | None:
    """A call of a form; None where a parameter has no value."""
    placed = [*node.args.posonlyargs, *node.args.args][1 if method else 0 :]
    if node.args.vararg is not None:
        placed.append(node.args.vararg)
    values = [value_of(each.annotation) for each in placed]
    words = [(each.arg, value_of(each.annotation)) for each in node.args.kwonlyargs]
    if None in values:
        return None
    named = [f"{name}={value}" for name, value in words if value is not None and name != "out"]
    named += [f"out={_out(each)}" for each in node.args.kwonlyargs if each.arg == "out"]
    call = f"{prefix}.{node.name}({', '.join([*map(str, values), *named])})"
    gives = node.returns is not None and ast.unparse(node.returns) == "Tensor"
    return f"t = {call}" if gives else call


def _out(parameter: ast.arg) -> str:
    """What a form writes into: several tensors where it takes them."""
    text = ast.unparse(parameter.annotation) if parameter.annotation else ""
    return "[x]" if re.search(r"(tuple|list|Tuple|List)\[Tensor", text) else "x"


def calls_of(nodes: list[ast.stmt], owner: object, prefix: str, method: bool) -> list[str]:
    """Calls of all public functions of a stub that an object of ours has."""
    found = []
    for node in nodes:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        ours = getattr(owner, node.name, None)
        if ours is None or isinstance(ours, Refused) or _FORMER.search(ast.unparse(node)):
            continue
        found.append(call_of(node, prefix, method))
    return [each for each in dict.fromkeys(found) if each is not None]


def main() -> int:
    """Write the calls that pass, print the others."""
    home = Path(torch.__path__[0])
    functions = ast.parse((home / "_C" / "_VariableFunctions.pyi").read_text()).body
    layers = ast.parse((home / "nn" / "functional.pyi").read_text()).body
    classes = ast.parse((home / "_C" / "__init__.pyi").read_text()).body
    (tensor,) = (n for n in classes if isinstance(n, ast.ClassDef) and n.name == "TensorBase")
    lines = [
        *calls_of(functions, rushlight, "T", False),
        *calls_of(layers, rushlight.nn.functional, "T.nn.functional", False),
        *calls_of(tensor.body, rushlight.Tensor, "x", True),
    ]
    with tempfile.TemporaryDirectory() as folder:
        typecheck.link_installed(folder)
        told = typecheck.of_calls(folder, lines)
    for line, text in told.items():
        print(f"{line}  # {text}")
    kept = [line for line in lines if line not in told]
    TARGET.write_text("\n".join(kept) + "\n")
    print(f"{len(kept)} calls written, {len(told)} left out")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
