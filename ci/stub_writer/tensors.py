"""The stub of `Tensor`: its ops by their schemas, its operators, and what is written by hand."""

from __future__ import annotations

import importlib
import inspect
import re

from stub_writer import functions

_NUMBER = "Tensor | Number"
_ARITHMETIC = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
_COMPARISONS = "lt le gt ge".split()
_OPERATORS = [
    *(f"def __{n}__(self, other: {_NUMBER}) -> Tensor: ..." for n in _ARITHMETIC),
    *(f"def __r{n}__(self, other: {_NUMBER}) -> Tensor: ..." for n in _ARITHMETIC),
    *(f"def __i{n}__(self, other: {_NUMBER}) -> Self: ..." for n in _ARITHMETIC),
    *(f"def __{n}__(self, other: {_NUMBER}) -> Tensor: ..." for n in _COMPARISONS),
    "def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]",
    "def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]",
    "def __hash__(self) -> int: ...",
    "@classmethod\ndef __torch_function__(cls, func: Any, types: Any, args: Any = ..., "
    "kwargs: Any = ...) -> Any: ...",
    *(f"def __{n}__(self) -> Tensor: ..." for n in ("neg", "pos", "abs", "invert")),
    "def __getitem__(self, index: Any) -> Tensor: ...",
    "def __setitem__(self, index: Any, value: Any) -> None: ...",
    "def __len__(self) -> int: ...",
    "def __iter__(self) -> Iterator[Tensor]: ...",
    "def __contains__(self, item: object) -> bool: ...",
    "def __bool__(self) -> bool: ...",
    "def __int__(self) -> int: ...",
    "def __float__(self) -> float: ...",
    "def __complex__(self) -> complex: ...",
    "def __index__(self) -> int: ...",
    "def __array__(self, dtype: Any = ..., copy: bool | None = ...) -> Any: ...",
]
# What `unique` and `unique_consecutive` may be asked for beside the elements, and what they give.
_ONE, _NONE, _THREE = "Literal[True]", "Literal[False] = ...", "Tensor, Tensor, Tensor"
_RUNS = [
    (f"return_inverse: {_NONE}, return_counts: {_NONE}", "Tensor"),
    (f"return_inverse: {_ONE}, return_counts: {_NONE}", "tuple[Tensor, Tensor]"),
    (f"return_inverse: {_NONE}, *, return_counts: {_ONE}", "tuple[Tensor, Tensor]"),
    (f"return_inverse: {_ONE}, return_counts: {_ONE}", f"tuple[{_THREE}]"),
    ("return_inverse: bool = ..., return_counts: bool = ...", "Any"),
]
_ANY_ORDER = "sorted: bool = ..., "
_SORTED = [
    (f"{_ANY_ORDER}return_inverse: {_NONE}, return_counts: {_NONE}", "Tensor"),
    (f"{_ANY_ORDER}*, return_inverse: {_ONE}, return_counts: {_NONE}", "tuple[Tensor, Tensor]"),
    (f"sorted: bool, return_inverse: {_ONE}, return_counts: {_NONE}", "tuple[Tensor, Tensor]"),
    (f"{_ANY_ORDER}return_inverse: {_NONE}, *, return_counts: {_ONE}", "tuple[Tensor, Tensor]"),
    (f"{_ANY_ORDER}*, return_inverse: {_ONE}, return_counts: {_ONE}", f"tuple[{_THREE}]"),
    (f"{_ANY_ORDER}return_inverse: bool = ..., return_counts: bool = ...", "Any"),
]
_BY_HAND = [
    "def __init__(self, *args: Any, **kwargs: Any) -> None: ...",
    "dtype: _dtype",
    "device: _device",
    "shape: Size",
    "layout: _layout",
    "grad: Tensor | None",
    "grad_fn: AutogradNode | None",
    "data: Tensor",
    "requires_grad: bool",
    "is_leaf: bool",
    "ndim: int",
    "itemsize: int",
    "nbytes: int",
    "names: Any",
    "output_nr: int",
    "retains_grad: bool",
    *(f"is_{n}: bool" for n in "cuda cpu meta sparse sparse_csr quantized nested mps xpu".split()),
    *(f"{n}: Tensor" for n in "T mT H mH real imag".split()),
    "@overload\ndef size(self, dim: None = ...) -> Size: ...",
    "@overload\ndef size(self, dim: int) -> int: ...",
    "@overload\ndef stride(self, dim: None = ...) -> tuple[int, ...]: ...",
    "@overload\ndef stride(self, dim: int) -> int: ...",
    "@overload\ndef to(self, dtype: _dtype, non_blocking: bool = ..., copy: bool = ..., *, "
    "memory_format: memory_format | None = ...) -> Tensor: ...",
    "@overload\ndef to(self, device: DeviceLike | None = ..., dtype: _dtype | None = ..., "
    "non_blocking: bool = ..., copy: bool = ..., *, memory_format: memory_format | None = ...) "
    "-> Tensor: ...",
    "@overload\ndef to(self, other: Tensor, non_blocking: bool = ..., copy: bool = ..., *, "
    "memory_format: memory_format | None = ...) -> Tensor: ...",
    "def item(self) -> int | float | bool: ...",
    "def tolist(self) -> list[Any]: ...",
    "def numpy(self, *, force: bool = ...) -> ndarray[Any, Any]: ...",
    "@overload\ndef type(self, dtype: None = ..., non_blocking: bool = ...) -> str: ...",
    "@overload\ndef type(self, dtype: _dtype | str, non_blocking: bool = ...) -> Tensor: ...",
    "def split(self, split_size: int | Sequence[int], dim: int = ...) -> tuple[Tensor, ...]: ...",
    "def chunk(self, chunks: int, dim: int = ...) -> tuple[Tensor, ...]: ...",
    "def backward(self, gradient: Tensor | None = ..., retain_graph: bool | None = ..., "
    "create_graph: bool = ..., inputs: Any = ...) -> None: ...",
    "def requires_grad_(self, requires_grad: bool = ...) -> Self: ...",
    "def detach(self) -> Tensor: ...",
    "def detach_(self) -> Self: ...",
    "def clone(self, *, memory_format: memory_format | None = ...) -> Tensor: ...",
    "def cpu(self) -> Tensor: ...",
    "def cuda(self, device: DeviceLike | None = ..., non_blocking: bool = ...) -> Tensor: ...",
    *(
        f"@overload\ndef {name}(self, {asked}, dim: int | None = ...) -> {gives}: ..."
        for name, ways in {"unique": _SORTED, "unique_consecutive": _RUNS}.items()
        for asked, gives in ways
    ),
    "def as_subclass(self, cls: Type[_T]) -> _T: ...",
    "@overload\ndef view(self, dtype: _dtype) -> Tensor: ...",
    "@overload\ndef view(self, size: Sequence[int]) -> Tensor: ...",
    "@overload\ndef view(self, *size: int) -> Tensor: ...",
]


