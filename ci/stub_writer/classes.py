"""Classes as lines of stubs."""

from __future__ import annotations

import enum
import inspect
from typing import Any

from rushlight.tensor.results import NAMED
from stub_writer import attributes, by_hand, functions, hints, tensors

_KEPT = frozenset(
    "__new__ __init__ __call__ __getitem__ __setitem__ __len__ __iter__ __enter__ __exit__ "
    "__next__ __contains__ __add__ __sub__ __mul__ __truediv__ __matmul__ __neg__ __getattr__ "
    "__delitem__ __reversed__ __bool__ __int__ __float__ __or__".split()
)

# Methods that take less, or more, than those that they replace, as PyTorch's do.
_NARROWER = frozenset((
    "rushlight.optim.lbfgs.LBFGS.step",
    "rushlight.optim.lr_scheduler.plateau.ReduceLROnPlateau.step",
    "rushlight.optim.lr_scheduler.composed.ChainedScheduler.step",
    "rushlight.optim.lr_scheduler.composed.SequentialLR.step",
    "rushlight.distributions.constraints._DependentProperty.__call__",
    "rushlight.export.decomp_utils.CustomDecompTable.update",
    "rushlight.masked.maskedtensor.core.MaskedTensor.to_dense",
    "rushlight.masked.maskedtensor.core.MaskedTensor.to_sparse",
    "rushlight.masked.maskedtensor.core.MaskedTensor.to_sparse_csr",
))  # fmt: skip
# Bases that say more than those at run time.
_BASES = {"Size": (tuple[int, ...],)}
# Properties that stand for an attribute of the class they are mixed into.
_PLAIN = {"rushlight.nn.lazy._Uninitialized.shape": "shape: Size"}
_IGNORED = "  # type: ignore[override]"


# What methods of modules return; Self where a module returns itself.
_RESULTS = {
    "parameters": "Iterator[Parameter]", "named_parameters": "Iterator[tuple[str, Parameter]]",
    "buffers": "Iterator[Tensor]", "named_buffers": "Iterator[tuple[str, Tensor]]",
    "children": "Iterator[Module]", "named_children": "Iterator[tuple[str, Module]]",
    "modules": "Iterator[Module]", "named_modules": "Iterator[tuple[str, Module]]",
    "state_dict": "dict[str, Any]", "get_parameter": "Parameter", "get_buffer": "Tensor",
    "get_submodule": "Module", "extra_repr": "str", "zero_grad": "None", "step": "Any",
    "reset_parameters": "None",
    **dict.fromkeys(
        "train eval to cpu cuda float half double bfloat16 apply requires_grad_ to_empty type "
        "share_memory".split(), "Self",
    ),
}  # fmt: skip
# What these return wherever no annotation says more.
_SPECIAL = {
    "__len__": "int", "__bool__": "bool", "__contains__": "bool", "__iter__": "Iterator[Any]",
    "__int__": "int", "__float__": "float", "__setitem__": "None", "__delitem__": "None",
}  # fmt: skip
# What distributions compute.
_OF_DISTRIBUTIONS = frozenset(
    "sample rsample sample_n log_prob cdf icdf enumerate_support entropy perplexity mean mode "
    "variance stddev logits probs covariance_matrix precision_matrix scale_tril scale".split()
)
# What distributions say of their parameters and samples.
_CONSTRAINTS = {"arg_constraints": "dict[str, Constraint]", "support": "Constraint"}


def public_members(cls) -> dict:
    """What a class itself defines for others."""
    own = vars(cls)
    return {n: v for n, v in own.items() if not n.startswith("_") or n in _KEPT}


def lines_of(cls, written, name=None) -> list[str]:
    """The stub of a class."""
    if issubclass(cls, enum.Enum):
        return _enumeration(cls, written, name or cls.__name__)
    if cls in NAMED.values():
        fields = [f"    {field}: Tensor" for field in cls._fields]
        return [f"class {name or cls.__name__}(NamedTuple):", *fields]
    if tuple in cls.__bases__ and hasattr(cls, "_fields"):
        return _named_tuple(cls, written, name or cls.__name__)
    written.variables.update({v.__name__: v for v in hints.variables_of(cls)})
    given = _BASES.get(cls.__name__, vars(cls).get("__orig_bases__", cls.__bases__))
    bases = [b for b in (_base(b, written, name or cls.__name__) for b in given) if b]
    head = f"class {name or cls.__name__}{'(' + ', '.join(bases) + ')' if bases else ''}:"
    body = []
    told = by_hand.lines_of(cls)
    given_by_hand = by_hand.names_of(told)
    for member, value in public_members(cls).items():
        if member not in given_by_hand:
            body += _member(cls, member, value, written)
    if "__call__" not in {*vars(cls), *given_by_hand} and "forward" in vars(cls):
        body += _call_like_forward(cls, written)
    more = [] if _is_of_tensors(cls) else attributes.lines_of(cls, written)
    body += told + [line for line in more if line.partition(":")[0] not in given_by_hand]
    return [head, *("    " + line for line in body or ["..."])]


