"""ATen's forms of functions that make tensors, for programs that are captured."""

from __future__ import annotations

from rushlight import devices
from rushlight.dtypes import as_dtype
from rushlight.tensor.shape import normalize_size
from rushlight.tensor.tensor import Tensor

_OPTIONS = (
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
)


def sized(name, values=""):
    """The schema of a maker of tensors of a size."""
    return f"{name}(SymInt[] size, {values}{_OPTIONS}) -> Tensor"


def ranged(name, values):
    """The schema of a maker of tensors of numbers in order."""
    return f"{name}({values}, {_OPTIONS}) -> Tensor"


def drawn(schema):
    """The schema of the same maker with a generator, which is another overload in ATen."""
    name, _, rest = schema.partition("(")
    packet, _, overload = name.partition(".")
    overload = f"{overload}_generator" if overload else "generator"
    return f"{packet}.{overload}({rest}".replace("*, ", "*, Generator? generator, ")


def like(name, values=""):
    """The schema of a maker of tensors like another."""
    return f"{name}(Tensor self, {values}{_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor"


def options(dtype=None, device=None, layout=None, pin_memory=False, **ignored):
    """The options of a new tensor as ATen has them."""
    found = {"dtype": None if dtype is None else as_dtype(dtype)}
    return found | {"device": devices.as_device(device), "pin_memory": bool(pin_memory)}


def sizes_of_call(sizes):
    """Sizes as a list; those that a program computes stay what tells how it did."""
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
    plain = normalize_size(sizes)
    return [s if hasattr(s, "as_plain") else n for s, n in zip(given, plain, strict=True)]


def by_size(name):
    """``zeros(2, 3)``, ``zeros((2, 3))`` and ``zeros(size=(2, 3))``."""

    def call(*sizes, size=None, **named):
        shape = sizes_of_call(sizes if size is None else (size,))
        return name, {"size": shape, **options(**named)}

    return call


def full(size, fill_value, **named):
    """``full(size, value)``."""
    return "full", {"size": sizes_of_call((size,)), "fill_value": fill_value,
                    **options(**named)}  # fmt: skip


def arange(start=None, end=None, step=1, **named):
    """``arange(end)``, ``arange(start, end)`` and ``arange(start, end, step)``."""
    if end is None:
        start, end = None, start
    given = {} if start is None and step == 1 else {"start": 0 if start is None else start}
    given |= {"end": end} | ({} if step == 1 else {"step": step})
    return "arange", given | options(**named)


def linspace(start, end, steps, **named):
    """``linspace(start, end, steps)``."""
    return "linspace", {"start": start, "end": end, "steps": steps, **options(**named)}


def eye(n, m=None, **named):
    """``eye(n)`` and ``eye(n, m)``."""
    return "eye", {"n": n, **({} if m is None else {"m": m}), **options(**named)}


def alike(name):
    """``zeros_like(x)``; draws may have a generator."""

    def call(input, dtype=None, memory_format=None, device=None, generator=None, **named):
        given = {"self": input, "dtype": None if dtype is None else as_dtype(dtype)}
        if generator is not None:
            given["generator"] = generator
        if device is not None:
            given["device"] = devices.as_device(device)
        if memory_format is not None:
            given["memory_format"] = memory_format
        return name, given | {"pin_memory": False}

    return call


def full_like(input, fill_value, dtype=None, device=None, **named):
    """``full_like(x, value)``."""
    name, given = alike("full_like")(input, dtype, device=device, **named)
    return name, given | {"fill_value": fill_value}


def normal(mean, std=1.0, size=None, *, generator=None, out=None, **named):
    """``normal(mean, std)`` of tensors and numbers, and ``normal(mean, std, size)``."""
    if size is None:
        return "normal", _given(mean=_number(mean), std=_number(std))
    # with a size, tensors of no dimensions stand for their numbers
    mean, std = (value.item() if isinstance(value, Tensor) else value for value in (mean, std))
    shape = sizes_of_call((size,))
    given = _given(mean=_number(mean), std=_number(std), size=shape)
    return "normal", given | options(**named)


def _given(**values):
    return values


def _number(value):
    return float(value) if type(value) is int else value


def randint(low=None, high=None, size=None, *, generator=None, **named):
    """``randint(high, size)`` and ``randint(low, high, size)``."""
    if size is None:
        low, high, size = None, low, high
    given = {"size": sizes_of_call((size,))}
    if low is None or high is None:
        return "randint", {"high": low if high is None else high, **given, **options(**named)}
    return "randint", {"low": low, "high": high, **given, **options(**named)}