def lines_of(cls, written) -> list[str]:
    """The stub of the class."""
    body = [part for text in [*_BY_HAND, *_OPERATORS] for part in text.split("\n")]
    given = {part.split("(")[0].removeprefix("def ") for part in body if part.startswith("def ")}
    given |= {part.split(":")[0] for part in body if not part.startswith(("def", "@"))}
    for name in sorted(dir(cls)):
        if not name.startswith("_") and name not in given:
            body += _member(cls, name, written)
    return ["class Tensor:", *("    " + line for line in body)]


def overridden(cls, name) -> list[str] | None:
    """The lines of a method or attribute that a class derived from Tensor has of its own, where
    Tensor's are written by hand: the same calls, with results of that class where it says so."""
    parts = [part for text in _BY_HAND for part in text.split("\n")]
    kinds = [p for p in parts if p.startswith(f"{name}: ")]
    if kinds:
        return kinds
    lines = [text for text in _BY_HAND if re.search(rf"\bdef {name}\(", text)]
    if not lines:
        return None
    of_class = functions.hints_of(vars(cls)[name]).get("return") is cls
    result = f"-> {cls.__name__}:" if of_class else "-> Tensor:"
    return [p.replace("-> Tensor:", result) for text in lines for p in text.split("\n")]


def as_functions(cls, name, written) -> list[str]:
    """A method that writes in place as the function of its name."""
    lines = overridden(cls, name) or _member(cls, name, written)
    return [line.replace("(self", "(input: Tensor").replace("Self", "Tensor") for line in lines]


def _member(cls, name, written) -> list[str]:
    value = inspect.getattr_static(cls, name)
    if isinstance(value, property) or not callable(value):
        return [f"{name}: Any"]
    if isinstance(value, (staticmethod, classmethod)):
        return [f"def {name}(self, *args: Any, **kwargs: Any) -> Any: ..."]
    result = "Self" if name.endswith("_") and not name.endswith("__") else None
    if functions.has_operands(getattr(value, "op", None)):
        whole = value.op.function  # in place, the method's signature is open
        gives = result or "Tensor"
        return [functions.by_signature(name, whole, written, method=True, gives=gives)]
    schemas = functions.schemas_of(value) or _of_written(name)
    if schemas and name not in functions.BY_SIGNATURE:
        return functions.by_schemas(name, value, schemas, written, True, result)
    gives = result or ("bool" if name.startswith("is_") else "Tensor")
    return [functions.by_signature(name, value, written, method=True, gives=gives)]


def _of_written(name) -> list:
    """The schemas of a method that writes in place, whose function is not the op's."""
    found = importlib.import_module("rushlight.library.aten_schemas").schemas_of(name)
    return [s for key, s in found.items() if "out" not in key.split("_")]
