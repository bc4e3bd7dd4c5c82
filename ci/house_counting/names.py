"""Declared ops, and the strings that name them elsewhere."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .imports import outside_functions
from .sources import Found, Function, Source, called, rooted, walk

LONG_LIST = 5  # two words of a sentence may be names of ops by chance


class Kind(NamedTuple):
    """What a decorator declares: the kind of op, and whether it comes with samples."""

    name: str
    samples: bool = False

    def of(self, call: ast.expr) -> Kind:
        """The kind of op that a call of the decorator declares."""
        words = {word.arg for word in call.keywords} if isinstance(call, ast.Call) else set()
        return Kind(self.name, self.samples or "samples" in words)


Kinds = dict[str, Kind]  # by what a file calls the decorator


@dataclass
class Ops:
    """The ops of a tree: the file of each, which are composites, and nodes that declare them."""

    files: dict[str, str] = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)
    composites: list[tuple[Source, int, str, bool]] = field(default_factory=list)
    nodes: dict[str, list[ast.AST]] = field(default_factory=lambda: defaultdict(list))

    def names(self, word: str) -> str | None:
        """The op that a word names, itself or its in-place form; None where there is none."""
        for name in (word, word.removesuffix("_")):
            if name in self.files or name in self.aliases:
                return name
        return None


def kinds_in(source: Source, module: str, kinds: Iterable[str]) -> Kinds:
    """Decorators that declare: those imported from `module`, and functions that return them."""
    found = {}
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(module):
            named = [alias for alias in node.names if alias.name in kinds]
            found.update({a.asname or a.name: Kind(a.name) for a in named})
    for function in source.functions if found else ():
        for node in walk(function):
            value = node.value if isinstance(node, ast.Return) else None
            if isinstance(value, ast.Call):
                made_by = value.func if isinstance(value.func, ast.Call) else value
                if called(made_by) in found:
                    found.setdefault(function.name, found[called(made_by)].of(made_by))
    return found


def _borrowed(source: Source, own_of: dict[tuple[str, ...], Kinds]) -> Kinds:
    """Decorators that declare, imported from another file which makes them."""
    found = {}
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            kinds = own_of.get(tuple(node.module.split(".")), {})
            found.update({a.asname or a.name: kinds[a.name] for a in node.names if a.name in kinds})
    return found


def _declared(function: Function, mark: ast.expr) -> str:
    """The name of the op that a decorated function declares."""
    for word in mark.keywords if isinstance(mark, ast.Call) else ():
        if word.arg == "name" and isinstance(word.value, ast.Constant):
            return word.value.value
    return function.name.rstrip("_")


def _aliases(mark: ast.expr) -> Iterator[str]:
    for word in mark.keywords if isinstance(mark, ast.Call) else ():
        if word.arg == "aliases":
            for node in walk(word.value):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield from node.value.split()


def _enter(ops: Ops, source: Source, node: ast.AST, name: str, kind: Kind) -> None:
    ops.files[name] = source.name
    ops.nodes[source.name].append(node)
    if kind.name == "composite":
        ops.composites.append((source, node.lineno, name, kind.samples))


def _read_decorated(ops: Ops, source: Source, kinds: Kinds) -> set[str]:
    """Enter the ops that a file's decorated functions declare; the functions' names."""
    own = set()
    for function in source.functions:
        for mark in function.decorator_list:
            kind = kinds.get(called(mark) or "")
            if kind is not None:
                own.add(function.name)
                ops.aliases.update(_aliases(mark))
                _enter(ops, source, function, _declared(function, mark), kind.of(mark))
    return own


def _read_assigned(ops: Ops, source: Source, kinds: Kinds) -> set[str]:
    """Enter the ops of assignments: ``fft_fft2 = _two("fft2", fft_fftn)``."""
    own = set()
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            kind, target = kinds.get(called(node.value) or ""), node.targets[0]
            if kind is not None and isinstance(target, ast.Name):
                own.add(target.id)
                _enter(ops, source, node, target.id, kind)
    return own


def declared(sources: list[Source], module: str, kinds: Iterable[str]) -> Ops:
    """The ops of a tree. What hangs on an op in its file (``relu.gradient(...)``) declares it."""
    ops = Ops()
    own_of = {source.module: kinds_in(source, module, kinds) for source in sources}
    for source in sources:
        own_kinds = own_of[source.module] | _borrowed(source, own_of)
        if not own_kinds:
            continue
        own = _read_decorated(ops, source, own_kinds) | _read_assigned(ops, source, own_kinds)
        for node in source.tree.body:
            if isinstance(node, ast.Expr) and rooted(node.value) in own:
                ops.nodes[source.name].append(node)
            elif isinstance(node, Function) and any(rooted(m) in own for m in node.decorator_list):
                ops.nodes[source.name].append(node)
    return ops


def _assigned(source: Source, name: str) -> Iterator[ast.expr]:
    """What a file assigns to a name, or adds to it, outside of functions and classes."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(each, ast.Name) and each.id == name for each in targets):
                yield node.value


