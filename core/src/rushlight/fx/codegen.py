"""From a graph to Python source."""

from __future__ import annotations

import enum
import keyword
import re
import typing
from collections import defaultdict
from dataclasses import dataclass, field

import rushlight
from rushlight.fx.names import (
    CUSTOM_BUILTINS,
    LAZY_BUILTINS,
    Namespace,
    builtin_values,
    qualified_name,
    type_name,
)
from rushlight.fx.node import Node, map_arg
from rushlight.fx.operators import inplace_methods, magic_methods
from rushlight.fx.readable import Annotations, Palette, summary
from rushlight.utils import _pytree as pytree

_NOT_ALIASED = (rushlight.dtype, rushlight.device, rushlight.memory_format, rushlight.layout)


@dataclass
class PythonCode:
    """Source of a function ``forward`` and the globals it names."""

    src: str
    globals: dict
    _lineno_map: dict | None = field(default=None)


@dataclass(frozen=True)
class Reading:
    """What source has beside the program for who reads it, see :meth:`Graph.python_code`."""

    verbose: bool = False
    include_stride: bool = False
    include_device: bool = False
    colored: bool = False
    expanded_def: bool = False
    additional_meta: tuple[str, ...] = ()


class CodeGen:
    """Writes a graph as a function. Subclasses change how it begins (`gen_fn_def`) and what it
    returns (`generate_output`)."""

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """The line with ``def``; `free_vars` are the declarations of the placeholders, each on a
        line of its own with `expanded_def`."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if expanded_def:
            lines = "".join(f"    {name},\n" for name in free_vars)
            return f"def {self._func_name}(\n{lines}){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args, *, descs=None) -> str:
        """The line with ``return``."""
        return f"return {_repr(output_args)}"

    def process_inputs(self, *args):
        """The arguments of ``forward`` as the placeholders take them."""
        return args

    def process_outputs(self, outputs):
        """The value of the output node as ``forward`` returns it."""
        return outputs

    def additional_globals(self) -> list[tuple[str, object]]:
        """More names that the source uses, each with its value."""
        return []

    def generate(self, graph, root_module: str, options: Reading | None = None) -> PythonCode:
        """The source of `graph`; ``self`` is named `root_module` in it."""
        return _Writer(self, graph, root_module, options or Reading()).write()


class _Writer:
    """The state of one generation: globals, names, lines."""

    def __init__(self, codegen, graph, root_module, options):
        self.codegen, self.graph, self.options = codegen, graph, options
        self.root = root_module
        self.globals, self.wrapped, self.parameters = {}, {}, []
        self.returns, self.last_summary = "", None
        self.palette = Palette(options.colored)
        self.annotations = Annotations(self.palette, options.include_stride, options.include_device)
        self.names = Namespace()
        for node in graph.nodes:
            self.names.associate(node.name, node)

    def write(self):
        for name, value in self.codegen.additional_globals():
            self.add_global(name, value)
        last = last_uses(self.graph)
        body = []
        for node in self.graph.nodes:
            if self.options.verbose:
                body.extend(self.comments(node))
            statement = self.statement(node)
            if statement:
                body.append(statement + self.deletions(node, last[node]) + "\n")
        if not any(node.op != "placeholder" for node in self.graph.nodes):
            body.append("pass\n")
        if self.codegen._body_transformer is not None:
            body = self.codegen._body_transformer(body)
        wraps = "\n".join(f'rushlight.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        if wraps:
            self.add_global("rushlight", rushlight)
        expanded = {"expanded_def": True} if self.options.expanded_def else {}
        head = self.codegen.gen_fn_def(self.parameters, self.returns, **expanded)
        code = "\n".join("    " + line for line in "".join(body).lstrip("\n").split("\n"))
        return PythonCode(f"\n{wraps}\n\n{head}\n{code}", self.globals)

    # ---------------------------------------------------------------------------------- globals
    def add_global(self, hint, value):
        """The name under which the source uses `value`."""
        if _is_ours(value):
            self.globals.setdefault("rushlight", rushlight)
            return _dotted(qualified_name(value))
        name = self.names.create_name(hint.replace(".", "_"), value)
        self.globals[name] = value
        return name

    def type(self, kind):
        """An annotation as the source writes it."""
        if kind is None or kind == ():
            return ""
        if typing.get_args(kind) and (origin := _origin_name(kind)):
            hint, value = origin
            inside = ",".join(self.type(each) or "None" for each in typing.get_args(kind))
            return f"{self.add_global(hint, value)}[{inside}]"
        if isinstance(kind, type):
            if kind.__module__ == "builtins" and kind is not type(None):
                return kind.__name__
            return self.add_global(type_name(kind), kind)
        return self.add_global(re.sub(r"\W", "_", type_name(kind)), kind)

    def value(self, value):
        """An argument as the source writes it."""
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            inside = ", ".join(self.value(item) for item in value)
            return f"{self.add_global(qualified_name(type(value)), type(value))}({inside})"
        if isinstance(value, tuple):
            inside = ", ".join(map(self.value, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, dict):
            return self.palette.paint(self._dict(value), "blue")
        if isinstance(value, slice):
            return f"slice({', '.join(map(self.value, (value.start, value.stop, value.step)))})"
        return self.leaf(value)

    def _dict(self, value):
        """A dict, in one colour."""
        palette, self.palette = self.palette, Palette(False)
        items = [f"{self.value(k)}: {self.value(v)}" for k, v in value.items()]
        self.palette = palette
        return f"{{{', '.join(items)}}}"

    def leaf(self, value):
        if isinstance(value, Node):
            return repr(value)
        if isinstance(value, enum.Enum):
            return f"{self.add_global(qualified_name(type(value)), type(value))}.{value.name}"
        if isinstance(value, type) or callable(value) and hasattr(value, "__qualname__"):
            return self.add_global(qualified_name(value), value)
        if isinstance(value, _NOT_ALIASED):
            home, dot, _ = repr(value).partition(".")  # ``device(...)`` or ``rushlight.float32``
            self.globals.setdefault(*((home, rushlight) if dot else ("device", rushlight.device)))
        elif isinstance(value, float) and repr(value).lstrip("-") in CUSTOM_BUILTINS:
            self.globals.setdefault(repr(value).lstrip("-"), CUSTOM_BUILTINS[repr(abs(value))][1])
        return self.palette.paint(repr(value), "blue")

    def arguments(self, args, kwargs):
        parts = [self.value(value) for value in args]
        for name in kwargs:
            _checked_name(name, "keyword argument")
        return ", ".join(parts + [f"{k} = {self.value(v)}" for k, v in kwargs.items()])

    # --------------------------------------------------------------------------------- statements
    def statement(self, node):
        return getattr(self, "_" + node.op)(node)

    def _typed(self, node):
        known = self.annotations.of(node) if self.options.verbose else None
        if known is not None:
            return f": {known}"
        kind = self.type(node.type) if node.type is not None else ""
        return f" : {kind}" if kind else ""

    def _placeholder(self, node):
        default = f" = {self.value(node.args[0])}" if node.args else ""
        _checked_name(node.target.lstrip("*"), "placeholder")
        self.parameters.append(f"{node.target}{self._typed(node)}{default}")
        raw = node.target.replace("*", "")
        return f"{node} = {raw}" if raw != repr(node) else ""

    def _call_method(self, node):
        rest = self.arguments(node.args[1:], node.kwargs)
        _checked_name(node.target, "method")
        return (
            f"{node}{self._typed(node)} = {_object(self.value(node.args[0]))}.{node.target}({rest})"
        )

    def _call_function(self, node):
        target = node.target
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            operands = [_operand(value, self.value(value)) for value in node.args]
            if target.__name__ in magic_methods:
                form = magic_methods[target.__name__]
                return f"{node}{self._typed(node)} = {form.format(*operands)}"
            if target.__name__ in inplace_methods:
                done = inplace_methods[target.__name__].format(*operands)
                return f"{done};  {node}{self._typed(node)} = {operands[0]}"
        name = self.add_global(qualified_name(target), target)
        if target is getattr and len(node.args) == 2 and _is_attribute(node.args[1]):
            return f"{node}{self._typed(node)} = {_object(self.value(node.args[0]))}.{node.args[1]}"
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(name)
        return f"{node}{self._typed(node)} = {name}({self.arguments(node.args, node.kwargs)})"

    def _call_module(self, node):
        rest = self.arguments(node.args, node.kwargs)
        return f"{node}{self._typed(node)} = {_path(self.root, node.target)}({rest})"

    def _get_attr(self, node):
        return f"{node}{self._typed(node)} = {_path(self.root, node.target)}"

    def _output(self, node):
        if node.type is not None:
            self.returns = f" -> {self.type(node.type)}"
        names = _Rendered(self.value(node.args[0]))
        parts = node.args[0]
        if isinstance(self.codegen, _PyTreeCodeGen) and isinstance(parts, (list, tuple)):
            names = [_Rendered(self.value(part)) for part in parts]
        return self.codegen.generate_output(names)

    def comments(self, node):
        """Lines before a statement: where the program made it, if that is another line."""
        if node.op in ("placeholder", "output"):
            return
        text = summary(node, self.options.additional_meta)
        if text != self.last_summary:
            self.last_summary = text
            yield f"\n{self.palette.paint(text, 'dim')}\n"

    def deletions(self, node, last):
        """Text that lets go of values after their last use, so that memory is free again."""
        if node.op in ("placeholder", "output"):
            return ""
        names = [repr(each) for each in last]
        if not node.users:
            names.append(repr(node))
        if not names:
            return ""
        return f";  {self.palette.paint(' = '.join([*names, 'None']), 'dim')}"


class _Rendered(str):
    """Source text that stands for itself."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def _repr(value):
    return repr(list(value)) if isinstance(value, list) else repr(value)


