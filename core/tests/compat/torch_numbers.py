"""Calls of PyTorch's functions with numbers that hardly any dtype holds, in place of each number
that a function takes: factors, bounds, exponents, values to fill with."""

import itertools

import torch

from torch_calls import calls, mapped, theirs  # isort: skip - beside this file

DTYPES = (
    "float16", "bfloat16", "float32", "float64", "uint8", "int32", "int64", "bool", "complex64",
)  # fmt: skip
INFINITY = float("inf")
NUMBERS = (
    -1, 300, 70000, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70, -(2**63) - 1,
    0.5, 1e5, -1e5, 3.4028235e38, 3.5e38, 1e39, -1e39, 1e300, INFINITY, -INFINITY, float("nan"),
)  # fmt: skip
_WORDS = ("float", "Number", "complex")


def takes_number(parameter):
    """Whether an argument is one number of any size."""
    kind = parameter.type
    return any(word in kind for word in _WORDS) and "Seq" not in kind


def _accepted(name, signature):
    """Some calls of a signature that PyTorch takes, with the first arguments."""
    taken = []
    for firsts, alternatives in calls(name, signature, [p for _, p in taken]):
        for pairs, first in itertools.product(alternatives, firsts):
            if _takes(name, first, pairs):
                taken.append((first, pairs))
                break
    return taken


def call_of(first, pairs):
    """Positional and keyword arguments."""
    head = [v for p, v in pairs if not p.keyword_only]
    return (*first, *head), {p.name: v for p, v in pairs if p.keyword_only}


def _takes(name, first, pairs):
    try:
        theirs(name, *call_of(first, pairs))
    except Exception:  # noqa: BLE001 - PyTorch says what it does not take
        return False
    return True


def _with(signature, pairs, parameter, value):
    """The same call with a number; None where arguments before it are not given."""
    others = [(p, v) for p, v in pairs if p is not parameter]
    changed = sorted([*others, (parameter, value)], key=lambda pair: signature.index(pair[0]))
    given = {p.name for p, _ in changed}
    before = signature[: signature.index(parameter)]
    if parameter.keyword_only or all(p.keyword_only or p.name in given for p in before):
        return changed
    return None


def _in_dtype(dtype, value):
    """The same value, its floating tensors in a dtype."""

    def change(tensor):
        return tensor.detach().to(dtype) if tensor.dtype.is_floating_point else tensor

    return mapped(change, value)


def bases(name, signatures):
    """(parameter, make) of each number of a function in each dtype that it takes: `make` gives the
    arguments of a call with a number."""
    for signature in signatures:
        numbers = [p for p in signature if takes_number(p)]
        taken = _accepted(name, signature) if numbers else []
        for parameter, dtype in itertools.product(numbers, DTYPES):
            for first, pairs in sorted(
                taken, key=lambda t: all(p is not parameter for p, _ in t[1])
            ):
                make = _maker(signature, first, pairs, parameter, getattr(torch, dtype))
                if make(1) is not None and _runs(name, make):
                    yield parameter.name, dtype, make
                    break


def _maker(signature, first, pairs, parameter, dtype):
    first = _in_dtype(dtype, first)
    pairs = [(p, dtype if p.name == "dtype" else _in_dtype(dtype, v)) for p, v in pairs]

    def make(number):
        changed = _with(signature, pairs, parameter, number)
        return None if changed is None else call_of(first, changed)

    return make


def _runs(name, make):
    for number in (1, 0.5):
        try:
            theirs(name, *make(number))
        except Exception:  # noqa: BLE001, S112 - this dtype, or this number, is not taken
            continue
        return True
    return False
