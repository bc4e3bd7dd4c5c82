"""Signatures of PyTorch's public functions and methods, as its own stubs and override table say."""

import ast
import inspect
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, the text of its type, whether it has a default, how it is given."""

    name: str
    type: str
    optional: bool
    keyword_only: bool = False
    spread: bool = False


def _of_stub(function, method):
    given = function.args
    plain = [*given.posonlyargs, *given.args][1 if method else 0 :]
    least = len(plain) - len(given.defaults)
    found = [Parameter(a.arg, _text(a), i >= least) for i, a in enumerate(plain)]
    if given.vararg:
        found.append(Parameter(given.vararg.arg, _text(given.vararg), False, spread=True))
    for a, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append(Parameter(a.arg, _text(a), default is not None, keyword_only=True))
    return tuple(found)


def _text(argument):
    return ast.unparse(argument.annotation) if argument.annotation else ""


def _stubs(file, home):
    """Name -> signatures, from one stub file: of its functions, or of its TensorBase."""
    body = ast.parse((Path(torch.__file__).parent / file).read_text()).body
    if home == "Tensor":
        body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == "TensorBase").body
    found = defaultdict(list)
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            signature = _of_stub(node, home == "Tensor")
            if signature not in found[node.name]:
                found[node.name].append(signature)
    return {f"{home}.{name}" if home else name: found[name] for name in found}


def _of_function(function):
    """The one signature of a function in Python, from which stubs are absent."""
    kinds = inspect.Parameter
    found = []
    for p in inspect.signature(function).parameters.values():
        if p.kind == kinds.VAR_KEYWORD:
            continue
        found.append(
            Parameter(
                p.name,
                "float" if isinstance(p.default, float) else "",
                p.default is not kinds.empty,
                p.kind == kinds.KEYWORD_ONLY,
                p.kind == kinds.VAR_POSITIONAL,
            )  # fmt: skip
        )
    return tuple(found)


def _overridable():
    """Name -> signatures, from PyTorch's table of what can be overridden."""
    found = {}
    for function, stand_in in torch.overrides.get_testing_overrides().items():
        name = torch.overrides.resolve_name(function)
        if name is None or not name.startswith("torch.") or "._" in name or ".__" in name:
            continue
        signature = _of_function(stand_in)
        if name.startswith("torch.Tensor."):
            signature = signature[1:]
        found[name.removeprefix("torch.")] = [signature]
    return found


def signatures():
    """Dotted name (``nn.functional.pad``, ``Tensor.sum``) -> signatures of all public callables."""
    found = _overridable()
    for file, home in (
        ("_C/_VariableFunctions.pyi", ""),
        ("_C/__init__.pyi", "Tensor"),
        ("nn/functional.pyi", "nn.functional"),
    ):
        for name, several in _stubs(file, home).items():
            found[name] = several + [s for s in found.get(name, ()) if s not in several]
    return {name: found[name] for name in sorted(found) if _callable(name)}


def _callable(name):
    home = torch
    for part in name.split("."):
        home = getattr(home, part, None)
    return callable(home) and not isinstance(home, type)
