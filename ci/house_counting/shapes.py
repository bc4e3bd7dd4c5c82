"""Sizes: folders, parameters, lines of functions, comments, loops of a file's own code."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from .imports import outside_functions
from .sources import Found, Function, Source

_LOOPS = (ast.For, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# A comment that only tells a tool something, or draws a line.
_NO_COMMENT = re.compile(r"#\s*(noqa|fmt:|type:|pragma|ruff:|isort:)|#\W*$")


def folder_sizes(sources: Iterable[Source]) -> Counter[str]:
    """Files side by side in each folder; "." for the tree's own."""
    return Counter(source.name.rpartition("/")[0] or "." for source in sources)


def crowded(sizes: Counter[str], limit: int) -> Iterator[Found]:
    """Rule `crowded`: one case for each file of a folder above the limit."""
    for folder, files in sorted(sizes.items()):
        for _ in range(files - limit):
            yield Found("crowded", folder, 1, f"{files} files")


def parameters(function: Function) -> list[str]:
    """The names of a function's parameters, `self` too, those with stars aside."""
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def wide(source: Source, limit: int, emitters: tuple[str, ...]) -> Iterator[Found]:
    """Rules `parameters` (more than the limit) and `parameters-outside` (outside emitters)."""
    for function in source.functions:
        count = len(parameters(function))
        if count > limit:
            yield Found("parameters", source.name, function.lineno, f"{function.name} {count}")
            if source.subject not in emitters:
                name = f"{function.name} {count}"
                yield Found("parameters-outside", source.name, function.lineno, name)


def code_lines(function: Function, code: set[int]) -> int:
    """Lines of a function's body that hold code: no docstring, comment or blank line."""
    return sum(
        1 for line in range(function.body[0].lineno, function.end_lineno + 1) if line in code
    )


def long(source: Source, limit: int) -> Iterator[Found]:
    """Rule `long-function`: more lines of code than the limit."""
    for function in source.functions:
        count = code_lines(function, source.code)
        if count > limit:
            yield Found("long-function", source.name, function.lineno, f"{function.name} {count}")


def import_loops(source: Source) -> Iterator[Found]:
    """Rules `import-loop` and `import-comprehension`: what repeats while a file is imported."""
    for node in outside_functions(source.tree):
        if isinstance(node, _LOOPS):
            yield Found("import-loop", source.name, node.lineno, ast.unparse(node).split("\n")[0])
        elif isinstance(node, _COMPREHENSIONS):
            yield Found("import-comprehension", source.name, node.lineno, ast.unparse(node))


def comment_lines(source: Source) -> int:
    """Comments that say something: not directives of tools, not drawn lines."""
    return sum(1 for _, text in source.comments if not _NO_COMMENT.match(text))


def own_words(source: Source, words: dict[str, str]) -> Iterator[Found]:
    """Rule `word`: a word of our own in a comment or docstring where the field has another."""
    texts = list(source.comments)
    texts += [(node.lineno, node.value) for node in source.docstrings.values()]
    for word, pattern in words.items():
        for line, text in texts:
            for _ in re.findall(rf"\b(?:{pattern})\b", " ".join(text.split()), re.IGNORECASE):
                yield Found("word", source.name, line, word)
