"""Which function is which operator of ONNX."""

from __future__ import annotations

import importlib
import inspect

import rushlight

_FAMILIES = (
    "arithmetic arranging control elementwise layers logic losses pooling quantized random "
    "recurrent reductions resampling sequences signals"
).split()
OPERATORS: dict[str, object] = {}


def operator(*names, domain="", static=()):
    """Register a function for operators, by default under its own name.

    It gets the inputs by position (None for those that are left out), the attributes by name, and,
    if it declares them, `outputs` (how many results are asked), and `opset`. `static` are positions
    of inputs that are lists or numbers of the graph where they are constant: sizes, axes."""

    def keep(function):
        for name in names or (function.__name__,):
            OPERATORS[f"{domain}:{name}" if domain else name] = function
        if static:
            function.static = static
        return function

    return keep


def find(name, domain=""):
    """The function of an operator; None if there is none."""
    if not OPERATORS:
        for family in _FAMILIES:
            importlib.import_module(f"rushlight.onnx._operators.{family}")
    return OPERATORS.get(f"{domain}:{name}" if domain else name)


def wants(function, name):
    """Whether a function declares a parameter."""
    return name in inspect.signature(function).parameters


def ints(values):
    """Whole numbers of a tensor or a list, as a list; None stays."""
    if values is None:
        return None
    if rushlight.is_tensor(values):
        values = values.tolist()
    return [int(v) for v in values] if isinstance(values, list | tuple) else [int(values)]


def number(value):
    """A number of a tensor or a number."""
    return value.item() if rushlight.is_tensor(value) else value


def broadcast(*tensors):
    """Tensors with one shape."""
    return rushlight.broadcast_tensors(*tensors)