@dataclass
class _PyTreeInfo:
    """The arguments of a traced function before they were flattened, and both structures."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class _PyTreeCodeGen(CodeGen):
    """Writes functions that take and return structures while the graph has only their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        """The leaves of the arguments."""
        return pytree.tree_flatten(inputs)[0]

    def process_outputs(self, out):
        """The structure of the leaves `out`."""
        if self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """The line with ``def``, those that name types, and the one that flattens the arguments."""
        leaves = [name for name in free_vars if name != "self"]
        names = list(self.pytree_info.orig_args)
        head = super().gen_fn_def(names, maybe_return_annotation, expanded_def=expanded_def)
        if not leaves:
            return head
        bare = ", ".join(re.split("[ :=]", name)[0] for name in leaves)
        flat = f"fx_pytree.tree_flatten_spec({self.given(names[1:])}, self._in_spec)"
        return f"{head}\n{_typed_leaves(leaves, expanded_def)}    {bare}, = {flat}"

    def given(self, names: list[str]) -> str:
        """The arguments of those names, as the structure that is flattened."""
        return f"[{', '.join(names)}]"

    def generate_output(self, output_args, *, descs=None) -> str:
        """The line with ``return``, which builds the structure of the result."""
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({_repr(output_args)}, self._out_spec)"

    def additional_globals(self) -> list[tuple[str, object]]:
        """The two modules that take structures apart and build them."""
        return [(name, value) for name, value in builtin_values().items() if name in LAZY_BUILTINS]


