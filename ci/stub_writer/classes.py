"""Classes as lines of stubs."""

from __future__ import annotations

import inspect

from stub_writer import functions, tensors

_KEPT = frozenset(
    "__new__ __init__ __call__ __getitem__ __setitem__ __len__ __iter__ __enter__ __exit__ "
    "__next__ __contains__ __add__ __sub__ __mul__ __truediv__ __matmul__ __neg__ __getattr__ "
    "__delitem__ __reversed__ __bool__ __int__ __float__ __or__".split()
)


# What classes have besides what can be seen of them.
BY_HAND = {
    "rushlight.nn.module.Module": [
        "training: bool",
        "def __getattr__(self, name: str) -> Any: ...",
        "def _save_to_state_dict(self, *args: Any, **kwargs: Any) -> None: ...",
        "def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None: ...",
        "def _get_name(self) -> str: ...",
    ],
}


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


def public_members(cls) -> dict:
    """What a class itself defines for others."""
    own = vars(cls)
    return {n: v for n, v in own.items() if not n.startswith("_") or n in _KEPT}


def lines_of(cls, written, name=None) -> list[str]:
    """The stub of a class."""
    bases = [b for b in (_base(b, written, name or cls.__name__) for b in cls.__bases__) if b]
    head = f"class {name or cls.__name__}{'(' + ', '.join(bases) + ')' if bases else ''}:"
    body = []
    for member, value in public_members(cls).items():
        body += _member(cls, member, value, written)
    if "__call__" not in vars(cls) and "forward" in vars(cls):
        body += _call_like_forward(cls, written)
    body += BY_HAND.get(f"{cls.__module__}.{cls.__name__}", [])
    return [head, *("    " + line for line in body or ["..."])]


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
        return _property(name, value, written)
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
        return [line]
    if isinstance(value, (bool, int, float, str)) and not name.startswith("__"):
        return [f"{name}: {type(value).__name__}"]
    return [f"{name}: Any"] if not name.startswith("__") and not callable(value) else []


def _property(name, value, written) -> list[str]:
    getter = value.fget
    if not inspect.isfunction(getter):
        return [f"{name}: Any"]
    lines = ["@property", functions.by_signature(name, getter, written, method=True)]
    if value.fset is not None:
        lines += [f"@{name}.setter", f"def {name}(self, value: Any) -> None: ..."]
    return lines


def _result(cls, name):
    """The type of what layers compute is a tensor's, unless they say otherwise."""
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
