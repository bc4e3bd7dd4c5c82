"""Ops whose results have sizes that depend on the values of their arguments.

A capture has no values. It takes a size for such a result, a *sample*, and learns later what
depends on it; which results there are, and between which sizes, the op's declaration says:
``value_sized=function``, where ``function(draw, *args, **kwargs)`` gives the results on the meta
device. ``draw(least, most, dim, result)`` is the size of a result's dimension `dim`, of the first
one's where none is named, between two others; None is no limit. ``also=`` has other dimensions of
that size, each with its result. NotImplemented stands for a call
whose sizes follow from the shapes.
"""

from __future__ import annotations


def rule_of(function):
    """The rule of an op, or of a function that is none; None where sizes follow from shapes."""
    op = getattr(function, "op", None)
    if op is not None:
        return op.options.get("value_sized")
    return getattr(function, "value_sized", None)


def value_sized(rule):
    """Declare the rule of a function that is no op of the table."""

    def decorate(function):
        function.value_sized = rule
        return function

    return decorate
