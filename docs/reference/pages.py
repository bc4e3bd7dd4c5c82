"""Pages of the reference as Markdown."""

from __future__ import annotations

import inspect
from pathlib import Path

from reference.docstrings import inherited, own_doc, parsed
from reference.glossary import described
from reference.made_examples import example_of
from reference.signatures import signature_of
from reference.summaries import SUMMARIES

ROOT = Path(__file__).parents[2]
_PROMPTS = (">>>", "...")
SOURCE = "https://github.com/rushlight/rushlight/blob/main"


class Entry:
    """One name of the reference: what its parts say. Examples in `taken`, which grows, are those of
    other names."""

    def __init__(self, path, name, value, taken=None):
        self.path, self.name, self.value = path, name, value
        self.taken = set() if taken is None else taken
        self.doc = parsed(value)
        self.doc.text = self.doc.text or SUMMARIES.get(f"{path}.{name}", "")
        self.signature = signature_of(name, value, path == "rushlight.Tensor")
        self.example = self._example()
        self.source = source_of(value)

    def _example(self):
        """That of the docstring, where it calls the name and shows a result of its own; a made one
        where it does not."""
        own = "\n\n".join(self.doc.examples)
        if not (self.name.strip("_") in own and shows_something(own) and own not in self.taken):
            own = example_of(self.path, self.name, self.value) or own
        self.taken.add(own)
        return own

    def about(self, parameter):
        """What is known of a parameter: by the docstring, by what it names or derives from, or
        by the parameter's name."""
        name = parameter.lstrip("*")
        return (
            self.doc.about(name)
            or inherited(self.value, name, self.doc.related, listed=True)
            or described(self.path, self.name, name, hasattr(self.value, "op"))
            or inherited(self.value, name, self.doc.related, listed=False)
        )

    @property
    def undescribed(self):
        """The parameters about which nothing is said."""
        return [p.name for p in self.signature.parameters if not self.about(p.name)]

    def markdown(self):
        """The entry."""
        parts = [f"### {self.name} {{ #{self.path}.{self.name} }}", self._call(), self.doc.text]
        parts += [self._parameters(), self._returns(), *self._notes()]
        if self.example:
            parts.append(f"```pycon\n{self.example}\n```")
        parts.append(self._methods())
        return "\n\n".join(part for part in parts if part) + "\n"

    def _call(self):
        return "```python\n" + "\n".join(self.signature.lines) + "\n```"

    def _parameters(self):
        rows = self.signature.parameters
        if not rows:
            return ""
        return "\n".join(map(self._parameter, rows))

    def _parameter(self, each):
        """A line of a list: tables are cut on narrow screens."""
        default = "" if each.default is None else f" = `{each.default}`"
        about = " ".join((self.about(each.name) or "").split())
        return f"- **`{each.name}`** {_types(each.type)}{default}{': ' if about else ''}{about}"

    def _returns(self):
        if isinstance(self.value, type) or self.signature.returns in ("", "Any"):
            return ""
        return f"**Returns** {_types(self.signature.returns)}"

    def _notes(self):
        if self.source:
            yield f"**Source** [{self.source}]({SOURCE}/{self.source})"
        if self.doc.related:
            yield "**See also** " + ", ".join(f"`{name}`" for name in self.doc.related)

    def _methods(self):
        if not isinstance(self.value, type):
            return ""
        rows = [f"- `{name}` {parsed(found).summary}" for name, found in methods(self.value)]
        return "\n".join(["**Methods**", "", *rows]) if rows else ""


def shows_something(example):
    """Whether an example has a result that tells more than yes or no."""
    results = [line for line in example.splitlines() if line and not line.startswith(_PROMPTS)]
    return bool(results) and results != ["True"] and results != ["False"] and results != ["[]"]


def methods(cls):
    """The public methods that a class defines itself, with a docstring of their own."""
    for name, found in vars(cls).items():
        found = getattr(found, "__func__", found)
        if not name.startswith("_") and inspect.isfunction(found) and own_doc(found):
            yield name, found


def _types(text):
    """A type as code."""
    return f"`{' '.join(text.split())}`"


def source_of(value):
    """``folder/file.py#L12``, or None for what has no source. Classes that a metaclass makes as the
    program runs have the metaclass's."""
    op = None if isinstance(value, type) else getattr(value, "op", None)
    value = getattr(op, "body", None) or value
    try:
        value = inspect.unwrap(value)
        file, line = inspect.getsourcefile(value), inspect.getsourcelines(value)[1]
    except (TypeError, OSError, ValueError):
        made = isinstance(value, type) and type(value) is not type
        return source_of(type(value)) if made else None
    if file is None or not Path(file).is_relative_to(ROOT):
        return None
    return f"{Path(file).relative_to(ROOT).as_posix()}#L{line}"


def alias(path, name, known):
    """A name that stands on another page."""
    home, _, label = known.rpartition(".")
    return f"### {name} {{ #{path}.{name} }}\n\nIs [`{known}`]({home}.md#{known}).\n"
