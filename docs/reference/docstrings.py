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

    def listed(self, name):
        """What a list of arguments says of a parameter."""
        if name in self.arguments:
            return self.arguments[name]
        found = re.search(rf"^{re.escape(name)}: (.+(?:\n {{2,}}.+)*)", self.text, re.MULTILINE)
        return found and found[1]

    def about(self, name):
        """What a list of arguments says of a parameter, or the first sentence that names it."""
        if told := self.listed(name):
            return told
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
_NAMES = rf"{_NAME}(?:, {_NAME})*"
_ARGUMENT = re.compile(rf"^\s+({_NAMES})(?: \([^)]*\))?: (.*)$")
_UNDERLINED = re.compile(rf"^({_NAMES})(?: : (.*))?$")  # NumPy's form


def _without_arguments(lines, found):
    """The lines without sections of arguments, which are put into ``found.arguments``."""
    kept, inside, names = [], None, []
    for i, line in enumerate(lines):
        if _SECTION.match(line) or _is_underlined(lines, i, "Parameters"):
            inside, names = _ARGUMENT if line.endswith(":") else _UNDERLINED, []
        elif inside is _ARGUMENT and line[:1] not in ("", " "):
            inside = None
        elif inside is _UNDERLINED and _is_underlined(lines, i):
            inside = None
        if inside is None:
            kept.append(line)
            continue
        argument = inside.match(line)
        if argument:
            names = re.findall(r"\w+", argument[1])
            found.arguments.update(dict.fromkeys(names, argument[2] or ""))
        elif names and line.strip():
            text = f"{found.arguments[names[0]]} {line.strip()}".strip()
            found.arguments.update(dict.fromkeys(names, text))
    return kept


def _is_underlined(lines, i, title=None):
    """Whether a line is the title of a section of NumPy's, or what is below one."""
    below = lines[i + 1] if i + 1 < len(lines) else ""
    return lines[i] == (title or lines[i]) and len(below) > 2 and set(below) == {"-"}


def own_doc(value):
    """The docstring of a value, not that of a class of Python's it derives from."""
    text = inspect.getdoc(value) or ""
    for base in (dict, list, tuple, int, float, str, object, Exception):
        if text and text == inspect.getdoc(base):
            return ""
    return text


def inherited(value, name, related, listed, asked=()):
    """What the constructor, base classes, or functions that a docstring names say of a parameter,
    or what these name in turn; `listed`: in a list of arguments, else in a sentence. Functions in
    `asked` have been looked at."""
    sources = []
    if isinstance(value, type):
        sources = [vars(value).get("__init__"), *value.__mro__[1:-1]]
    named = (_named(path, value) for path in related)
    named = [found for found in named if found is not None and name in _parameters(found)]
    for source in filter(None, [*sources, *named]):
        doc = parsed(source)
        if told := doc.listed(name) if listed else doc.about(name):
            return told
    for source in named:
        if source not in asked:
            told = inherited(source, name, parsed(source).related, listed, (*asked, source))
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
