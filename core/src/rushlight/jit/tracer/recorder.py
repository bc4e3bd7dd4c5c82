"""Records calls of public functions as statements of a program."""

from __future__ import annotations

import functools
import inspect

from rushlight import devices, dtypes, from_numpy
from rushlight.jit import kinds, tensors, tree
from rushlight.jit.kinds import INT, NONE, TENSOR, Type
from rushlight.jit.targets import Compiled, Method
from rushlight.jit.tracer.trace_state import Scopes
from rushlight.jit.tracer.traced_values import Traced, TracedInside, TracedSize
from rushlight.machine import np
from rushlight.ops._transforms.wrappers import Level, below, replace, wrap
from rushlight.tensor.memory_format import memory_format
from rushlight.tensor.tensor import Tensor

_OUTSIDE = (
    "jit.trace: a traced tensor is written into one that was made outside of the trace; make it "
    "inside, for example with x.new_zeros or rushlight.zeros_like"
)
_PARTS = ("_slice", "_index", "getitem")
_REVERSED = {"rdiv": "/", "rpow": "**", "rmatmul": "@"}
_AT = (1, 0, 1)
_CONSTANTS = (bool, int, float, complex, str, type(None), dtypes.dtype, devices.device,
              memory_format)  # fmt: skip


class OutsideWriteError(NotImplementedError):
    """A traced tensor is written into one that is no part of the program."""


