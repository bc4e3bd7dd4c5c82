"""Functions that passes are told of changes of a graph by: nodes made, erased, and read instead of
others."""

from __future__ import annotations

import contextlib


class NodeHooks:
    """The hooks of a graph module; those of its graph's changes are called as they are made."""

    def _hooks_of(self, kind):
        return self.__dict__.setdefault("_node_hooks", {}).setdefault(kind, [])

    def _register(self, kind, function):
        if not callable(function):
            raise AssertionError(f"a hook for '{kind}' must be callable, not {function!r}")
        self._hooks_of(kind).append(function)

    @contextlib.contextmanager
    def _set_replace_hook(self, f):
        """Inside of ``with``, ``f(old=node, new=name, user=node)`` is called for each node that
        comes to read another one."""
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f):
        self._register("replace", f)

    def _unregister_replace_node_hook(self, f):
        self._hooks_of("replace").remove(f)

    def _register_create_node_hook(self, f):
        self._register("create", f)

    def _unregister_create_node_hook(self, f):
        self._hooks_of("create").remove(f)

    def _register_erase_node_hook(self, f):
        self._register("erase", f)

    def _unregister_erase_node_hook(self, f):
        self._hooks_of("erase").remove(f)


def call_hooks(graph, kind, *args, **kwargs) -> None:
    """Call the hooks of a graph's module."""
    module = graph.owning_module
    hooks = None if module is None else module.__dict__.get("_node_hooks")
    if hooks:
        for hook in list(hooks.get(kind, ())):
            hook(*args, **kwargs)
