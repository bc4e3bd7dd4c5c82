"""Op: one declaration, from which everything else about an operation is derived.

A declaration names the op's kind (`elementwise`, `reduction`, `view`, `op`, `composite`), PyTorch's
signature, a dtype rule, the forward in array language, and one gradient formula per argument whose
parameter names say what is saved. `TABLE` holds them all; `_fast` makes the callable,
`_elementwise` and `_arrays` run it, `_recording` plans the backward pass, `_inplace` gives the
variants.
"""

from __future__ import annotations

import functools

from rushlight.dtypes import FIRST_LIMITED
from rushlight.ops._table import attributes as _attributes
from rushlight.ops._table import former_calls as former
from rushlight.ops._table.node_names import whole_name, words_of
from rushlight.ops._table.numpy_names import NUMPY_NAMES
from rushlight.ops._table.paths import Paths
from rushlight.ops._table.rules import same
from rushlight.tensor.results import named

# What a declaration may say beside the kind, rule and samples, each read by the mechanism that is
# named; a default by kind holds where it is left out.
#   autocast, autocast_on_gpu        dtype of inputs under autocast       amp/mode.py
#   limited, moves, barred           unsigned integers and complex32      _table/limited.py
#   aten, aten_inplace, aten_aliases overload names in torch.ops.aten     library/aten.py
#   schemas                          ATen's, where not the derived ones   library/aten_schemas.py
#   aten_call                        f(values): ATen's name and arguments library/aten_calls.py
#   wraps_numbers                    add.Tensor, not Scalar, of a number  library/aten_calls.py
#   in_aten                          False where ATen has no such op      library/aten_calls.py
#   captured                         the same by ops that ATen has        _transforms/capturing.py
#   batching                         name of a rule of vmap               _transforms/batching*.py
#   linear, fills                    tangents of forward mode             _transforms/forward.py
#   sparse, sparse_slope             acts on stored elements alone        sparse/elementwise.py
#   nested                           acts on each element of nested ones  nested/tensors.py
#   foreach                          forms of calls on lists of tensors   foreach.py
#   raw_memory                       reads strides, not a shape           ops/shape/views.py
#   flops                            word for a count of operations       utils/flop_counter.py
#   keeps_format, formats_of         channels last: of which inputs       _table/op.py
#   runs_as                          ops that PyTorch runs for it         selective_checkpoint.py
#   alone                            keyword of an argument by itself     _table/op.py, bind
#   at_once                          f(*args) of a composite, asked first _table/bindings.py
#   computes                         f(values): elementwise op, arguments _table/inplace.py
#   node                             how PyTorch calls its node           _table/node_names.py
#   saves, saves_as                  what nodes keep, by PyTorch's names  _table/saved_names.py
#   arranged                         inputs of nodes in PyTorch's order   _table/arrangement.py
#   exported                         public at the top level, with a dash _table/deferred_names.py
#   oracle                           where PyTorch has it, if elsewhere   _table/deferred.py
TABLE = {}
ALIASES = {}  # the name in the table of an op, by each of its others
REQUIRED = type("REQUIRED", (), {"__repr__": lambda self: "REQUIRED", "__slots__": ()})()
# Annotations that declarations use beside Tensor.
Sizes = TensorList = Whole = Several = tuple
Position = int  # a whole number, or a tensor of one, which is read when the op is called
TENSOR, OPTIONAL, TENSORS, SIZES, ATTRIBUTE = "Tensor", "Optional", "TensorList", "Sizes", "attr"
_KINDS = {
    "Tensor": TENSOR,
    "Tensor | None": OPTIONAL,
    "Optional[Tensor]": OPTIONAL,
    "TensorList": TENSORS,
    "Sizes": SIZES,
    "Several": SIZES,
}


