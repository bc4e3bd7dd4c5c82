"""Functions and methods as lines of stubs: by ATen's schemas where there are any, else by what
their signatures, annotations and names say."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import keyword
import sys
import typing
from pathlib import Path

from rushlight.library.schema import REQUIRED
from rushlight.tensor.results import NAMED
from stub_writer import hints, op_types

# The code of every function that contextlib.contextmanager has wrapped.
_OF_CONTEXTS = contextlib.contextmanager(lambda: iter(())).__code__
_EMPTY = inspect.Parameter.empty
_VARIABLE = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# ATen's own, which Python's functions do not have.
_LEFT_OUT = frozenset(("out", "names", "path"))
# Overloads that Python's functions do not have.
_ATENS_ALONE = frozenset({("bernoulli", "Tensor")})
# Functions whose schemas do not say what Python takes.
BY_SIGNATURE = frozenset(
    "tensor size stride numel item tolist split chunk dropout to type norm tensor_split "
    "multi_margin_loss multilabel_margin_loss".split()
)


# Composites whose results are values and where they are.
_WITH_PLACES = frozenset(
    "max min sort topk kthvalue mode median nanmedian cummax cummin msort".split()
)
# Calls that ATen has no schema for.
MORE = {
    "where": ["def where(condition: Tensor) -> tuple[Tensor, ...]: ..."],
    "randint_like": [
        "def randint_like(input: Tensor, high: Tensor, *, generator: Generator | None = ..., "
        "dtype: dtype | None = ..., layout: layout | None = ..., device: DeviceLike | None = ..., "
        "requires_grad: bool = ..., pin_memory: bool = ..., "
        "memory_format: memory_format | None = ...) -> Tensor: ..."
    ],
    **{
        name: [
            f"def {name}(input: Tensor, dim: int | None = ..., _stacklevel: int = ..., "
            "dtype: dtype | None = ...) -> Tensor: ..."
        ]
        for name in ("softmax", "log_softmax", "softmin")
    },
}


def schemas_of(function) -> list:
    """ATen's schemas of what a function runs; those that write to `out` are left out."""
    op = getattr(function, "op", None)
    name = getattr(function, "__name__", "")
    if name in BY_SIGNATURE or (op is None and not _is_open(function)):
        return []
    if op is not None and op.kind == "composite" and not _is_aten(op):
        return []  # what would be derived are guesses
    if has_operands(op):
        return []  # which operands may be numbers, the declaration says
    called = name if op is None else op.name
    found = importlib.import_module("rushlight.library.aten_schemas").schemas_of(called)
    return [
        s
        for key, s in found.items()
        if "out" not in key.split("_") and key != "vec" and (called, key) not in _ATENS_ALONE
    ]


def has_operands(op) -> bool:
    """Whether an op computes elementwise with several tensors."""
    return op is not None and op.kind == "elementwise" and len(op.tensor_positions) > 1


def _operand(function, name: str) -> str | None:
    """The type of an operand: a tensor, or a number where calls take one."""
    op = getattr(function, "op", None)
    if not has_operands(op) or op.index.get(name) not in op.tensor_positions:
        return None
    position = op.index[name]
    return "Tensor" if position in op.strict else "Tensor | Number"


def _is_aten(op) -> bool:
    """Whether a composite is an op of ATen, by its declaration."""
    named = [text.partition("(")[0].partition(".")[0] for text in op.options.get("schemas", ())]
    return op.name in named or "aten" in op.options


def _is_open(function) -> bool:
    """Whether a function passes on arguments that its signature does not name."""
    kinds = {p.kind for p in parameters(function)}
    return inspect.Parameter.VAR_KEYWORD in kinds


def hints_of(function) -> dict:
    """The annotations of a function, evaluated where that is possible."""
    signed = getattr(function, "__signature__", None)
    function = inspect.unwrap(_maker(function) if isinstance(function, type) else function)
    if isinstance(function, functools.partial):
        function = function.func
    if not hasattr(function, "__annotations__"):  # an object that can be called
        function = type(function).__call__
    module = getattr(function, "__module__", None)
    try:
        found = typing.get_type_hints(function, localns=_for_checkers(module))
    except (NameError, TypeError):  # a type that its own module cannot name
        found = {}
    return {**found, **_changed(signed)}


def _maker(cls: type):
    """What makes instances of a class: the method whose signature is the class's."""
    if hasattr(cls, "_fields"):  # a tuple with names
        return cls
    if "__call__" in vars(type(cls)) and type(cls) is not type:
        return type(cls).__call__
    return cls.__new__ if inspect.isfunction(cls.__new__) else cls.__init__