def _written_out(source: Source, value: ast.expr) -> Iterator[ast.Constant]:
    """The strings of lists and tuples, added up or one in another, and the keys of tables that
    they take in by name: ``[*_RARE]``."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value
    elif isinstance(value, ast.Starred) and isinstance(value.value, ast.Name):
        for table in _assigned(source, value.value.id):
            keys = table.keys if isinstance(table, ast.Dict) else [table]
            for key in keys:
                yield from _written_out(source, key)
    elif isinstance(value, ast.List | ast.Tuple | ast.Starred | ast.BinOp):
        for part in ast.iter_child_nodes(value):
            yield from _written_out(source, part)


def exports(source: Source) -> list[ast.Constant]:
    """The names that a file's ``__all__`` writes out."""
    return [n for value in _assigned(source, "__all__") for n in _written_out(source, value)]


def bound(source: Source) -> set[str]:
    """The names that a file binds when it is imported; `*` where it imports all of another."""
    found: set[str] = set()
    for node in outside_functions(source.tree):
        if isinstance(node, Function | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def unbound_exports(source: Source) -> Iterator[Found]:
    """Rule `unbound-export`: a name of ``__all__`` that the file does not bind, and has no
    ``__getattr__`` that could know it."""
    names, known = exports(source), bound(source)
    if not {"*", "__getattr__"} & known:
        for node in names:
            if node.value not in known:
                yield Found("unbound-export", source.name, node.lineno, node.value)


def strings(source: Source, declarations: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    """String constants outside declarations, docstrings, parts of formatted strings and
    ``__all__``: to export what the file has is no fact about an op."""
    skipped = {*source.docstrings, *map(id, exports(source))}
    for node in declarations:
        skipped.update(id(inner) for inner in walk(node))
    for node in source.nodes:
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(inner) for inner in node.values)
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in skipped:
                yield node


def word_list(text: str, ops: Ops) -> list[str]:
    """The words of a string that lists ops: names only, at least two, at least half of them ops;
    methods of the language (``__add__``) aside."""
    words = [word for word in text.split() if not word.startswith("__")]
    if len(words) < 2 or not all(word.isidentifier() for word in words):
        return []
    named = sum(1 for word in words if ops.names(word))
    return words if 2 * named >= len(words) else []


def op_strings(source: Source, ops: Ops) -> Iterator[Found]:
    """Rules `op-string` (a constant that is an op's name), `op-list` (a word of a list of ops in
    one string) and `unknown-op` (a word of a long list of that kind that names no op)."""
    for node in strings(source, ops.nodes[source.name]):
        if ops.names(node.value):
            yield Found("op-string", source.name, node.lineno, ops.names(node.value))
        words = word_list(node.value, ops)
        for word in words:
            if ops.names(word):
                yield Found("op-list", source.name, node.lineno, ops.names(word))
            elif len(words) >= LONG_LIST:
                yield Found("unknown-op", source.name, node.lineno, word)


def without_samples(ops: Ops) -> Iterator[Found]:
    """Rule `no-samples`: a composite without `samples`, so without generated tests."""
    for source, line, name, samples in ops.composites:
        if not samples:
            yield Found("no-samples", source.name, line, name)


def _words(source: Source) -> set[str]:
    """Names, attributes, keywords and words of strings, docstrings left out."""
    found: set[str] = set()
    for node in source.nodes:
        for value in (getattr(node, "id", 0), getattr(node, "attr", 0), getattr(node, "arg", 0)):
            if isinstance(value, str):
                found.add(value)
        if isinstance(node, Function | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.update((node.asname or "").split() + node.name.split("."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in source.docstrings:
                found.update(node.value.split())
    return found


def files_naming(sources: list[Source], ops: Ops) -> dict[str, int]:
    """In how many files each op's name stands as a word: an identifier or in a string."""
    counts = dict.fromkeys(ops.files, 0)
    for source in sources:
        for word in _words(source) & counts.keys():
            counts[word] += 1
    return counts
