"""A module whose functions are wrapped, as programs do it at their head."""

import operator

import rushlight
from rushlight import fx

fx.wrap("len")


@fx.wrap
def counted(x, times):
    """A function with control flow on its argument."""
    return x * times if x.sum() > 0 else x


def uses_len(x):
    return x + len(x)


def uses_function(x):
    return rushlight.relu(counted(x, times=3))


WANTED = {"uses_len": [len, operator.add], "uses_function": [counted, rushlight.relu]}