def _changed(signature) -> dict:
    """The types that a signature of its own gives a function, where they are no texts."""
    if signature is None:
        return {}
    told = {p.name: p.annotation for p in signature.parameters.values()}
    told["return"] = signature.return_annotation
    return {n: kind for n, kind in told.items() if kind is not _EMPTY and not isinstance(kind, str)}


@functools.cache
def _for_checkers(module: str | None) -> dict:
    """What a module imports for type checkers alone."""
    found: dict = {}
    source = getattr(sys.modules.get(str(module)), "__file__", None)
    tree = ast.parse(Path(source).read_text()) if str(source).endswith(".py") else ast.Module([])
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            exec(compile(ast.Module(node.body, []), module, "exec"), found)
    return found


def by_schemas(
    name: str, function, schemas: list, written, method: bool, result: str | None = None, out=None
) -> list[str]:
    """The overloads of an op; `result` is the type of all of them, where they have one, `out`
    the parameter that they write into."""
    every = parameters(function)
    own = [p for p in every if p.kind is p.POSITIONAL_OR_KEYWORD]
    lines = []
    for schema in schemas:
        gives = result or _gives(function, schema, written)
        lines.append(_line(name, schema, own, function, method, gives, out))
        lines += _variadic(name, schema, method, gives)
    lines = _distinct([*lines, *([] if method else MORE.get(name, []))])
    if len(lines) == 1:
        return lines
    return [part for line in lines for part in ("@overload", line)]


def _distinct(lines: list[str]) -> list[str]:
    """Overloads without those that another takes as well, with more left to its defaults."""
    found: dict[str, str] = {}
    for line in lines:
        bare = line.replace(" = ...", "").replace(" | None", "")
        found[bare] = max(found.get(bare, line), line, key=len)
    return list(found.values())


def _gives(function, schema, written) -> str:
    """What a schema returns; results with names by the class that has them."""
    op = getattr(function, "op", None)
    kind = None if op is None else op.options.get("result")
    if kind is None or getattr(function, "__name__", "") in _WITH_PLACES:
        kind = NAMED.get(getattr(function, "__name__", "") if op is None else op.name)
    fields = getattr(kind, "_fields", ())
    if fields and len(fields) == len(schema.returns):
        name = kind.__name__ if kind.__name__[0].isupper() else f"{kind.__name__}_result"
        written.named[name] = fields
        return name
    return hints.returned(schema.returns)


# Homes of functions that write into `out`, and those of them that do not.
_WITH_OUT = ("rushlight.linalg", "rushlight.special", "rushlight.fft")
_WITHOUT_OUT = frozenset(
    "linalg_diagonal linalg_lstsq linalg_vander softmax log_softmax fft_fftshift "
    "fft_ifftshift".split()
)


def _by_name(function, parameter: str) -> str | None:
    """What op_types.txt says of a parameter of an op or of a function beside ops."""
    return op_types.type_of(function, parameter) if op_types.is_by_name(function) else None


def out_of(module: str, function) -> str | None:
    """The parameter `out` of a function of a module; None where it has none."""
    told = _by_name(function, "out")
    op = getattr(function, "op", None)
    if told is None and module in _WITH_OUT and op is not None and op.kind != "view":
        told = None if op.name in _WITHOUT_OUT else "Tensor | None"
    if told is None or module.startswith("rushlight.nn"):
        return None
    return f"out: {told} = ..."


def _line(name, schema, own, function, method, gives, out):
    words, starred, every = [], False, parameters(function)
    known, is_open = {p.name for p in every}, not every or any(p.kind in _VARIABLE for p in every)
    for place, argument in enumerate(schema.arguments):
        if argument.name in _LEFT_OUT:
            continue
        label = argument.name
        if label == "self" or (place < len(own) and label == own[place].name):
            label = own[place].name if place < len(own) else "input"
        if keyword.iskeyword(label):  # ATen's `from`
            label += "_"
        if place == 0 and method:
            words.append("self")
            continue
        if argument.keyword_only and not starred:
            words.append("*")
            starred = True
        if argument.default is not REQUIRED and label not in known and not is_open:
            continue  # ATen's alone
        default = "" if argument.default is REQUIRED else " = ..."
        told = _by_name(function, label)
        words.append(f"{label}: {told or _type_of(argument, label)}{default}")
    named = {word.partition(":")[0] for word in words}
    more = [p for p in every if p.kind is p.KEYWORD_ONLY and p.name not in named]
    if not starred and "inplace" in known:  # as layers have it, after ATen's arguments
        words = [w for w in words if not w.startswith(("scale: ", "input_scale: "))]
        words.append("inplace: bool = ...")
        more = [p for p in more if p.name != "inplace"]
    more = [f"{p.name}: {_more(function, p)} = ..." for p in more]
    if out and not method and not any(w.startswith("out:") for w in more):
        more.append(out)
    if more and not starred:
        words.append("*")
    words += more
    if words and words[-1] == "*":
        words.pop()
    return f"def {name}({', '.join(words)}) -> {gives}: ..."


