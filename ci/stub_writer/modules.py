"""Modules as stubs: every public name, where it is found at run time.

A class is described where it is defined, so that it is one class under all of its names; functions
are described wherever they are.
"""

from __future__ import annotations

import importlib
import inspect
import multiprocessing
import pkgutil
import re
import types
import typing

from rushlight.tensor.tensor import Tensor
from stub_writer import by_hand, classes, functions, tensors
from stub_writer.hints import Written

_HEAD = """\
# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations
"""
_TENSOR = "rushlight.tensor.tensor"
WORDS = "rushlight._words"
# Where the words of annotations come from; those with a line in front stand for what other names of
# a module may hide: `rushlight.float` is a dtype, `Tensor.int` a method.
_PLACES = {
    **dict.fromkeys(
        "Callable Collection Hashable ItemsView Iterable Iterator KeysView Mapping MutableMapping "
        "Sequence Sized ValuesView".split(),
        "collections.abc",
    ),
    **dict.fromkeys(
        "Any BinaryIO Generic IO Literal NamedTuple NoReturn Self TextIO Type TypeAlias "
        "TypeVar overload".split(),
        "typing",
    ),
    **dict.fromkeys(
        "_F _T _int _float _bool _complex _str _dtype _layout _device _memory_format DeviceLike "
        "Number".split(),
        WORDS,
    ),
    "Generator": "rushlight.ops.random.generators",
    "Size": "rushlight.tensor.shape",
    "Tensor": _TENSOR,
    "Parameter": _TENSOR,
    "Graph as FxGraph": "rushlight.fx.graph",
    "Module": "rushlight.nn.module",
    "Optimizer": "rushlight.optim.optimizer",
    "ParamsT": "rushlight.optim.optimizer",
    "AbstractContextManager": "contextlib",
    "Backend": "rushlight.distributed.backends",
    "Constraint": "rushlight.distributions.constraints",
    "Node as AutogradNode": "rushlight.autograd.node",
    "defaultdict": "collections",
    **dict.fromkeys(("Enum", "IntEnum"), "enum"),
    "BaseContext": "multiprocessing.context",
    "BaseProcess": "multiprocessing.process",
    "CustomOpDef": "rushlight.library.definitions",
    "Dataset": "rushlight.utils.data.dataset",
    "ExportedProgram": "rushlight.export.exported_program",
    "FileSystemReader": "rushlight.distributed.checkpoint.filesystem",
    "FileSystemWriter": "rushlight.distributed.checkpoint.filesystem",
    "OpOverload": "rushlight.library.kinds",
    "PackedSequence": "rushlight.nn.utils.rnn",
    "OpOverloadPacket": "rushlight.library.kinds",
    "PathLike": "os",
    "ProcessGroup": "rushlight.distributed.process_group",
    "Schema as FunctionSchema": "rushlight.library.schema",
    "RecursiveScriptModule": "rushlight.jit.modules",
    "ScriptFunction": "rushlight.jit.callables",
    "ScriptModule": "rushlight.jit.modules",
    "Subset": "rushlight.utils.data.dataset",
    "T_co": "rushlight.utils.data.dataset",
    "WorkerInfo": "rushlight.utils.data.workers",
    "Store": "rushlight.distributed.stores",
    "Stream as CudaStream": "rushlight.cuda.streams",
    "Tag": "rushlight.library.tags",
    "TypedStorage": "rushlight",
    "UntypedStorage": "rushlight",
    "ndarray": "numpy",
}
# Modules whose classes annotations name everywhere.
HOMES = tuple(
    f"rushlight.{name}"
    for name in "tensor.tensor tensor.layout tensor.memory_format tensor.shape devices dtypes "
    "ops.random.generators nn.module optim.optimizer".split()
)
OPEN_TEXT = (
    _HEAD
    + """
from typing import Any

def __getattr__(name: str) -> Any: ...
"""
)
WORDS_TEXT = (
    _HEAD
    + """
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from rushlight.devices import device
from rushlight.dtypes import dtype
from rushlight.tensor.layout import layout
from rushlight.tensor.memory_format import memory_format
from rushlight.tensor.tensor import Tensor

_F = TypeVar("_F", bound=Callable[..., Any])  # of decorators
_T = TypeVar("_T", bound=Tensor)  # of what gives the class that it is given
_int: TypeAlias = int
_float: TypeAlias = float
_bool: TypeAlias = bool
_complex: TypeAlias = complex
_str: TypeAlias = str
_dtype: TypeAlias = dtype
_layout: TypeAlias = layout
_device: TypeAlias = device
_memory_format: TypeAlias = memory_format
Number: TypeAlias = int | float | bool | complex
DeviceLike: TypeAlias = device | str | int
"""
)
_TYPES = r"(int|float|bool|complex|str|dtype|layout|device|memory_format)\b"
_HIDDEN = re.compile(
    rf"(?<=-> ){_TYPES}|(?<=[:|\[,(] ){_TYPES}(?!\s*[:(.])|(?<=[\[(]){_TYPES}(?!\s*[:(.])"
)


