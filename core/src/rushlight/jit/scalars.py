"""The language's own functions: on numbers, strings, lists and dicts. What is done to tensors is
in the table of ops."""

from __future__ import annotations

import math
import operator
import warnings

from rushlight.jit import kinds
from rushlight.jit.kinds import BOOL, FLOAT, INT, NONE, STR, UNKNOWN, Type
from rushlight.jit.marks import _unwrap_optional
from rushlight.jit.targets import Target


def text_format(form, *values):
    """`form` with each ``{}`` replaced by a value; no other fields, so that nothing can be asked
    of the values."""
    parts = form.split("{}")
    if len(parts) - 1 > len(values):
        raise RuntimeError(f"Too few arguments for format string: {form}")
    found = parts[0]
    for value, part in zip(values, parts[1:], strict=False):
        found += str(value) + part
    return found


def percent_format(form, *values):
    """``form % values``."""
    return form % (values if len(values) != 1 else values[0])


def warn(text, category="UserWarning", stacklevel=2):
    """A warning of the program."""
    warnings.warn(str(text), stacklevel=3)


def pop(items, *at):
    """Take an item out; of an empty list it is an error."""
    return items.pop(*at)


def part(items, start=None, end=None, step=1):
    """``items[start:end:step]``."""
    return items[slice(start, end, step)]


def set_item(items, key, value):
    """``items[key] = value``."""
    items[key] = value
    return items


def delete(items, key):
    """``del items[key]``."""
    del items[key]


def ordered(items, reverse=False):
    """Sort a list in place."""
    items.sort(reverse=reverse)


def fmod(a, b):
    """The remainder with the sign of the first."""
    return math.fmod(a, b)


def power(a, b):
    """``a ** b``: a float, also of two whole numbers."""
    found = a**b
    return float(found) if isinstance(found, int) else found


def divided(a, b):
    """``a / b`` of numbers."""
    return a / b


def range_length(low, high, step):
    """How many numbers a range has."""
    return len(range(low, high, step))


def derive_index(index, start, step):
    """A number of a range."""
    return start + index * step


def extremum(function):
    """``min`` or ``max`` of numbers or of a list; of two lists, the smaller or larger one."""

    def call(*values):
        return function(*values)

    return call


def round_half_even(value):
    """``round``."""
    return float(round(value)) if isinstance(value, float) else round(value)


def split(text, separator=None, most=-1):
    """The words of a text."""
    return text.split(separator, most)


def _same(value):
    return value


def _is_none(a, b):
    return a is b


def _string(name):
    return getattr(str, name)


_ARITHMETIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": divided,
    "floordiv": operator.floordiv, "remainder": operator.mod, "fmod": fmod, "pow": power,
    "__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor,
    "__lshift__": operator.lshift, "__rshift__": operator.rshift, "neg": operator.neg,
    "bitwise_not": operator.invert, "add_": operator.iadd,
}  # fmt: skip
_COMPARISONS = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "__is__": operator.is_, "__isnot__": operator.is_not,
    "__not__": operator.not_, "__contains__": operator.contains,
}  # fmt: skip
SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "remainder": "%",
    "pow": "**", "__and__": "&", "__or__": "|", "__xor__": "^", "eq": "==", "ne": "!=",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "__lshift__": "<<", "__rshift__": ">>",
}  # fmt: skip
_ON_LISTS = {
    "append": list.append, "extend": list.extend, "insert": list.insert, "remove": list.remove,
    "reverse": list.reverse, "_set_item": set_item, "list": list, "sort": ordered,
    "sorted": sorted, "count": list.count, "index": list.index, "slice": part,
    "__range_length": range_length, "all": all, "any": any, "sum": sum,
    "__getitem__": operator.getitem, "clear": lambda x: x.clear(),
    "copy": lambda x: x.copy(), "pop": pop, "Delete": delete, "len": len,
}  # fmt: skip
_ON_DICTS = {
    "keys": lambda d: list(d.keys()), "values": lambda d: list(d.values()),
    "items": lambda d: list(d.items()), "get": dict.get, "setdefault": dict.setdefault,
    "update": dict.update, "popitem": dict.popitem, "dict": dict,
}  # fmt: skip
_STRINGS = (
    "capitalize casefold center count endswith expandtabs find index isalnum isalpha isdecimal "
    "isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower "
    "lstrip partition replace rfind rindex rjust rpartition rsplit rstrip split splitlines "
    "startswith strip swapcase title upper zfill"
).split()
_MATH = {
    name: getattr(math, name)
    for name in (
        "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp expm1 "
        "fabs factorial floor frexp gamma gcd isfinite isinf isnan ldexp lgamma log log10 log1p "
        "log2 modf radians sin sinh sqrt tan tanh"
    ).split()
}
_CONVERSIONS = {
    "Int": int, "Float": float, "Bool": bool, "Complex": complex, "str": str, "ord": ord,
    "chr": chr, "hex": hex, "oct": oct, "bin": bin, "abs": abs, "round": round_half_even,
    "format": text_format, "percentFormat": percent_format, "warn": warn, "len": len,
    "IntImplicit": int, "FloatImplicit": float, "ComplexImplicit": complex, "hash": hash,
    "__derive_index": derive_index, "ScalarImplicit": lambda x: x.item(), "divmod": divmod,
    "Size": list, "_unwrap_optional": _unwrap_optional, "mathremainder": math.remainder,
}  # fmt: skip