def _more(function, parameter) -> str:
    """The type of a parameter that no schema has."""
    told = op_types.type_of(function, parameter.name)
    return told or hints.by_name(parameter.name, parameter.default)


def _type_of(argument, label) -> str:
    """The type of an argument; of names that say it themselves, whatever was derived for them."""
    if label in ("dtype", "layout", "device", "generator", "memory_format") and (
        argument.type in ("Scalar", "number")
    ):
        return f"{hints.NAMED[label]} | None"
    return hints.aten(argument)


def _variadic(name, schema, method, gives) -> list[str]:
    """A method that takes sizes one by one: ``x.view(2, 3)``."""
    sizes, *rest = schema.arguments[1:] or (None,)
    if not method or sizes is None or sizes.type not in ("SymInt", "int"):
        return []
    if "[" not in sizes.shape or any(a.default is REQUIRED for a in rest):
        return []
    more = [f"{a.name}: {hints.aten(a)} = ..." for a in rest if a.keyword_only]
    return [f"def {name}({', '.join(['self', f'*{sizes.name}: int', *more])}) -> {gives}: ..."]


def parameters(function) -> list[inspect.Parameter]:
    """The parameters of a function; none where it has no signature."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def by_signature(
    name, function, written, method=False, gives=None, first=None, of_tensors=True, out=None
) -> str:
    """A function by its signature; `gives` is its type where it has no annotation of one, `out`
    the parameter that it writes into."""
    known = hints_of(function)
    found = parameters(function)
    words, keywords, optional = [], False, False
    for place, parameter in enumerate(found):
        if place == 0 and (method or first):
            words.append(first or "self")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
            if not any(p.kind is p.VAR_POSITIONAL for p in found):
                words.append("*")
            keywords = True
        told = op_types.type_of(function, parameter.name) or _operand(function, parameter.name)
        words.append(_word(parameter, known, written, of_tensors, told))
        optional = optional or parameter.default is not _EMPTY
        if optional and parameter.default is _EMPTY and parameter.kind in _BY_POSITION:
            words[-1] += " = ..."  # as Python's `__new__` of some classes has it
        if parameter.kind is parameter.POSITIONAL_ONLY and (
            place + 1 == len(found) or found[place + 1].kind is not parameter.POSITIONAL_ONLY
        ):
            words.append("/")
    if not found and method:
        words = ["self", "*args: Any", "**kwargs: Any"]
    result = op_types.type_of(function, "return")
    if result is None:
        result = written.text(known["return"]) if "return" in known else (gives or "Any")
    if out and not any(word.startswith(("out:", "**")) for word in words):
        words += [out] if keywords else ["*", out]
    if getattr(function, "__code__", None) is _OF_CONTEXTS:
        result = f"AbstractContextManager[{_item(result)}]"
    return f"def {name}({', '.join(words)}) -> {result}: ..."


def _item(result: str) -> str:
    """What a context gives, by what its generator does: ``Iterator[None]``."""
    return result.partition("[")[2].rpartition("]")[0].partition(",")[0] or "Any"


def _word(parameter, known, written, of_tensors, told=None):
    """A parameter with its type: the one that it is `told`, an annotation's, or its name's."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    if stars:
        is_size = parameter.name in ("size", "sizes", "shape", "dims")
        kind = "int | Sequence[int]" if is_size else "Any"
        return f"{stars}{parameter.name}: {kind}"
    required = parameter.default is _EMPTY
    default = _EMPTY if required else parameter.default
    if type(default) is object:  # a mark for "not given"
        default = None
    kind = told
    if kind is None and parameter.name in known:
        kind = written.text(known[parameter.name])
    if kind in (None, "Any"):
        kind = hints.by_name(parameter.name, default, of_tensors)
    if default is None and "None" not in kind and kind not in ("Any", "object"):
        kind += " | None"
    return f"{parameter.name}: {kind}{'' if required else ' = ...'}"
