"""What a traced function may return: tensors, sizes of tensors, and structures of them."""

from __future__ import annotations

from rushlight.jit.tracer.traced_values import TracedSize
from rushlight.tensor.tensor import Tensor

_DICT = (
    "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this "
    "is only valid if the container structure does not change based on the module's inputs. "
    "Consider using a constant container instead (e.g. for `list`, use a `tuple` instead. for "
    "`dict`, use a `NamedTuple` instead). If you absolutely need this and know the side effects, "
    "pass strict=False to trace() to allow this behavior."
)


def check_result(found, strict) -> None:
    """RuntimeError where a traced function returns what a trace cannot give: a number or a string
    would be that of the example for ever. With `strict`, dicts are refused too."""
    if isinstance(found, Tensor | TracedSize):
        return
    if isinstance(found, dict):
        if strict:
            raise RuntimeError(_DICT)
        _check_alike("dict", found.keys())
        _check_alike("dict", found.values())
        parts: list | tuple = tuple(found.values())
    elif isinstance(found, list | tuple):
        if isinstance(found, list):
            _check_alike("list", found)
        parts = found
    else:
        raise RuntimeError(
            "jit.trace: only tensors, and lists, tuples and dicts of them, can be output from "
            f"traced functions, not {'None' if found is None else type(found).__name__}: a trace "
            "would give the example's for ever"
        )
    for part in parts:
        check_result(part, strict)


def _check_alike(word, parts):
    """Lists and dicts of programs have elements of one type, and some, which say it."""
    names = list(dict.fromkeys(_type_name(part) for part in parts))
    if not names:
        raise RuntimeError(f"jit.trace: an empty {word} at the output has elements of no type")
    if len(names) > 1:
        raise RuntimeError(
            f"jit.trace: a {word} at the output must have elements of one type, not "
            f"{' and '.join(names)}"
        )


def _type_name(value):
    return "Tensor" if isinstance(value, Tensor) else type(value).__name__