def _named_tuple(cls, written, name) -> list[str]:
    """The stub of a tuple with names: its fields with their types, and its methods."""
    told = functions.hints_of(cls)
    fields = [
        f"{field}: {written.text(told.get(field, Any))}{' = ...' * (field in cls._field_defaults)}"
        for field in cls._fields
    ]
    for member, value in public_members(cls).items():
        if member not in cls._fields and member not in ("__new__", "__getnewargs__"):
            fields += _member(cls, member, value, written)
    written.imports.add(("typing", "NamedTuple"))
    return [f"class {name}(NamedTuple):", *("    " + line for line in fields)]


def _enumeration(cls, written, name) -> list[str]:
    """The stub of an enumeration: its members with their values, and its methods."""
    base = next(b for b in cls.__mro__[1:] if b.__module__ == "enum")
    body = [f"{each} = {_value(member.value)}" for each, member in cls.__members__.items()]
    for each, value in vars(cls).items():
        if inspect.isfunction(value) and (not each.startswith("_") or each == "__call__"):
            body += _member(cls, each, value, written)
    return [f"class {name}({base.__name__}):", *("    " + line for line in body)]


def _value(value) -> str:
    """A member's value where it can be written."""
    return repr(value) if isinstance(value, (bool, int, float, str)) else "..."


def _base(base, written, name):
    if base is object:
        return ""
    text = "type" if base is type else written.text(base)
    if text == name:  # a class of the same name from another module
        written.imports.discard((base.__module__, text))
        written.imports.add((base.__module__, f"{text} as _{text}"))
        return f"_{text}"
    if text in ("Any", "object"):
        return ""
    return text


def _member(cls, name, value, written) -> list[str]:
    if name == "__new__":
        if not inspect.isfunction(getattr(value, "__func__", value)):
            return []
        made = getattr(value, "__func__", value)
        return [functions.by_signature(name, made, written, gives="Self", first="cls")]
    if any(base.__name__ == "Tensor" for base in cls.__mro__[1:]):
        lines = tensors.overridden(cls, name)
        if lines is not None:
            return lines
    if isinstance(value, (staticmethod, classmethod)):
        word = "staticmethod" if isinstance(value, staticmethod) else "classmethod"
        first = "cls" if word == "classmethod" else None
        return [f"@{word}", functions.by_signature(name, value.__func__, written, first=first)]
    if isinstance(value, property):
        return _property(cls, name, value, written)
    if name == "__getattr__":
        return ["def __getattr__(self, name: str) -> Any: ..."]
    if inspect.isfunction(value):
        gives = "None" if name == "__init__" else _result(cls, name)
        if cls.__module__.startswith("rushlight.nn.") and name in _RESULTS:
            gives = _RESULTS[name]
        is_of_tensors = name in ("forward", "__call__")
        line = functions.by_signature(
            name, value, written, method=True, gives=gives, of_tensors=is_of_tensors
        )
        return [line + _IGNORED if f"{cls.__module__}.{cls.__name__}.{name}" in _NARROWER else line]
    if _result(cls, name) is not None and not callable(value):  # computed when first asked for
        return [f"{name}: {_result(cls, name)}"]
    if isinstance(value, (bool, int, float, str)) and not name.startswith("__"):
        return [f"{name}: {type(value).__name__}"]
    return [f"{name}: Any"] if not name.startswith("__") and not callable(value) else []


def _is_of_tensors(cls) -> bool:
    """Whether objects of a class are tensors, whose attributes are Tensor's."""
    return any(base.__name__ == "Tensor" for base in cls.__mro__)


def _is_attribute(cls, name) -> bool:
    """Whether what a class describes as a property is a plain attribute of a base class."""
    found = (vars(base).get(name) for base in cls.__mro__[1:])
    plain = [v for v in found if v is not None]
    if plain:
        return isinstance(plain[0], (bool, int, float, str))
    return any(attributes.has(base, name) for base in cls.__mro__[1:])


def _property(cls, name, value, written) -> list[str]:
    getter = value.fget
    if (plain := _PLAIN.get(f"{cls.__module__}.{cls.__name__}.{name}")) is not None:
        return [plain]
    if not inspect.isfunction(getter):
        return [f"{name}: Any"]
    ignored = _IGNORED if _is_attribute(cls, name) else ""
    gives = _result(cls, name)
    line = functions.by_signature(name, getter, written, method=True, gives=gives)
    lines = ["@property", line + ignored]
    if value.fset is not None:
        lines += [f"@{name}.setter", f"def {name}(self, value: Any) -> None: ..."]
    return lines


def _result(cls, name):
    """The type of what layers compute is a tensor's, unless they say otherwise."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    if any(b.__name__ == "Distribution" for b in cls.__mro__):
        if name in _OF_DISTRIBUTIONS:
            return "Tensor"
        if name in _CONSTRAINTS:
            return _CONSTRAINTS[name]
    is_layer = any(b.__name__ == "Module" for b in cls.__mro__[1:])
    several = ("LSTM", "GRU", "RNN", "Multihead", "return_indices", "AdaptiveLog")
    if is_layer and name == "forward" and not any(w in cls.__name__ for w in several):
        return "Tensor"
    return None


def _call_like_forward(cls, written) -> list[str]:
    if not any(b.__name__ == "Module" for b in cls.__mro__[1:]):
        return []
    forward = vars(cls)["forward"]
    gives = _result(cls, "forward")
    return [functions.by_signature("__call__", forward, written, method=True, gives=gives)]
