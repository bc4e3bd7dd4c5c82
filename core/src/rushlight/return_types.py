"""Types of what ops with several results return: named tuples, each with the name of its op.

>>> import rushlight
>>> found = rushlight.tensor([3.0, 1.0, 2.0]).max(0)
>>> type(found) is rushlight.return_types.max
True
>>> found
rushlight.return_types.max(
values=tensor(3.),
indices=tensor(0))
"""

from rushlight.ops._table import deferred
from rushlight.tensor.results import NAMED


def __getattr__(name):
    if not name.startswith("_"):
        deferred.load_all()
    if name == "all_return_types":
        return [NAMED[each] for each in sorted(NAMED)]
    if name not in NAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return NAMED[name]


def __dir__():
    deferred.load_all()
    return sorted([*NAMED, "all_return_types"])
