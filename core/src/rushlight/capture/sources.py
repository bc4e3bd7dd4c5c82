"""The syntax tree of a function, and that it is what the function runs."""

from __future__ import annotations

import ast
import functools
import linecache
from types import CellType, CodeType, FunctionType


@functools.lru_cache(maxsize=512)
def _parsed(text: str, file: str):
    """The tree of a file, its functions by the line at which they begin, and its code by the
    same."""
    tree = ast.parse(text, file)
    nodes: dict = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            lines = [node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]]
            nodes.setdefault(min(lines), []).append(node)
    codes: dict = {}
    rest = [compile(text, file, "exec", dont_inherit=True)]
    while rest:
        for code in rest.pop().co_consts:
            if isinstance(code, CodeType):
                codes.setdefault(code.co_firstlineno, []).append(code)
                rest.append(code)
    return nodes, codes


def node_of(code: CodeType):
    """The `ast` node of a function's code; None where its source is not there, is not what was
    compiled, or may be one of several."""
    last = code.co_consts[-1] if code.co_consts else None
    return last if isinstance(last, ast.FunctionDef) else _found(code)


def function_of_tree(node, like, values):
    """A function with the body of an `ast.FunctionDef`, and the globals, the defaults and the
    closure of the function `like`; `values`: name -> value of variables added to the closure."""
    free = like.__code__.co_freevars
    around = ast.FunctionDef("around", _parameters([*free, *values]), [node], [])
    tree = ast.Module([ast.copy_location(around, node)], [])
    code = compile(ast.fix_missing_locations(tree), like.__code__.co_filename, "exec",
                   dont_inherit=True)  # fmt: skip
    for _ in range(2):  # of the module, of `around`, of the function
        (code,) = [each for each in code.co_consts if isinstance(each, CodeType)]
    cells = dict(zip(free, like.__closure__ or (), strict=True))
    cells |= {name: CellType(value) for name, value in values.items()}
    closure = tuple([cells[name] for name in code.co_freevars])
    code = code.replace(co_consts=(*code.co_consts, node))  # for `node_of`
    found = FunctionType(code, like.__globals__, node.name, like.__defaults__, closure)
    found.__kwdefaults__, found.__module__ = like.__kwdefaults__, like.__module__
    found.__qualname__ = like.__qualname__
    return found


def _parameters(names):
    given = [ast.arg(name) for name in names]
    return ast.arguments([], given, kwonlyargs=[], kw_defaults=[], defaults=[])


@functools.lru_cache(maxsize=4096)
def _found(code: CodeType):
    text = "".join(linecache.getlines(code.co_filename))
    if not text:
        return None
    try:
        nodes, codes = _parsed(text, code.co_filename)
    except (SyntaxError, ValueError):
        return None
    if code not in codes.get(code.co_firstlineno, ()):
        return None
    found = [n for n in nodes.get(code.co_firstlineno, ()) if _may_be(n, code)]
    return found[0] if len(found) == 1 else None


def _may_be(node, code):
    """Whether a function has the name, the parameters and the line and column of a code object."""
    if getattr(node, "name", "<lambda>") != code.co_name:
        return False
    given = node.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    count = code.co_argcount + code.co_kwonlyargcount
    if names != list(code.co_varnames[:count]):
        return False
    if isinstance(node, ast.FunctionDef):
        return True
    body = node.body
    span = body.lineno, body.end_lineno, body.col_offset, body.end_col_offset
    return span in set(code.co_positions())


@functools.lru_cache(maxsize=4096)
def assigned_names(node) -> frozenset:
    """The names that a function assigns to: its local variables besides its parameters."""
    found: set = set()
    rest = list(node.body) if isinstance(node.body, list) else [node.body]
    while rest:
        each = rest.pop()
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            found.add(each.name)
            continue
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store | ast.Del):
            found.add(each.id)
        if not isinstance(each, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp |
                          ast.GeneratorExp):  # fmt: skip
            rest.extend(ast.iter_child_nodes(each))
    return frozenset(found)
