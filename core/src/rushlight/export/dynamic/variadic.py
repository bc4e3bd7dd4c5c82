"""What is said of ``*args`` and ``**kwargs``, as of each of the arguments that they take."""

from __future__ import annotations

import inspect


def unpacked(shapes, module, args, kwargs):
    """`shapes` with an entry for each argument, where it has one for all that a variadic parameter
    takes: a list or tuple for ``*args``, a dict for ``**kwargs``."""
    parameters = inspect.signature(module.forward).parameters.values()
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    named = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)
    before = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    several = rest is not None and len(args) > before
    if isinstance(shapes, dict):
        return _by_name(shapes, rest if several else None, named, kwargs)
    if not isinstance(shapes, tuple | list):
        return shapes
    if several and _is_of_several(shapes, before, len(args) - before):
        shapes = [*shapes[:before], *shapes[before], *shapes[before + 1 :]]
    extra = [name for name in kwargs if name not in {p.name for p in parameters}]
    if named is not None and extra and isinstance(shapes[-1], dict) and {*shapes[-1]} == {*extra}:
        shapes = [*shapes[:-1], *(shapes[-1][name] for name in extra)]
    return shapes


def _is_of_several(shapes, place, count):
    """Whether the entry at a position is a list of one entry for each of `count` arguments."""
    said = shapes[place] if place < len(shapes) else None
    if not isinstance(said, tuple | list) or len(said) != count:
        return False
    return all(one is None or isinstance(one, dict | tuple | list) for one in said)


def _by_name(shapes, rest, named, kwargs):
    found = {}
    for name, said in shapes.items():
        if name == rest and isinstance(said, tuple | list):
            found.update({f"{name}_{i}": one for i, one in enumerate(said)})
        elif name == named and name not in kwargs and isinstance(said, dict):
            found.update(said)
        else:
            found[name] = said
    return found
