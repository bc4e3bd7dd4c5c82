"""Which function translates which overload of ATen."""

from __future__ import annotations

import functools
import importlib
import inspect

_FAMILIES = (
    "bags comparing counting creating elementwise filters indexing layers linalg normalizing "
    "pooling quantized recurrent reducing running shaping sorting windowing "
    "complexes transforms"  # which use those before them
).split()
_NONE = inspect.Parameter.empty
_TRANSLATIONS: dict[str, object] = {}
_OF_COMPLEX: dict[str, object] = {}  # what is used where an argument or the result is complex


def aten(*names, of_complex=False):
    """Register a function for overloads, ``"add.Tensor"``; ``"relu"`` is ``"relu.default"``.

    The function gets the :class:`~rushlight.onnx._builder.Builder` and, by ATen's names, those
    arguments that it declares: tensors as values of the graph. In-place forms use it too. With
    `of_complex` it is used where an argument or the result is complex.
    """
    known = _OF_COMPLEX if of_complex else _TRANSLATIONS

    def keep(function):
        for name in names:
            full = name if "." in name else f"{name}.default"
            if full in known:
                raise ValueError(f"aten.{full} is translated twice")
            known[full] = function
        return function

    return keep


@functools.cache
def _load():
    """Load all families, once; some may have been imported before by somebody else."""
    for family in _FAMILIES:
        importlib.import_module(f"rushlight.onnx._translations.{family}")
    importlib.import_module("rushlight.onnx._translations.complexes").add_moves(_TRANSLATIONS)


def table(of_complex=False):
    """Overload -> function, all families loaded."""
    _load()
    return _OF_COMPLEX if of_complex else _TRANSLATIONS


def translation(target, of_complex=False):
    """The function for an overload, or None. The in-place form of an op has that of the op; an
    op that ATen does not have goes by its name."""
    op = getattr(target, "op", None)
    name = str(target) if op is None or "aten." in str(target) else f"aten.{op.name}.default"
    if not name.startswith("aten."):
        return None
    name = name.removeprefix("aten.")
    known = table(of_complex)
    found = known.get(name)
    if found is None:
        base, _, overload = name.partition(".")
        found = known.get(f"{base.removesuffix('_')}.{overload}") if base.endswith("_") else None
    return found


def called(function, builder, values):
    """A translation's result; `values` by ATen's argument names, of which it gets what it takes."""
    names = list(inspect.signature(function).parameters)[1:]
    needed = [n for n in names if inspect.signature(function).parameters[n].default is _NONE]
    if any(name not in values for name in needed):  # ATen's overloads call an argument otherwise
        return function(builder, *values.values())
    return function(builder, **{k: v for k, v in values.items() if k in names})
