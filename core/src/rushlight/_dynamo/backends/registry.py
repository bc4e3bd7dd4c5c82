"""Backends of `compile` by name: functions that get a captured graph and give what runs instead.

A backend is called as ``backend(graph_module, example_inputs)``, with ``mode=`` and ``options=``
where `compile` was given these, and returns a function of tensors like the examples, which gives a
tuple of tensors.
"""

from __future__ import annotations

import functools

import rushlight
from rushlight._dynamo import exc
from rushlight.compiler.backends import TAGS, list_backends

__all__ = ["list_backends", "lookup_backend", "register_backend"]


def inductor(gm, example_inputs, **kwargs):
    """The graph module, compiled by the ordinary backend."""
    return rushlight.compile(gm, **kwargs)


def eager(gm, example_inputs, **kwargs):
    """The calls of the graph one by one."""
    return gm.forward


_backends = {
    "inductor": inductor,
    "eager": eager,
    "aot_eager": eager,  # ATen's operators would be the graph's: the same numbers
}


def register_backend(compiler_fn=None, name=None, tags=()):
    """Give a backend a name for ``compile(backend=name)``; returns it, so that this decorates.

    Args: `name` is the function's if it is None; `tags`, a sequence of texts, keeps backends out of
    ``list_backends(exclude_tags)``. Raises TypeError where `compiler_fn` cannot be called,
    AssertionError for a name that is taken.

    >>> @rushlight._dynamo.register_backend
    ... def counting(graph_module, example_inputs):
    ...     print(len(graph_module.graph.nodes), "nodes")
    ...     return graph_module.forward
    >>> rushlight.compile(rushlight.nn.ReLU(), backend="counting")(rushlight.ones(2))
    3 nodes
    tensor([1., 1.])
    """
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    if not callable(compiler_fn):
        raise TypeError(
            f"register_backend(): compiler_fn must be callable, got {type(compiler_fn).__name__}"
        )
    name = name or compiler_fn.__name__
    if name in _backends:
        raise AssertionError(f"register_backend(): there is a backend with the name {name!r}")
    _backends[name], TAGS[name] = compiler_fn, tuple(tags)
    return compiler_fn


def lookup_backend(compiler_fn):
    """The backend of a name; what is no text is one itself.

    Raises :class:`~rushlight._dynamo.exc.InvalidBackend` for a name that is not registered.
    """
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _backends:
        raise exc.InvalidBackend(
            f"compile(): backend must be one of {list_backends(None)} or a function, got "
            f"{compiler_fn!r}"
        )
    return _backends[compiler_fn]
