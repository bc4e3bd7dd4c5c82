"""A step of a :class:`~rushlight.fx.Graph`: an input, a call, an attribute or the result.

Nodes stand in a doubly linked ring that begins and ends at the graph's root. A node knows the nodes
it reads (`all_input_nodes`) and those that read it (`users`).
"""

from __future__ import annotations

import operator
import typing

import rushlight
from rushlight.fx.immutable_collections import immutable_dict, immutable_list
from rushlight.fx.names import qualified_name, type_name
from rushlight.fx.node_hooks import call_hooks
from rushlight.fx.operators import inplace_methods
from rushlight.library.kinds import OpOverload, OpOverloadPacket

BaseArgumentTypes = typing.Union[  # noqa: UP007 - what PyTorch's name gives
    str, int, float, bool, complex, rushlight.dtype, rushlight.Tensor, rushlight.device,
    rushlight.memory_format, rushlight.layout,
]  # fmt: skip
base_types = typing.get_args(BaseArgumentTypes)
Target = typing.Union[typing.Callable[..., typing.Any], str]  # noqa: UP006, UP007
ArgumentT = typing.TypeVar("ArgumentT", bound=typing.Any)
Argument = typing.Any  # a Node, a value of `base_types`, or a tuple, list, dict, slice of these

LEGAL_OPS = frozenset(
    "placeholder call_method call_module call_function get_attr output root".split()
)

# Functions that do something besides giving a result: dead code elimination keeps their calls.
# Those of random numbers move the state of the generator.
_side_effectful_functions: set = {
    operator.setitem,
    *(
        getattr(rushlight, name)
        for name in (
            "_assert bernoulli manual_seed multinomial normal poisson rand rand_like randint "
            "randint_like randn randn_like randperm set_grad_enabled"
        ).split()
    ),
}


def has_side_effect(fn):
    """Mark a function as one whose calls stay although nobody reads their result; also a decorator.

    >>> import rushlight
    >>> @rushlight.fx.has_side_effect
    ... def log(x):
    ...     print(x.shape)
    """
    _side_effectful_functions.add(fn)
    return fn