def public_modules(package: str) -> list[str]:
    """The modules of a package that programs import: the package itself, what is in it, and what is
    in the parts of it that are made of modules."""
    root = importlib.import_module(package)
    found = [package]
    for info in pkgutil.walk_packages(root.__path__, package + "."):
        parts = info.name.split(".")[1:]
        if any(p.startswith("_") for p in parts) or parts[0] in _INNER:
            continue
        if len(parts) == 1 or info.ispkg or parts[0] in _OPEN:
            found.append(info.name)
    return found


# Folders behind the public names: what is in them is described where it is public.
_INNER = frozenset(
    "machine kernels ops fastpath compiler prebuilt compat chains refusals directory listings "
    "inspection settings warmup legacy_types symbolic_numbers streams foreach".split()
)
_OPEN = frozenset("nn optim autograd utils cuda amp backends distributions func".split())


# Modules that a package brings though it does not list them.
_SUBMODULES = {
    "rushlight.autograd": set("forward_ad function functional grad_mode graph".split()),
    "rushlight.distributed": {"nn"},
    "rushlight.nn": {"parallel"},
    "rushlight.backends": set("cpu cuda cudnn mkl mkldnn mps openmp".split()),
}
# Methods that write in place which PyTorch has as functions too.
IN_PLACE = frozenset(
    "abs_ acos_ acosh_ addmv_ alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ "
    "as_strided_ asin_ asinh_ atan_ atanh_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ "
    "conj_physical_ cos_ cosh_ deg2rad_ detach_ dropout_ erf_ erfc_ exp2_ exp_ "
    "expm1_ feature_alpha_dropout_ feature_dropout_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ "
    "lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ "
    "relu_ resize_as_ resize_as_sparse_ round_ rrelu_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ "
    "square_ tan_ tanh_ threshold_ trunc_ xlogy_ zero_".split()
)
# Names with underscores that programs use.
_MORE = {
    "rushlight": [
        "__version__: str",
        "def _assert(condition: object, message: str) -> None: ...",
        "def _sample_dirichlet(input: Tensor, generator: Generator | None = ...) -> Tensor: ...",
    ]
}


def public_names(module) -> list[str]:
    """The public names of a module, those that are loaded late too."""
    named = getattr(module, "__all__", None)
    found = (
        set(named)
        if named is not None
        else {n for n, v in vars(module).items() if _is_own(module, v)}
    )
    if module.__name__ == "rushlight":
        found |= {*dir(module), *IN_PLACE}
    elif named is None and not found:  # a module of other modules' names
        homes = {n: str(getattr(v, "__module__", "")) for n, v in vars(module).items()}
        found = {n for n, home in homes.items() if home.startswith("rushlight")}
    if module.__name__.startswith("rushlight.backends."):  # their switches
        found |= {n for n, v in vars(module).items() if isinstance(v, (bool, int, str))}
    if "__dir__" in vars(module):  # it imports names late
        found |= {n for n in module.__dir__() if n not in vars(module)}
    found |= _SUBMODULES.get(module.__name__, set())
    return sorted(n for n in found if not n.startswith("_") and n.isidentifier())


def _private_bases(module) -> list[str]:
    """Private classes of a module that its public ones derive from, bases first."""
    own = [v for n, v in vars(module).items() if isinstance(v, type) and _is_own(module, v)]
    found: dict[str, None] = {}
    for cls in own:
        for base in reversed(cls.__mro__[1:]):
            if base.__module__ == module.__name__ and base.__name__.startswith("_"):
                found[base.__name__] = None
    return list(found)


def _is_own(module, value) -> bool:
    return getattr(value, "__module__", None) == module.__name__


def described_by(names: list[str]) -> dict[str, str]:
    """The stubs of modules and of those in which their classes are defined."""
    texts: dict[str, str] = {}
    bases: dict[str, set[str]] = {}
    left = list(names)
    while left:
        name = left.pop(0)
        written = Written()
        texts[name] = text_of(name, written, bases.get(name, set()))
        for home, word in sorted(written.imports):
            wanted = bases.setdefault(home, set())
            is_new = word.startswith("_") and word not in wanted
            wanted.add(word.partition(" as ")[0])
            if (home not in texts or is_new) and home not in left:
                left.append(home)
    return texts


def text_of(name: str, written: Written, more: set[str]) -> str:
    """The stub of a module: its public names, and those `more` that others need of it."""
    module = importlib.import_module(name)
    lines: list[str] = []
    lines += _MORE.get(name, [])
    hidden = _private_bases(module)
    for public in [*hidden, *sorted({*public_names(module), *more} - set(hidden))]:
        try:
            value = getattr(module, public)
        except Exception:  # what needs a library that is not here
            lines.append(f"{public}: Any")
            continue
        lines += _named(module, public, value, written)
    return _joined(name, lines, written)