class Op:
    """One operation of the table."""

    __slots__ = (
        "__dict__",
        "body",
        "cpu_kernel",
        "defaults",
        "formulas",
        "function",
        "index",
        "joint",
        "kind",
        "kinds",
        "list_position",
        "name",
        "names",
        "name_node",
        "node_name",
        "options",
        "outputs",
        "paths",
        "positional",
        "required",
        "rule",
        "sizes_position",
        "tensor_positions",
    )

    def __init__(self, body, kind, rule=same, outputs=1, **options):
        self.body, self.kind, self.rule, self.outputs = body, kind, rule, outputs
        self.name = options.pop("name", None) or body.__name__.rstrip("_")
        node = options.pop("node", None)
        self.node_name = whole_name(node if isinstance(node, str) else words_of(self.name))
        self.name_node = node if callable(node) else None
        self.arranged = options.pop("arranged", None)
        self.options = options
        self.label = options.get("label", self.name)  # what errors call it
        if isinstance(options.get("result"), str):
            options["result"] = named(self.label, options["result"])
        self.formulas, self.joint, self.paths = {}, None, Paths(self)
        self.cpu_kernel = body
        self.writes = None  # f(array, *arguments) that writes in place, or answers False
        ranks = options.get("keeps_format")
        if ranks:
            self.cpu_kernel = _keeping_format(body, ranks, options.get("formats_of", 1))
        self._read_signature(body)
        if kind == "composite" and "limited" in options:
            self.body = _refusing_limited(self, body)
        TABLE[self.name] = self

    def _read_signature(self, body):
        code = body.__code__
        count = code.co_argcount
        names = self.names = code.co_varnames[: count + code.co_kwonlyargcount]
        annotations = body.__annotations__
        defaults = body.__defaults__ or ()
        keyword_defaults = body.__kwdefaults__ or {}
        values = [REQUIRED] * (count - len(defaults)) + list(defaults)
        values += [keyword_defaults.get(name, REQUIRED) for name in names[count:]]
        self.defaults, self.positional = values, count
        self.required = len(values) - values[::-1].index(REQUIRED) if REQUIRED in values else 0
        self.kinds = tuple(
            _KINDS.get(annotations[name], ATTRIBUTE)
            if name in annotations
            else (TENSOR if value is REQUIRED and self.kind == "elementwise" else ATTRIBUTE)
            for name, value in zip(names, values, strict=True)
        )
        self.index = {name: i for i, name in enumerate(names)}
        # Where a number will not do in a tensor's position: the first argument, and annotated ones.
        strict = {i for i, name in enumerate(names) if annotations.get(name) == "Tensor"}
        self.strict = strict if self.options.get("numbers") else strict | {0}
        tensors = (TENSOR, OPTIONAL, TENSORS)
        self.tensor_positions = tuple(i for i, k in enumerate(self.kinds) if k in tensors)
        self.list_position = self.kinds.index(TENSORS) if TENSORS in self.kinds else -1
        self.sizes_position = self.kinds.index(SIZES) if SIZES in self.kinds else -1
        # Where whole numbers given one by one go: x.permute(1, 0), x.squeeze(0, 2).
        self.spread_position = count - 1 if self.options.get("spread") else self.sizes_position
        # Numbers that the dtype of a call has to hold, see `_number_limits`.
        self.fits = {self.index[n]: kind for n, kind in self.options.get("fits", {}).items()}
        own = self.options.get("keywords")
        self.keywords = NUMPY_NAMES if own is None else {**NUMPY_NAMES, **own}
        found = zip(names, values, self.kinds, strict=True)
        self.attributes = tuple(
            (i, name, kind, value is None or value == ())
            for i, (name, value, sort) in enumerate(found)
            if sort in (SIZES, ATTRIBUTE) and (self.name[0] != "_" or name in annotations)
            if (kind := _attributes.kind_of(name, value, annotations.get(name))) is not None
        )

    # ------------------------------------------------------------------ declaring
    def gradient(self, **formulas):
        """One formula per differentiable argument. Its parameters are ``grad`` and what it needs:
        names of arguments (saved), ``out`` (saved), ``<name>_shape``, attributes."""
        for name in formulas:
            if name not in self.index:
                raise TypeError(f"{self.name}: gradient of unknown argument {name!r}")
        self.formulas = formulas
        return self.function

    def gradients(self, *names):
        """Decorates one function that gives the gradients of several arguments at once; beside
        what a formula may ask for it receives ``needs``, a bool for each of `names`."""

        def declare(function):
            self.joint = names, function
            return function

        return declare

    def cpu(self, kernel):
        """Replace the array-language body on the CPU by a kernel of the same signature; what other
        devices then run, if it is another function, is its attribute ``general``."""
        self.cpu_kernel = kernel
        return self.function

    @property
    def array_kernel(self):
        """The CPU's kernel in array language, which runs on devices too: behind those that are
        machine code."""
        return getattr(self.cpu_kernel, "general", self.cpu_kernel)

    def cuda(self, kernel):
        """Run a kernel of the same signature, on device arrays, in place of the body on GPUs."""
        self.cuda_kernel = kernel
        return self.function

    # ------------------------------------------------------------------ calling
    def bind(self, args, kwargs):
        """Arguments in declared order, defaults filled in."""
        given = len(args)
        if not kwargs and self.required <= given <= self.positional and self.sizes_position < 0:
            values = [*args, *self.defaults[given:]]
            return _attributes.checked(self, values) if self.attributes else values
        alone = self.options.get("alone")
        if alone in kwargs and not args and not any(self._is_first(name) for name in kwargs):
            kwargs = {self.names[0]: kwargs[alone], **kwargs}
            del kwargs[alone]
        if "former" in self.options:
            args, kwargs = former.spelled_today(self, args, kwargs)
            given = len(args)
        at = self.sizes_position if given <= self.positional else self.spread_position
        if 0 <= at < given and not isinstance(args[at], (tuple, list)) and args[at] is not None:
            args, given = (*args[:at], tuple(args[at:])), at + 1
        if given > self.positional:
            raise TypeError(
                f"{self.label}() takes {self.positional} positional arguments but {given} were "
                "given"
            )
        values = [*args, *self.defaults[given:]]
        for name, value in kwargs.items():
            i = self.index.get(name)
            if i is None:
                i = self.index.get(self.keywords.get(name))
            if i is None:
                raise TypeError(f"{self.label}() got an unexpected keyword argument '{name}'")
            if i < given:
                raise TypeError(f"{self.label}() got multiple values for argument '{name}'")
            values[i] = value
        for i, value in enumerate(values):
            if value is REQUIRED:
                raise TypeError(
                    f"{self.label}() missing required argument: '{self.names[i]}' (pos {i + 1})"
                )
        return _attributes.checked(self, values) if self.attributes else values

    def _is_first(self, keyword):
        """Whether a keyword is a name of the first argument."""
        return self.index.get(keyword, self.index.get(self.keywords.get(keyword))) == 0

    def replay(self, tensor, values):
        """Apply this view op to another tensor: how views get a new history."""
        from rushlight.ops._table.arrays import run_view

        if getattr(tensor, "_level", None) is not None:  # a wrapper of a function transform
            count = self.positional - 1
            named = dict(zip(self.names[self.positional :], values[count:], strict=True))
            return self.function(tensor, *values[:count], **named)
        return run_view(self, [tensor, *values])

    def __repr__(self):
        return f"<op {self.name}>"


