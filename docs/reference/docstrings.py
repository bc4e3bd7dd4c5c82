"""The parts of a docstring: what it says first, of parameters, errors and sources, its example."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from dataclasses import dataclass, field

ROLE = re.compile(r":(?:func|class|meth|mod|data|attr):`~?([^`]+)`")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`(])")
_SOURCE = re.compile(r"\(([A-Z][^()]*\b(?:19|20)\d\d[a-z]?[^()]*)\)")


@dataclass
class Docstring:
    """The parts of a docstring; `text` is Markdown without the example."""

    text: str = ""
    examples: list = field(default_factory=list)
    raises: list = field(default_factory=list)
    sources: list = field(default_factory=list)
    related: list = field(default_factory=list)
    arguments: dict = field(default_factory=dict)  # of a section "Args:"

    @property
    def summary(self):
        """The first sentence."""
        return _SENTENCE.split(self.text.partition("\n\n")[0], 1)[0]

    def about(self, name):
        """What a list of arguments says of a parameter, or the first sentence that names it."""
        if name in self.arguments:
            return self.arguments[name]
        listed = re.search(rf"^{re.escape(name)}: (.+(?:\n {{2,}}.+)*)", self.text, re.MULTILINE)
        if listed:
            return listed[1]
        for sentence in sentences("\n\n".join([self.text, *self.arguments.values()])):
            if re.search(rf"`{re.escape(name)}`", sentence):
                return sentence
        return None


def sentences(text):
    """The sentences of a text; those of lists one by one."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*] )", text):
        yield from (" ".join(s.split()).lstrip("-* ") for s in _SENTENCE.split(paragraph))


def parsed(value) -> Docstring:
    """The docstring of a function or class."""
    raw = own_doc(value)
    found = Docstring()
    found.related = [name for name in dict.fromkeys(ROLE.findall(raw))]
    raw = ROLE.sub(r"`\1`", raw).replace("``", "`")
    lines, example = [], []
    for line in raw.splitlines():
        if line.lstrip().startswith(">>>") or (example and line.strip()):
            example.append(line)
            continue
        if example:
            found.examples.append(textwrap.dedent("\n".join(example)))
            example = []
        lines.append(line)
    if example:
        found.examples.append(textwrap.dedent("\n".join(example)))
    found.text = "\n".join(_without_arguments(lines, found))
    found.text = re.sub(r"\n{3,}", "\n\n", _EMPTY.sub("", found.text)).strip()
    found.raises = [s for s in sentences(found.text) if re.search(r"\b[Rr]aises?\b", s)]
    found.sources = [" ".join(s.split()) for s in _SOURCE.findall(found.text)]
    return found


_EMPTY = re.compile(r"^Examples?:\s*$\n?", re.MULTILINE)  # the heading of an example taken out
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Attributes):$")
_NAME = r"`?\*{0,2}\w+`?"
_ARGUMENT = re.compile(rf"^\s+({_NAME}(?:, {_NAME})*)(?: \([^)]*\))?: (.*)$")


def _without_arguments(lines, found):
    """The lines without sections of arguments, which are put into ``found.arguments``."""
    kept, inside, names = [], False, []
    for line in lines:
        if _SECTION.match(line):
            inside, names = True, []
        elif inside and line[:1] not in ("", " "):
            inside = False
        if not inside:
            kept.append(line)
            continue
        argument = _ARGUMENT.match(line)
        if argument:
            names = re.findall(r"\w+", argument[1])
            found.arguments.update(dict.fromkeys(names, argument[2]))
        elif names and line.strip():
            text = f"{found.arguments[names[0]]} {line.strip()}"
            found.arguments.update(dict.fromkeys(names, text))
    return kept


def own_doc(value):
    """The docstring of a value, not that of a class of Python's it derives from."""
    text = inspect.getdoc(value) or ""
    for base in (dict, list, tuple, int, float, str, object, Exception):
        if text and text == inspect.getdoc(base):
            return ""
    return text


def inherited(value, name, related):
    """What the constructor, base classes, or functions that a docstring names say of a parameter."""
    if isinstance(value, type):
        for source in (vars(value).get("__init__"), *value.__mro__[1:-1]):
            told = parsed(source).about(name) if source is not None else None
            if told:
                return told
    for path in related:
        found = _named(path, value)
        if found is not None and name in _parameters(found):
            told = parsed(found).about(name)
            if told:
                return told
    return None


def _named(path, value):
    """The object of a dotted path, or of a name of the value's module; None where there is none."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    found = getattr(module, path, None) if "." not in path else None
    package, *names = path.split(".")
    if found is None and package in sys.modules:
        found = sys.modules[package]
        for each in names:
            found = getattr(found, each, None)
    return found if callable(found) else None


def _parameters(value):
    try:
        return inspect.signature(value).parameters
    except (TypeError, ValueError):
        return {}