def _named(module, public, value, written) -> list[str]:
    if isinstance(value, types.ModuleType):
        inner = value.__name__ == f"{module.__name__}.{public}" and not public.startswith("_")
        if inner and getattr(value, "__file__", None) is None:
            return [f"{public}: Any"]  # made when the package is imported
        return (
            [f"from {module.__name__} import {public} as {public}"]
            if inner
            else _moved(module, public, value)
        )
    if isinstance(value, typing.TypeVar):
        written.variables[public] = value
        return []
    if isinstance(value, type):
        return _class(module, public, value, written)
    if _is_of_python(public, value):
        return [f"from multiprocessing import {public} as {public}"]
    if callable(value) and not _is_constant(value):
        if told := by_hand.lines_of(value):
            return told
        if public in IN_PLACE and module.__name__ == "rushlight" and hasattr(Tensor, public):
            return tensors.as_functions(Tensor, public, written)
        schemas = functions.schemas_of(value)
        out = functions.out_of(module.__name__, value)
        if schemas:
            return functions.by_schemas(public, value, schemas, written, False, out=out)
        gives = "Tensor" if _makes_tensors(module.__name__, value) else None
        return [functions.by_signature(public, value, written, gives=gives, out=out)]
    return [f"{public}: {written.text(type(value))}"]


def _moved(module, public, value) -> list[str]:
    """A module that another one lists under a name of its own, as `rushlight.safetensors`."""
    home, _, name = value.__name__.rpartition(".")
    if not home.startswith("rushlight") or public not in getattr(module, "__all__", ()):
        return []
    return [f"from {home} import {name} as {public}"]


def _is_of_python(public, value) -> bool:
    """Whether a function is one of multiprocessing, whose types type checkers know."""
    return inspect.isroutine(value) and getattr(multiprocessing, public, None) == value


def _is_constant(value) -> bool:
    """Objects that can be called and are no functions, such as `ops`."""
    return (
        type(value).__module__.startswith("rushlight")
        and not inspect.isroutine(value)
        and (getattr(value, "op", None) is None)
    )


def _makes_tensors(module, value) -> bool:
    homes = ("rushlight.ops", "rushlight.nn.functional", "rushlight.nn.native_calls")
    return str(getattr(value, "__module__", "")).startswith(homes) or module in (
        "rushlight.fft", "rushlight.linalg", "rushlight.special", "rushlight.nn.functional",
    )  # fmt: skip


def _class(module, public, value, written) -> list[str]:
    home = value.__module__
    if home == module.__name__ and value.__name__ != public:
        named = {*public_names(module), *_private_bases(module)}
        if value.__name__ in named:
            return [f"{public} = {value.__name__}"]
        return classes.lines_of(value, written, public)
    if home == module.__name__:
        lines = tensors if value.__qualname__ == "Tensor" and home == _TENSOR else classes
        return lines.lines_of(value, written)
    if home.partition(".")[0] == "rushlight":
        found = getattr(importlib.import_module(home), value.__name__, None)
        if found is not value:  # made by a function
            return classes.lines_of(value, written, public)
        written.imports.add((home, value.__name__))
        return [f"from {home} import {value.__name__} as {public}"]
    return [f"from {home} import {value.__qualname__} as {public}"] if home != "builtins" else [
        f"{public} = {value.__name__}"
    ]  # fmt: skip


def _variable(variable: typing.TypeVar) -> str:
    """A type variable of generic classes, as it is made."""
    more = ", covariant=True" if variable.__covariant__ else ""
    return f'{variable.__name__} = TypeVar("{variable.__name__}"{more})'


def _joined(name, lines, written) -> str:
    """The text of a stub: what it imports, then its lines."""
    shown = [line if "import " in line else _HIDDEN.sub(r"_\g<0>", line) for line in lines]
    for kind, fields in sorted(written.named.items()):
        shown.insert(
            0, f"class {kind}(NamedTuple):\n" + "".join(f"    {f}: Tensor\n" for f in fields)
        )
    shown = [*map(_variable, written.variables.values()), *shown]
    body = "\n".join(shown)
    here = {
        m[1] for m in re.finditer(r"^(?:class|def) (\w+)|^from .* as (\w+)$", body, re.M) if m[1]
    }
    here |= {m[1] for m in re.finditer(r"^from \S+ import \w+ as (\w+)$", body, re.M)}
    here |= written.variables.keys()
    used = set(re.findall(r"\b\w+\b", body))
    needed = {(home, word) for word, home in _PLACES.items() if word.rpartition(" as ")[2] in used}
    written.imports |= {
        (home, word) for home, word in needed if home.startswith("rushlight.") and home != WORDS
    }
    needed |= {(home, word) for home, word in written.imports if word not in _PLACES}
    imports = sorted(
        f"from {home} import {word}" for home, word in needed if home != name and word not in here
    )
    return "\n".join([_HEAD, *imports, "", body, ""])
