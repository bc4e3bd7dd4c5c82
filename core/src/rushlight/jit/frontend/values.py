"""What an expression may be beside a value that exists when the program runs."""

from __future__ import annotations


class Static:
    """An object that is known before the program runs: a module of Python, a function, a class,
    or a name of an archive."""

    __slots__ = ("label", "value")

    def __init__(self, value, label=""):
        self.value, self.label = value, label

    def __str__(self):
        return self.label or f"Python value of type '{type(self.value).__name__}'"


class Bound:
    """A method of a value, not called yet."""

    __slots__ = ("name", "object")

    def __init__(self, owner, name):
        self.object, self.name = owner, name

    def __str__(self):
        return f"the method '{self.name}' of a value of type {self.object.type}"


class Items:
    """What a loop over modules runs over: values, or tuples of values, known one by one."""

    __slots__ = ("items",)

    def __init__(self, items):
        self.items = list(items)