def _typed_leaves(leaves, expanded_def):
    """Lines that name the types of leaves, where they are known."""
    typed = [re.split(" =", leaf)[0] for leaf in leaves if ":" in leaf]
    if expanded_def:
        return "".join(f"    {leaf}\n" for leaf in typed)
    return "    " + "".join(f"{leaf}; " for leaf in typed) + "\n\n" if typed else ""


def _dotted(name):
    """A dotted name as an expression; an overload may have a name that is Python's own word, such
    as ``aten.random_.from``."""
    text, *parts = name.split(".")
    for part in parts:
        text = f'getattr({text}, "{part}")' if keyword.iskeyword(part) else f"{text}.{part}"
    return text


def _is_ours(value):
    module = getattr(value, "__module__", None) or ""
    return module.split(".")[0] == "rushlight" and value is not rushlight.device


def _origin_name(kind):
    """The generic behind ``typing.List[int]`` or ``list[int]``: a hint for its name, and itself."""
    origin = typing.get_origin(kind)
    name = getattr(kind, "_name", None) or getattr(origin, "_name", None)
    if name == "Optional" or origin is typing.Union:
        return "typing_Union", typing.Union
    if getattr(kind, "__module__", "") == "typing" and name and hasattr(typing, name):
        return f"typing_{name}", getattr(typing, name)
    if isinstance(origin, type) and origin.__module__ == "builtins":
        return origin.__name__, origin
    return None


def last_uses(graph):
    """For each node the ones whose value is read there for the last time."""
    found: dict = defaultdict(list)
    seen: set = set()
    for node in reversed(graph.nodes):

        def note(read, node=node):
            if read not in seen:
                seen.add(read)
                found[node].append(read)
            return read

        map_arg(node.args, note)
        map_arg(node.kwargs, note)
    return found


def _is_attribute(name):
    return isinstance(name, str) and name.isidentifier()


def _checked_name(name, what):
    """Refuse names that are no names: graphs are read from files, and what stands here is run."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"the graph has a {what} named {str(name)[:80]!r}: expected an identifier")


def _operand(value, text):
    """An operand; negative and complex numbers in brackets, which bind less than operators."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and repr(value).startswith("-"):
        return f"({text})"
    return text


def _object(text):
    """What stands before a dot."""
    return text if text.isidentifier() or text[0] in "([{'\"" else f"({text})"


def _path(root, target):
    """``self.layer.weight``, with getattr where a part is no identifier."""
    for name in target.split("."):
        root = f"{root}.{name}" if name.isidentifier() else f"getattr({root}, {_quoted(name)})"
    return root


def _quoted(name):
    """A string in double quotes; what would end it is escaped."""
    return f'"{name}"' if name.isprintable() and not {'"', "\\"} & set(name) else repr(name)