def names_of(ops, inplace=False):
    """The names of ops given by their functions, aliases too, or those of the forms that write into
    their first argument; a text stands for itself, where there is no op."""
    names = []
    for each in ops:
        op = getattr(each, "op", None)
        names += [each] if op is None else [op.name, *op.aliases]
    return [name + "_" for name in names] if inplace else names


def _refusing_limited(op, body):
    """The same body of a composite; tensors of the dtypes that few ops take are refused."""

    def ask(*values):
        for value in values:
            found = getattr(value, "_dtype", None)
            if found is not None and found.code >= FIRST_LIMITED:
                from rushlight.ops._table.limited import refuse, takes

                if not takes(op, found):
                    refuse(op, found)

    if op.kinds == (TENSOR, TENSOR):

        def run_pair(first, second):
            try:
                asks = first._dtype.code >= FIRST_LIMITED or second._dtype.code >= FIRST_LIMITED
            except AttributeError:  # what is traced has no dtype yet
                asks = True
            if asks:
                ask(first, second)
            return body(first, second)

        named = (*op.names, *run_pair.__code__.co_varnames[2:])  # so that keywords work
        run_pair.__code__ = run_pair.__code__.replace(co_varnames=named)
        return functools.wraps(body)(run_pair)

    @functools.wraps(body)
    def run(*args, **kwargs):
        ask(*args, *kwargs.values())
        return body(*args, **kwargs)

    return run


def _keeping_format(kernel, ranks, count):
    """The same kernel, whose results take their format as
    :func:`~rushlight.tensor.memory_format.format_giver` says."""
    from rushlight.tensor.memory_format import follow, format_giver

    def run(*args, **kwargs):
        results = kernel(*args, **kwargs)
        giver = format_giver(args, ranks, count)
        if giver is None:
            return results
        if type(results) is tuple:
            return tuple([follow(giver, result) for result in results])
        return follow(giver, results)

    return run


def declare(kind, method=True, operators=(), reflected=(), inplace=None, aliases=(), **options):
    """The decorator behind all kinds: builds the Op, its public callable and its bindings."""
    from rushlight.ops._table import bindings as _bindings

    def decorate(body):
        op = Op(body, kind, **options)
        function = _bindings.public_function(op)
        _bindings.bind(op, function, method, operators, reflected, inplace, aliases)
        return function

    return decorate


def results_of(function, *parts):
    """The results of a composite as the named tuple that it declares as its ``result``."""
    return function.op.options["result"]._make(parts)


def elementwise(rule=same, **options):
    """Each result element depends on the elements at its place; the body is traced and compiled."""
    return declare("elementwise", rule=rule, inplace=options.pop("inplace", True), **options)


def op(rule=None, **options):
    """Arrays in, arrays out, by NumPy or a kernel."""
    return declare("op", rule=rule, **options)


def view(**options):
    """A result that shares the first argument's memory."""
    return declare("view", rule=None, **options)


def composite(**options):
    """Written with other ops, on tensors; it needs no gradient."""
    return declare("composite", rule=None, **options)
