"""Functions out of Python text that the library writes itself.

Their lines are where tracebacks, ``pdb`` and :func:`inspect.getsource` look for them, in
`linecache`, under a name that says what they do: ``<rushlight softplus forward call, form 1>``.
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Sequence

__all__ = ["function_of"]


class _Lines(Sequence):
    """The lines of a text, which are cut when somebody looks: most are never looked at."""

    def __init__(self, text):
        self.text = text

    def __len__(self):
        return len(self.text.splitlines())

    def __getitem__(self, index):
        return self.text.splitlines(keepends=True)[index]


def _noted(title, text):
    """The file name of a text, under which `linecache` has it. Another text of the same title gets
    a number."""
    file, number = f"<rushlight {title}>", 1
    while file in linecache.cache and linecache.cache[file][2].text != text:
        number += 1
        file = f"<rushlight {title}, text {number}>"
    # Without a time of change `linecache.checkcache` leaves an entry alone.
    linecache.cache[file] = len(text), None, _Lines(text), file
    return file


def function_of(text, name, title, space, lasting=True):
    """The function `name` that a text defines, with `space` as its globals. `title` says in a few
    words what it does; where it is not `lasting`, its lines go with it."""
    text += "\n"
    file = _noted(title, text)
    exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - our own text
    function = space[name]
    if not lasting:
        weakref.finalize(function, linecache.cache.pop, file, None)
    return function