class Recorder(Scopes):
    """One function that is traced. `known` are expressions of tensors and modules by their ids."""

    def __init__(self, known):
        super().__init__()
        self.known, self.statements, self.count = known, [], 0
        self.level = Level("tracing", self.process)
        self.kind = Traced
        self.kept: list = []  # so that no id is used twice
        self.constants: list = []
        self.writes = False

    # ----------------------------------------------------------------------------------- values
    def name(self, kind=TENSOR):
        """A new variable."""
        self.count += 1
        return tree.Name(f"v{self.count}", type=kind, at=_AT)

    def wrapped(self, tensor, expr):
        """A tensor whose calls are recorded."""
        made = wrap(self.kind, tensor, self.level)
        made._recorded = expr
        self.kept.append(made)
        return made

    def expr(self, value):
        """A value as an expression of the program."""
        if isinstance(value, Traced):
            return value._recorded
        if isinstance(value, TracedSize):
            return value.expr
        if isinstance(value, np.ndarray):
            value = from_numpy(value)
        found = self.known.get(id(value))
        if found is not None:
            return found
        if isinstance(value, Tensor):
            return self.constant(value)
        if isinstance(value, _CONSTANTS):
            return tree.Const(value, type=kinds.of_value(value), at=_AT)
        if isinstance(value, list | tuple):
            items = [self.expr(item) for item in value]
            kind = Type("Tuple", *(i.type for i in items))
            if isinstance(value, list) or {i.type for i in items} == {INT}:
                kind = kinds.list_of(items[0].type if items else TENSOR)
            return tree.Sequence("list" if kind.name == "List" else "tuple", items, type=kind,
                                 at=_AT)  # fmt: skip
        if isinstance(value, dict):
            keys, items = ([self.expr(v) for v in part] for part in (value, value.values()))
            kind = Type("Dict", keys[0].type, items[0].type) if keys else kinds.UNKNOWN
            return tree.Mapping(keys, items, type=kind, at=_AT)
        raise RuntimeError(
            f"jit.trace: a value of type {type(value).__name__} cannot be part of a program"
        )

    def constant(self, tensor):
        """A tensor that no argument made: what it holds now, under a name of its own."""
        name = self.name()
        kept = tensor.detach().clone()
        self.kept.append(tensor)
        self.constants.append((name, tree.Const(kept, type=TENSOR, at=_AT)))
        self.known[id(tensor)] = name
        return name

    def body(self):
        """All statements; constants are copied first where the function writes to tensors."""
        made = []
        for name, constant in self.constants:
            if self.writes:
                constant = tree.Call(tensors.Aten("clone"), [constant], {}, type=TENSOR, at=_AT)
            made.append(tree.Assign(name, constant, at=_AT))
        return made + self.statements

    def result(self, value):
        """What a function returns, as an expression."""
        if isinstance(value, tuple):
            items = [self.result(v) for v in value]
            kind = Type("Tuple", *(i.type for i in items))
            return tree.Sequence("tuple", items, type=kind, at=_AT)
        if isinstance(value, list):
            items = [self.result(v) for v in value]
            kind = kinds.list_of(items[0].type if items else TENSOR)
            return tree.Sequence("list", items, type=kind, at=_AT)
        return self.expr(value)

    def index(self, value):
        """What stands between brackets."""
        if isinstance(value, tuple):
            items = [self.index(v) for v in value]
            return tree.Sequence("tuple", items, type=kinds.UNKNOWN, at=_AT)
        if isinstance(value, slice):
            ends = (value.start, value.stop, value.step)
            return tree.Cut(*(None if e is None else self.expr(e) for e in ends), at=_AT)
        if value is Ellipsis:
            return tree.Const(Ellipsis, type=kinds.UNKNOWN, at=_AT)
        return self.expr(value)

    # ------------------------------------------------------------------------------------ calls
    def process(self, level, function, args, kwargs):
        """Record a call of a public function, and run it."""
        if getattr(function, "__name__", "") == "put" and not hasattr(function, "op"):
            return self.written_at(function, args)
        if not _has_form(function):
            op = getattr(function, "op", None)
            by = None if op is None else op.options.get("captured")
            if by is not None:  # the same by ops that archives have
                return by(*op.bind(args, kwargs))
            if self.kind is Traced:
                return self.inside(function, args, kwargs)
        made = self.call(function, args, kwargs)
        if self.writes and _writes_outside(function, args, self.known):
            raise OutsideWriteError(_OUTSIDE)
        return self.keep(made, self.run(function, args, kwargs))

    def inside(self, function, args, kwargs):
        """The ops that a public function makes, where archives have nothing for the function."""
        self.kind = TracedInside
        try:
            change = self.changed
            kwargs = {key: replace(value, change) for key, value in kwargs.items()}
            found = function(*(replace(value, change) for value in args), **kwargs)
        finally:
            self.kind = Traced
        return replace(found, self.changed)

    def changed(self, tensor):
        """A traced tensor as the kind that is used now; others stay."""
        if not isinstance(tensor, Traced) or type(tensor) is self.kind:
            return tensor
        return self.wrapped(tensor._inner, tensor._recorded)

    def written_at(self, function, args):
        """``x[index] = values`` at an advanced index."""
        target, index, values, accumulate = args
        if not isinstance(target, Traced):
            raise OutsideWriteError(_OUTSIDE)
        if accumulate:
            items = [self.expr(i) for i in index]
            held = tree.Sequence("list", items, type=kinds.list_of(TENSOR), at=_AT)
            call = [self.expr(target), held, self.expr(values), tree.Const(True, type=kinds.BOOL)]
            made = tree.Call(tensors.Aten("index_put_"), call, {}, type=TENSOR, at=_AT)
            self.statements.append(tree.Run(made, at=_AT))
        else:
            place = tree.Item(self.expr(target), self.index(index), type=TENSOR, at=_AT)
            self.statements.append(tree.Assign(place, self.expr(values), at=_AT))
        self.writes = True
        self.run(function, args, {})
        return target

    def run(self, function, args, kwargs):
        """The results of a call on the tensors below."""
        with below(self.level):
            kwargs = {key: _plain(value) for key, value in kwargs.items()}
            return function(*(_plain(value) for value in args), **kwargs)

    def call(self, function, args, kwargs):
        """The call of a public function as an expression."""
        name = getattr(function, "__name__", "")
        if name in _PARTS:
            index = self.index(args[1])
            return tree.Item(self.expr(args[0]), index, type=TENSOR, at=_AT)
        if name == "_cast":
            values = [self.expr(args[0]), self.expr(args[1])]
            return tree.Call(tensors.Aten("to"), values, {}, type=TENSOR, at=_AT)
        if name == "interpolate":
            kwargs = _by_dimension(args[0], kwargs)
        own = getattr(function, "op", None)
        public = _script_name(getattr(own, "name", name))
        if name.endswith("_") and not public.endswith("_"):
            public += "_"
        if public in _REVERSED:
            sides = self.expr(args[1]), self.expr(args[0])
            return tree.Binary(_REVERSED[public], *sides, type=TENSOR, at=_AT)
        self.writes = self.writes or public.endswith("_") or bool(kwargs.get("inplace"))
        values = [self.expr(a) for a in args]
        defaults = _defaults(function)
        named = {k: self.expr(v) for k, v in kwargs.items()
                 if not (k in defaults and _same(defaults[k], v))}  # fmt: skip
        kind = tensors.result(public, values, named)
        return tree.Call(tensors.Public(public, function), values, named, type=kind, at=_AT)

    def keep(self, call, found):
        """Give the results of a call variables."""
        if isinstance(found, Tensor):
            name = self.name()
            call.type = TENSOR
            self.statements.append(tree.Assign(name, call, at=_AT))
            return self.wrapped(found, name)
        if isinstance(found, list | tuple) and any(isinstance(v, Tensor) for v in found):
            return self.several(call, found)
        if found is None:
            self.statements.append(tree.Run(call, at=_AT))
        return found

    def several(self, call, found):
        """Several results, named one by one; tuples in them too."""
        names, made = [], []
        for value in found:
            if isinstance(value, Tensor):
                name = self.name()
                names.append(name)
                made.append(self.wrapped(value, name))
            elif isinstance(value, tuple):
                name = self.name(Type("Tuple", *(TENSOR for _ in value)))
                names.append(name)
                parts = (tree.Item(name, tree.Const(i, type=INT), type=TENSOR, at=_AT)
                         for i in range(len(value)))  # fmt: skip
                made.append(tuple(map(self.wrapped, value, parts)))
            else:
                names.append(self.name(NONE if value is None else kinds.UNKNOWN))
                made.append(value)
        many = kinds.list_of(TENSOR) if isinstance(found, list) or call.type.name == "List" else (
            Type("Tuple", *(n.type for n in names)))  # fmt: skip
        call.type = many
        target = tree.Sequence("tuple", names, type=many, at=_AT)
        self.statements.append(tree.Assign(target, call, at=_AT))
        return type(found)(*made) if hasattr(found, "_fields") else type(found)(made)

    def sees(self, value):
        """Whether a traced tensor is among values: its level records the call."""
        if isinstance(value, dict):
            value = tuple(value.values())
        if isinstance(value, list | tuple):
            return any(map(self.sees, value))
        return isinstance(value, Traced)

    def created(self, name, function, args, kwargs):
        """The call of a function that makes a tensor."""
        found = self.run(function, args, kwargs)
        if not isinstance(found, Tensor):
            return found
        values = [self.expr(a) for a in args]
        named = {k: self.expr(v) for k, v in kwargs.items()}
        target = tensors.Public(name, function)
        return self.keep(tree.Call(target, values, named, type=TENSOR, at=_AT), found)

    def compiled(self, function, owner, values):
        """The call of a function that is compiled already: it stays as it is."""
        if not self.sees(values):
            return function.code(*([] if owner is None else [owner]), *values)
        exprs = [self.expr(v) for v in values]
        if owner is None:
            target, call = Compiled(function), exprs
        else:
            target, call = Method(function), [self.expr(owner), *exprs]
        made = tree.Call(target, call, {}, type=function.returns, at=_AT)
        given = [_plain(v) for v in values]
        with below(self.level):
            found = function.code(*([] if owner is None else [owner]), *given)
        return self.keep(made, found)


