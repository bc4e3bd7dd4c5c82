"""PyTorch's path to the marks and settings of graph capture (:mod:`rushlight.capture`).

Graphs are made for one set of sizes each: marks about sizes are accepted and have nothing to do.
`reset` forgets all graphs, `explain` says what backends get.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import rushlight
from rushlight._dynamo import config, exc
from rushlight._dynamo.backends.registry import list_backends, lookup_backend, register_backend
from rushlight.compiler.eager import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    reset,
)
from rushlight.refusals import rest_of

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "eval_frame",
    "exc",
    "explain",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "is_inductor_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "optimize_assert",
    "register_backend",
    "reset",
]

disallow_in_graph = forbid_in_graph = allow_in_graph


def explain(f, *extra_args, **extra_kwargs):
    """``explain(f)(*args)``: what a backend gets of this call of `f`, which runs, without a graph
    kept: an :class:`~rushlight.capture.explanation.ExplainOutput` with `graphs`, `graph_count`,
    `graph_break_count`, `break_reasons`, `op_count`, `ops_per_graph` and `captured_share`.

    >>> report = rushlight._dynamo.explain(lambda x: x.relu() + 1)(rushlight.ones(2))
    >>> report.graph_count, report.graph_break_count, report.op_count
    (1, 0, 2)
    """
    explained = importlib.import_module("rushlight.capture.explanation").explained
    if extra_args or extra_kwargs:
        return explained(f, extra_args, extra_kwargs)
    return lambda *args, **kwargs: explained(f, args, kwargs)


def optimize(
    backend="inductor", *, nopython: bool = False, disable: bool = False, dynamic=None
) -> Callable:
    """A decorator of functions and modules: :func:`rushlight.compile` as programs named it before.

    Args: `nopython` is its `fullgraph`, the others are its own.

    >>> import rushlight
    >>> rushlight._dynamo.optimize("eager")(rushlight.nn.ReLU())(rushlight.ones(2))
    tensor([1., 1.])
    """

    def decorate(function):
        return rushlight.compile(
            function, backend=backend, fullgraph=nopython, disable=disable, dynamic=dynamic
        )

    return decorate


def optimize_assert(backend, **kwargs) -> Callable:
    """:func:`optimize` with `nopython`."""
    return optimize(backend, nopython=True, **kwargs)


def graph_break(msg: str = "") -> None:
    """A point of a program where a graph ends; outside of graphs nothing happens. `msg` is part of
    the reason that :func:`explain` gives."""


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None) -> None:  # noqa: A002
    """Say that a size of a tensor varies: sizes are never guarded here."""


def maybe_mark_dynamic(t, index) -> None:
    """Say that a size may vary: sizes are never guarded here."""


def mark_static(t, index=None) -> None:
    """Say that a size, or a module's attributes, stay: nothing is guarded here."""


def mark_static_address(t, guard: bool = False) -> None:
    """Say that a tensor's memory stays where it is: nothing is guarded here."""


def is_dynamo_supported() -> bool:
    """Whether `compile` works on this machine: it does on all."""
    return True


def is_inductor_supported() -> bool:
    """Whether `compile` works on this machine: it does on all."""
    return True


_rest = rest_of(__name__, parts="testing utils")


def __getattr__(name):
    """`eval_frame` stands on what is captured, which reads the settings here."""
    if name in ("OptimizedModule", "eval_frame"):
        module = importlib.import_module("rushlight._dynamo.eval_frame")
        return module if name == "eval_frame" else module.OptimizedModule
    return _rest(name)
