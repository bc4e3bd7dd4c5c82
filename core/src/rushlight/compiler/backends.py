"""Which backends `compile` knows by name, and which it takes where none is named."""

from __future__ import annotations

__all__ = ["get_default_backend", "list_backends", "set_default_backend"]

# Marks of backends by name; :mod:`rushlight._dynamo.backends.registry` has what they are.
TAGS: dict[str, tuple[str, ...]] = {"inductor": (), "eager": ("debug",), "aot_eager": ("debug",)}
_chosen: list = []


def list_backends(exclude_tags=("debug", "experimental")) -> list[str]:
    """The names that ``compile(backend=)`` takes, in alphabetical order, without those of backends
    that have one of the tags; all of them for None.

    >>> import rushlight
    >>> "inductor" in rushlight.compiler.list_backends()
    True
    """
    left_out = set(exclude_tags or ())
    return sorted(name for name, tags in TAGS.items() if not left_out.intersection(tags))


def get_default_backend():
    """The backend of functions for which `compile` gets none: ``"inductor"``, or what
    :func:`set_default_backend` has set."""
    return _chosen[-1] if _chosen else "inductor"


def set_default_backend(backend) -> None:
    """Choose the backend of functions for which `compile` gets none from now on.

    Args:
        backend: a name, a function ``backend(graph_module, example_inputs)``, or None for
            ``"inductor"``. A name is looked up when `compile` is called.

    Raises:
        TypeError: `backend` is of another kind.

    >>> import rushlight
    >>> rushlight.compiler.set_default_backend("eager")
    >>> rushlight.compiler.get_default_backend()
    'eager'
    >>> rushlight.compiler.set_default_backend(None)
    """
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    _chosen[:] = [] if backend is None else [backend]
