"""Compiled functions and methods as users call them: arguments are bound and checked."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.jit import kinds, runtime
from rushlight.jit.kinds import FLOAT
from rushlight.jit.tracer.trace_state import ACTIVE


def bound_values(function, params, args, kwargs):
    """The values of all parameters in order; RuntimeError where they do not fit."""
    name = function.name.rpartition(".")[2]
    if len(args) > len(params):
        raise RuntimeError(
            f"{name}() expected at most {len(params)} argument(s) but received {len(args)} "
            f"argument(s). Declaration: {schema_text(function)}"
        )
    values = list(args)
    for param in params[len(args) :]:
        if param.name in kwargs:
            values.append(kwargs.pop(param.name))
        elif param.has_default:
            values.append(param.default)
        else:
            raise RuntimeError(
                f"{name}() is missing value for argument '{param.name}'. Declaration: "
                f"{schema_text(function)}"
            )
    if kwargs:
        given = next(iter(kwargs))
        what = "given twice" if given in [p.name for p in params] else "Unknown keyword argument"
        raise RuntimeError(
            f"{name}() {what} '{given}'. Declaration: {schema_text(function)}"
        )  # fmt: skip
    return [_checked(function, p, v) for p, v in zip(params, values, strict=True)]


def _checked(function, param, value):
    kind = param.type
    if kind is kinds.TENSOR and type(value).__name__ in ("Tensor", "Parameter"):
        return value
    if not kinds.accepts(kind, value):
        name = function.name.rpartition(".")[2]
        note = ""
        if kind == kinds.TENSOR:
            note = f" (Inferred '{param.name}' to be of type 'Tensor'.)" * (value is not None)
        raise RuntimeError(
            f"{name}() Expected a value of type '{kind}{note}' for argument '{param.name}' but "
            f"instead found type '{type(value).__name__}'.\nDeclaration: {schema_text(function)}"
        )
    return converted(kind, value)


def converted(kind, value):
    """A value as programs hold it: lists for tuples, numbers for dtypes, floats for ints."""
    if isinstance(value, dtypes.dtype):
        return runtime.NUMBERS[value]
    if kind == FLOAT and type(value) is int:
        return float(value)
    if kind.name == "Optional" and value is not None:
        return converted(kind.args[0], value)
    if kind.name == "List" and (isinstance(value, tuple) or kind.args[0] == FLOAT):
        return [converted(kind.args[0], v) for v in value]
    return value


def schema_text(function):
    """``name(Tensor x, int n=2) -> Tensor``."""
    words = []
    for param in function.params:
        owner = isinstance(param.type, kinds.ClassType) and param.type.kind == "module"
        shown = str(param.type) if not owner else str(param.type)
        words.append(f"{_schema_type(shown)} {param.name}" + (
            f"={param.default!r}" if param.has_default else ""))  # fmt: skip
    name = function.name.rpartition(".")[2]
    return f"{name}({', '.join(words)}) -> {_schema_type(str(function.returns))}"


def _schema_type(text):
    """A type as schemas write it: ``int[]``, ``Tensor?``."""
    for prefix, suffix in (("List[", "[]"), ("Optional[", "?")):
        if text.startswith(prefix) and text.endswith("]"):
            return _schema_type(text[len(prefix) : -1]) + suffix
    return text


def _saving():
    from rushlight.jit import saving

    return saving


class ScriptFunction:
    """A compiled function."""

    def __init__(self, function, doc=None):
        self.function, self.__doc__ = function, doc
        self.name = self.__name__ = function.name.rpartition(".")[2]
        self.qualified_name = function.name

    def __call__(self, *args, **kwargs):
        """Run it on checked arguments."""
        function = self.function
        values = bound_values(function, function.params, args, kwargs)
        if ACTIVE:
            return ACTIVE[-1].compiled(function, None, values)
        return function.code(*values)

    def save(self, f, _extra_files=None) -> None:
        """Write it as the ``forward`` of a module: see :func:`rushlight.jit.save`."""
        _saving().save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files=None) -> bytes:
        """The bytes of an archive: see :func:`rushlight.jit.save`."""
        return _saving().save_to_buffer(self, _extra_files)

    def graph_for(self, *args, **kwargs):
        """Its operations with those of the functions it calls, after a call with the arguments:
        there is no other graph for one kind of arguments."""
        self(*args, **kwargs)
        return self.inlined_graph

    @property
    def schema(self) -> str:
        """Its name, parameters and result as a schema."""
        return schema_text(self.function)

    @property
    def code(self) -> str:
        """Its TorchScript source."""
        from rushlight.jit.printer import source_of

        return source_of(self.function)

    @property
    def code_with_constants(self) -> tuple:
        """Its TorchScript source, and an object with the tensors that are ``CONSTANTS.c0``, ... in
        it as ``c0``, ..."""
        from rushlight.jit.printer import source_with_constants

        return source_with_constants(self.function)

    @property
    def graph(self):
        """Its operations as nodes: see :class:`rushlight.jit.graphs.parts.Graph`; `str` gives the
        text."""
        from rushlight.jit.graphs.building import graph_of

        return graph_of(self.function)

    @property
    def inlined_graph(self):
        """Its operations with those of the functions it calls."""
        from rushlight.jit.graphs.building import graph_of

        return graph_of(self.function, inlined=True)

    def __repr__(self):
        return f"<rushlight.jit.ScriptFunction object '{self.name}'>"


class ScriptMethod(ScriptFunction):
    """A compiled method of one object."""

    def __init__(self, owner, function):
        super().__init__(function)
        self.owner = owner

    def __call__(self, *args, **kwargs):
        """Run it on checked arguments."""
        function = self.function
        values = bound_values(function, function.params[1:], args, kwargs)
        if ACTIVE:
            return ACTIVE[-1].compiled(function, self.owner, values)
        return function.code(self.owner, *values)
