"""Lists and dicts that compiled functions change where they are, and not a copy: what
``script([...])`` and ``script({...})`` give."""

from __future__ import annotations

from rushlight.jit.kinds import UNKNOWN, of_value
from rushlight.jit.runtime import Error


def _kind(values, label):
    """The one type of some values; None of no values."""
    found: dict[str, object] = {}
    for value in values:
        kind = of_value(value)
        if kind is UNKNOWN:
            raise Error(f"jit.script: a {label} is a {type(value).__name__}, which is of no type")
        found[str(kind)] = kind
    if len(found) > 1:
        raise Error(
            f"jit.script: every {label} must be of one type, got {' and '.join(sorted(found))}"
        )
    return next(iter(found.values()), None)


def _checked(kind, value, label):
    """A value, if it is of the type of the others; TypeError else."""
    if kind is not None and str(of_value(value)) != str(kind):
        raise TypeError(f"{label} must be of type {kind}, got {type(value).__name__}")
    return value


class ScriptList(list):
    """A list of values of one type.

    >>> import rushlight
    >>> @rushlight.jit.script
    ... def more(values: list[int]):
    ...     values.append(7)
    >>> shared = rushlight.jit.script([1])
    >>> more(shared)
    >>> shared
    [1, 7]
    """

    def __init__(self, values=()):
        super().__init__(values)
        self._kind = _kind(self, "element")

    def _taken(self, value):
        value = _checked(self._kind, value, "an element of a ScriptList")
        if self._kind is None:
            self._kind = _kind([value], "element")
        return value

    def append(self, value):
        """Add an element; TypeError for one of another type."""
        super().append(self._taken(value))

    def insert(self, index, value):
        """Add an element before another; TypeError for one of another type."""
        super().insert(index, self._taken(value))

    def extend(self, values):
        """Add elements; TypeError for one of another type."""
        super().extend([self._taken(value) for value in values])

    def __setitem__(self, index, value):
        several = isinstance(index, slice)
        value = [self._taken(each) for each in value] if several else self._taken(value)
        super().__setitem__(index, value)


class ScriptDict(dict):
    """A dict whose keys are of one type, and whose values are of one type.

    >>> import rushlight
    >>> shared = rushlight.jit.script({"a": 1})
    >>> shared["b"] = 2
    >>> shared
    {'a': 1, 'b': 2}
    """

    def __init__(self, values=()):
        super().__init__(values)
        self._kinds = [_kind(self.keys(), "key"), _kind(self.values(), "value")]

    def __setitem__(self, key, value):
        for i, (each, label) in enumerate(((key, "a key"), (value, "a value"))):
            _checked(self._kinds[i], each, f"{label} of a ScriptDict")
            if self._kinds[i] is None:
                self._kinds[i] = _kind([each], label)
        super().__setitem__(key, value)


__all__ = ["ScriptDict", "ScriptList"]
