"""TorchScript: there is no compiler of Python source here; functions and modules run as they are.

Marks that only steer PyTorch's compiler (``ignore``, ``unused``, ``export``, ``annotate``,
``Final``) do what they do in PyTorch when nothing is compiled. :func:`script` follows PyTorch's
own switch: with ``PYTORCH_JIT=0`` in the environment it returns what it is given, otherwise it
refuses, because it cannot give what it promises.
"""

from __future__ import annotations

import functools
import os
import types
import typing
from typing import Final

from rushlight.refusals import refusal, rest_of


class Attribute(typing.NamedTuple):
    """A value with the type a compiler must give it."""

    value: object
    type: object


class TracerWarning(Warning):
    """The kind of warning that tracing gives; filters may name it, nothing raises it."""


def is_scripting() -> bool:
    """Whether the code is being compiled: never."""
    return False


def is_tracing() -> bool:
    """Whether calls are being recorded as a graph: never."""
    return False


def ignore(drop=False, **kwargs):
    """Mark a function that a compiler must leave to Python; here every function is."""
    return drop if callable(drop) else _same


def unused(fn):
    """Mark a function that a compiler must not compile; returned as it is."""
    return fn


def export(fn):
    """Mark a method as an entry point; returned as it is."""
    return fn


def _same(fn):
    return fn


def annotate(the_type, the_value):
    """The value; the type is for a compiler."""
    return the_value


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """What it is given where ``PYTORCH_JIT=0`` switches compiling off; refuses otherwise."""
    if os.environ.get("PYTORCH_JIT", "1") == "0":
        return obj
    raise refusal("jit.script")


script.refuses = True


def script_if_tracing(fn):
    """A function that is compiled when it is first called in a trace: there are no traces."""

    @functools.wraps(fn)
    def call(*args, **kwargs):
        return fn(*args, **kwargs)

    return call


def isinstance(obj, target_type) -> bool:  # noqa: A001 - PyTorch's name
    """Whether a value is of a type, with the types of its elements looked at:
    ``isinstance(x, List[int])``."""
    if type(target_type) is tuple:
        return any(isinstance(obj, kind) for kind in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if target_type in (list, dict, tuple, typing.List, typing.Dict, typing.Tuple):  # noqa: UP006
        name = getattr(target_type, "__name__", str(target_type))
        raise RuntimeError(
            f"Attempted to use {name} without a contained type. Please add a contained type, "
            f"e.g. {name}[int]"
        )
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, kind) for kind in inner)
    if target_type is None or target_type is type(None):
        return obj is None
    if origin is None:
        return _isinstance(obj, target_type)
    if not _isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in obj.items())
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        wanted = () if inner == ((),) else inner
        return len(obj) == len(wanted) and all(map(isinstance, obj, wanted))
    return all(isinstance(item, inner[0]) for item in obj)


_isinstance = __builtins__["isinstance"] if type(__builtins__) is dict else __builtins__.isinstance

__getattr__ = rest_of(__name__)

__all__ = [
    "Attribute",
    "Final",
    "TracerWarning",
    "annotate",
    "export",
    "ignore",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "script",
    "script_if_tracing",
    "unused",
]