class Node:
    """One step of a graph.

    Attributes: `op` is ``placeholder``, ``get_attr``, ``call_function``, ``call_method``,
    ``call_module`` or ``output``; `target` the function, or the name of the method, module,
    attribute or argument; `args` and `kwargs` hold what it is called with, other nodes among it;
    `users` is a dict whose keys are the nodes that read this one; `meta` is a dict for passes.
    """

    attrs_for_lowering: dict  # set by passes.param_fetch alone
    tag: str  # the part that a node goes to, set by those who divide a graph

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in LEGAL_OPS:
            raise AssertionError(f"Node(): op '{op}' is not one of {sorted(LEGAL_OPS)}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node '{name}' of {graph}: the target of call_function must be callable, not "
                    f"{target!r}"
                )
        elif not isinstance(target, str):
            raise ValueError(f"Node '{name}': the target of {op} must be a str, not {target!r}")
        self.graph, self.name, self.op, self.target, self.type = (
            graph,
            name,
            op,
            target,
            return_type,
        )
        self._input_nodes, self.users, self.meta = {}, {}, {}
        self._prev = self._next = self
        self._erased, self._position, self._repr_fn = False, 0, None
        self._set(args, kwargs)

    # ------------------------------------------------------------------------------- neighbours
    @property
    def next(self) -> Node:
        """The node behind this one; the graph's root behind the last."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; the graph's root before the first."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move node `x` of the same graph to before this one."""
        if self.graph is not x.graph:
            raise AssertionError(f"prepend(): '{x}' and '{self}' are nodes of different graphs")
        if self is x:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        self.graph._numbered = False

    def append(self, x: Node) -> None:
        """Move node `x` of the same graph to behind this one."""
        self._next.prepend(x)

    def _unlink(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other):
        return self.graph._position(self) < self.graph._position(other)

    def __gt__(self, other):
        return other < self

    def __le__(self, other):
        return self is other or self < other

    def __ge__(self, other):
        return self is other or other < self

    # -------------------------------------------------------------------------------- arguments
    @property
    def args(self) -> tuple:
        """The positional arguments; assign a tuple to replace them."""
        return self._args

    @args.setter
    def args(self, a):
        self._set(a, self._kwargs)

    @property
    def kwargs(self) -> dict:
        """The keyword arguments; assign a dict to replace them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k):
        self._set(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in order."""
        return list(self._input_nodes)

    def _set(self, args, kwargs):
        """Replace all arguments, and tell the nodes among the old and the new ones."""
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def note(node):
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args, self._kwargs = map_arg(tuple(args), note), map_arg(kwargs, note)

    def update_arg(self, idx: int, arg) -> None:
        """Replace the positional argument at index `idx`."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg) -> None:
        """Insert a positional argument before index `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(
                f"insert_arg(): idx must be between 0 and len(args) = {len(self.args)}, not {idx}"
            )
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg) -> None:
        """Replace or add the keyword argument `key`."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Read `new_input` wherever the arguments read `old_input`."""

        def swap(node):
            return new_input if node is old_input else node

        self._set(map_arg(self.args, swap), map_arg(self.kwargs, swap))
        call_hooks(self.graph, "replace", old=old_input, new=new_input.name, user=self)

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb=lambda user: True, *, propagate_meta=False
    ) -> list[Node]:
        """Let every user of this node for which `delete_user_cb` is true read `replace_with`
        instead, and return those users. `propagate_meta` copies `meta` where that of the new node
        is empty."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "replace_all_uses_with(): propagate_meta=True needs a node with empty meta"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def normalized_arguments(
        self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False
    ):
        """The arguments bound to the parameters of the function or module called, defaults filled
        in, as ``(args, kwargs)``; None where there is no signature. `root` is the module that the
        graph belongs to."""
        from rushlight.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types,
                normalize_to_only_use_kwargs,
            )  # fmt: skip
        if self.op == "call_module":
            return normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None

    # ---------------------------------------------------------------------------------- answers
    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that made this node, where the tracer records them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node does more than give its result: inputs, outputs, functions with side
        effects, also on the random generator, calls that write, and modules whose `_is_impure` is
        true. Without `impure_random`, operators of `rushlight.ops` that sample do not count."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return _is_impure_function(self.target, self.kwargs, impure_random)
        if self.op == "call_method":
            return self.target.endswith("_") and not self.target.startswith("__")
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("is_impure(): set graph.owning_module to look at call_module")
            return getattr(owner.get_submodule(self.target), "_is_impure", False)
        return False

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    def __deepcopy__(self, memo):
        raise TypeError("a Node is copied with its Graph: copy.deepcopy(node.graph)")

    def _pretty_print_target(self, target):
        return target if isinstance(target, str) else readable_target(target)

    def format_node(
        self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False
    ) -> str | None:
        """One line that describes the node. For a placeholder and an output, the lists given take
        the argument's declaration and the result's type; None then stands for a placeholder."""
        typed = "" if self.type is None else f"{type_name(self.type)} "
        head = f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target} : {typed}".rstrip(" :"))
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{head}[target={self.target}]{default}"
        if self.op == "output":
            if self.type is not None and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_name(self.type)}"
            return f"return {self.args[0]}"
        target = f"[target={self._pretty_print_target(self.target)}]"
        if self.op == "get_attr":
            return head + target
        seen = ""
        if include_tensor_metadata and "tensor_meta" in self.meta:
            seen = f"  # {self.meta['tensor_meta']}"
        return f"{head}{target}(args = {_show(self.args)}, kwargs = {_show(self.kwargs)}){seen}"


def readable_target(target) -> str:
    """A function's name as :meth:`Node.format_node` shows it."""
    if getattr(target, "__module__", None) == "_operator":
        return f"operator.{target.__name__}"
    if getattr(target, "__module__", None) == "builtins":
        return f"builtins.{target.__name__}"
    return qualified_name(target)


def _is_impure_function(function, kwargs, impure_random):
    if function in _side_effectful_functions or _writes(kwargs):
        return True
    function = getattr(function, "_opoverload", function)  # of what defines an operator
    if isinstance(function, OpOverloadPacket):  # a call means the default, as far as is known here
        function = getattr(function, "default", function)
    if isinstance(function, OpOverload):
        return _is_impure_operator(function, impure_random)
    if getattr(function, "__module__", None) == "_operator":
        return function.__name__ in inplace_methods
    return getattr(function, "variant", None) in ("inplace", "inplace_view")


def _is_impure_operator(overload, impure_random):
    """Whether an operator writes, samples, or checks, as those of ATen do that give nothing."""
    if overload._writes or overload in _side_effectful_functions:
        return True
    schema = getattr(overload, "_schema", None)
    if overload.namespace == "aten" and schema is not None and not schema.returns:
        return True
    return impure_random and overload._nondeterministic_seeded


def _writes(kwargs):
    return bool(kwargs.get("inplace")) or kwargs.get("out") is not None


def _show(value):
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, tuple):
        inside = ", ".join(map(_show, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, list):
        return f"[{', '.join(map(_show, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_show(item)}" for key, item in value.items()) + "}"
    return str(value)


def map_arg(a, fn):
    """The structure `a` with ``fn(node)`` for every node in it. Lists and dicts of the result are
    immutable.

    >>> import rushlight
    >>> graph = rushlight.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> rushlight.fx.map_arg((x, [x, 2]), lambda node: node.name)
    ('x', ['x', 2])
    """
    if not callable(fn):
        raise AssertionError(f"map_arg(): argument 'fn' must be callable, not {fn!r}")
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


def map_aggregate(a, fn):
    """The structure `a` of tuples, lists, dicts and slices with ``fn(leaf)`` for every leaf."""
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict([(key, map_aggregate(item, fn)) for key, item in a.items()])
    if isinstance(a, slice):
        return slice(*(map_aggregate(item, fn) for item in (a.start, a.stop, a.step)))
    return fn(a)