FUNCTIONS = {**_CONVERSIONS, **_MATH, **_ON_DICTS, **_ON_LISTS, **_COMPARISONS, **_ARITHMETIC}
STRINGS = {name: _string(name) for name in _STRINGS} | {"split": split}
PRIMITIVES = {
    "min": extremum(min), "max": extremum(max), "abs": abs, "rangelist": lambda n: list(range(n)),
    "unchecked_unwrap_optional": _same, "unchecked_cast": _same, "TupleIndex": operator.getitem,
}  # fmt: skip

_BOOLS = {
    *_COMPARISONS,
    "all",
    "any",
    "isfinite",
    "isinf",
    "isnan",
    "Bool",
    "startswith",
    "endswith",
}
_BOOLS |= {name for name in _STRINGS if name.startswith("is")}
_INTS = {"len", "Int", "ord", "ceil", "floor", "gcd", "count", "index", "find", "rfind", "rindex",
         "hash", "factorial", "__range_length", "__derive_index", "IntImplicit"}  # fmt: skip
_TEXTS = {"format", "percentFormat", "str", "chr", "hex", "oct", "bin", *_STRINGS}
_NOTHING = {"append", "extend", "insert", "remove", "reverse", "sort", "clear", "update", "warn",
            "Delete"}  # fmt: skip
_SAME = {"copy", "list", "abs", "neg", "add_", "sorted", "_set_item", "dict", "Size"}
_REAL = {"fmod", "mathremainder", "pow"}  # a float where both are real numbers


def language_function(name, kind):
    """The language's function of a name for a first argument of a type; None if there is none."""
    if kind == STR and name in STRINGS:
        return STRINGS[name]
    return FUNCTIONS.get(name)


def result(name, types):
    """The type of the result of one of the language's functions."""
    first = types[0] if types else NONE
    if first == STR and name in ("split", "rsplit", "splitlines", "list"):
        return kinds.list_of(STR)
    if first == STR and name in ("partition", "rpartition"):
        return Type("Tuple", STR, STR, STR)
    for names, kind in ((_BOOLS, BOOL), (_INTS, INT), (_NOTHING, NONE), (_SAME, first)):
        if name in names:
            return kind
    if name in _TEXTS:
        return STR
    if name in ("Complex", "ComplexImplicit"):
        return kinds.COMPLEX
    if name == "_unwrap_optional":
        return kinds.without_none(first)
    if name in (*_REAL, "divmod") and set(types) <= {INT, FLOAT}:
        return (
            FLOAT if name in _REAL else Type("Tuple", *[INT if FLOAT not in types else FLOAT] * 2)
        )
    if name in ("frexp", "modf") and first != kinds.TENSOR:
        return Type("Tuple", FLOAT, INT if name == "frexp" else FLOAT)
    if first.name == "List":
        return _of_list(name, first)
    if first.name == "Dict":
        if name == "get" and len(types) > 2:  # with a default of the same type
            return first.args[1]
        return _of_dict(name, *first.args)
    if name in _MATH or name in ("Float", "FloatImplicit", "round"):
        return FLOAT
    return UNKNOWN


def _of_list(name, kind):
    if name == "slice":
        return kind
    return kind.args[0] if name in ("pop", "__getitem__", "sum") else UNKNOWN


def _of_dict(name, key, item):
    pair = Type("Tuple", key, item)
    return {
        "keys": kinds.list_of(key), "values": kinds.list_of(item), "items": kinds.list_of(pair),
        "get": kinds.optional(item), "setdefault": item, "pop": item, "__getitem__": item,
        "popitem": pair,
    }.get(name, UNKNOWN)  # fmt: skip


class Scalar(Target):
    """One of the language's functions; a method where it is written as one."""

    def __init__(self, name, python, written="function"):
        super().__init__(python, name)
        self.form = written

    def written(self, printer, call):
        """``name(...)``, ``torch.name(...)`` or ``value.name(...)``."""
        if self.form == "method":
            owner, *args = call.args
            return f"{printer.operand(owner)}.{self.script}({printer.arguments(args, call.kwargs)})"
        prefix = "" if self.form == "function" else self.form
        return f"{prefix}{self.script}({printer.arguments(call.args, call.kwargs)})"


FORMAT = Scalar("format", text_format, "torch.")