def _plain(value):
    """A value without wrappers."""
    if isinstance(value, TracedSize):
        return int(value)
    if isinstance(value, slice):
        return slice(*map(_plain, (value.start, value.stop, value.step)))
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(_plain(v) for v in value)
    return replace(value, lambda t: t._inner if isinstance(t, Traced) else t)


def _script_name(name):
    """What scripts call an op: a name of ATen's own may begin with a stroke, others' do not."""
    plain = name.lstrip("_")
    return name if plain != name and not tensors.exists(plain) and tensors.exists(name) else plain


@functools.cache
def _has_form(function):
    """Whether archives can hold a call of a function."""
    from rushlight.jit.forms.functional import form_for
    from rushlight.jit.forms.rewrites import REWRITES, is_otherwise

    name = getattr(getattr(function, "op", None), "name", getattr(function, "__name__", ""))
    if is_otherwise(name, function):
        return False
    known = name in REWRITES or name in _REVERSED or name in (*_PARTS, "_cast")
    return known or form_for(function) is not None or tensors.exists(name)


def _writes_outside(function, args, known):
    """Whether a call writes to a tensor that is no part of the program."""
    name = getattr(function, "__name__", "")
    if not name.endswith("_") or name.startswith("__") or not args:
        return False
    first = args[0]
    constant = isinstance(known.get(id(first)), tree.Name)
    return isinstance(first, Tensor) and not isinstance(first, Traced) and constant


def _by_dimension(tensor, kwargs):
    """One number for all dimensions as a number for each."""
    count, found = tensor.dim() - 2, dict(kwargs)
    for key, kind in (("size", int), ("scale_factor", float)):
        value = found.get(key)
        if isinstance(value, TracedSize | list | tuple) or value is None:
            continue
        found[key] = [kind(value)] * count
    return found


@functools.cache
def _defaults(function):
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in found if p.default is not p.empty}


def _same(default, value):
    plain = isinstance(value, bool | int | float | str | type(None))
    return plain and type(default) is type(value) and default == value
