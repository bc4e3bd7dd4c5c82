"""Replacing functions while a program is traced, and putting them back."""

from __future__ import annotations

import functools
import inspect
import weakref

from rushlight.fx.node import map_aggregate
from rushlight.fx.proxy import Proxy

# The functions to write down as one call: (id of the namespace, name) -> namespace.
_wrapped_fns_to_patch: dict[tuple[int, str], dict] = {}
_MISSING = object()
_made: weakref.WeakSet = weakref.WeakSet()  # what `wrapped` returned


def wrap(fn_or_name):
    """Make the calls of a function of this module one node each instead of tracing into it.

    Give the function itself, as a decorator, or its name, also that of a builtin (``wrap("len")``);
    at the top level of the module that calls it. Returns what it got.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name, not "
            f"{type(fn_or_name).__name__}"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


def wrapped_names():
    """Every namespace and name given to :func:`wrap`."""
    return [(space, name) for (_, name), space in list(_wrapped_fns_to_patch.items())]


def find_proxy(values):
    """The first proxy in a structure, or None."""
    found = []
    map_aggregate(values, lambda v: found.append(v) if isinstance(v, Proxy) else None)
    return found[0] if found else None


def wrapped(function):
    """`function`, whose calls with a proxy become a node."""

    @functools.wraps(function, updated=())
    def call(*args, **kwargs):
        proxy = find_proxy((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        if not (function.__module__ or "").startswith("rushlight."):
            result.node.meta["is_wrapped"] = True  # whose code wraps it again
        return result

    _made.add(call)
    return call


class Patcher:
    """Replaces entries of namespaces and methods of classes until the end of ``with``."""

    def __enter__(self):
        self.undo, self.seen = [], set()
        return self

    def __exit__(self, *exc):
        for restore in reversed(self.undo):
            restore()

    def patch(self, namespace: dict, name: str, new) -> None:
        """Let ``namespace[name]`` be `new`."""
        before = namespace.get(name, _MISSING)
        namespace[name] = new
        if before is _MISSING:
            self.undo.append(lambda: namespace.pop(name, None))
        else:
            self.undo.append(lambda: namespace.__setitem__(name, before))

    def keep(self, values: dict) -> None:
        """See that no proxy stands for any of these values in the end."""
        before = dict(values)

        def restore():
            for name, value in values.items():
                if isinstance(value, Proxy) and name in before:
                    values[name] = before[name]

        self.undo.append(restore)

    def patch_method(self, cls: type, name: str, new) -> None:
        """Let the method `name` of `cls` be `new`."""
        before = getattr(cls, name)
        setattr(cls, name, new)
        self.undo.append(lambda: setattr(cls, name, before))

    def autowrap(self, namespace: dict, ids: set) -> None:
        """Wrap those functions of a namespace whose identities are in `ids`; each once."""
        if id(namespace) in self.seen:
            return
        self.seen.add(id(namespace))
        for name, value in list(namespace.items()):
            if name.startswith("_") or not callable(value) or id(value) not in ids:
                continue
            if value not in _made:
                self.patch(namespace, name, wrapped(value))
