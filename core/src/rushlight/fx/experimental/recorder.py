"""What a capture writes down: calls as nodes of a graph, tensors as the nodes that made them."""

from __future__ import annotations

import collections
import contextlib
import operator
import types
from typing import NamedTuple

from rushlight import devices
from rushlight.errors import shape_text
from rushlight.fx import config
from rushlight.fx.experimental import tracked_sizes
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from rushlight.fx.experimental.value_sizes import ValueSizes
from rushlight.fx.graph import Graph
from rushlight.fx.locations import at_user_line, user_stack
from rushlight.fx.names import public_name
from rushlight.fx.node import Node, map_aggregate
from rushlight.fx.passes.shape_prop import _extract_tensor_metadata
from rushlight.fx.traceback import NodeSource, NodeSourceAction
from rushlight.library.aten_calls import aten_call, is_default
from rushlight.library.kinds import OpOverload
from rushlight.ops._transforms.capturing import Captured, CaptureLevel
from rushlight.ops.indexing import captured_items  # noqa: F401 - binds items of Captured
from rushlight.ops.random.generators import Generator
from rushlight.tensor.construction import without_values
from rushlight.tensor.tensor import Tensor

# What nodes keep of those that they are made of, and what makes them so.
KEPT = ("stack_trace", "nn_module_stack", "torch_fn", "custom")
PASS = "ExportedProgram.run_decompositions()"


class Step(NamedTuple):
    """A call as a graph has it. `decomposed`, if there is one, is called instead."""

    target: object
    args: tuple
    kwargs: dict
    writes: bool = False
    decomposed: object = None


class Recorder(ValueSizes):
    """Adds the calls that a :class:`CaptureLevel` sees to a graph.

    Args: `fake` as for the level; `decompositions` maps overloads of ATen to functions that are
    called instead; `constant(tensor)` gives the node of a tensor that the program neither
    made nor got; `draws` gives numbers for what depends on values.
    """

    def __init__(self, fake, decompositions=None, constant=None, stacks: bool = True, draws=None):
        self.graph, self.level = Graph(), CaptureLevel(self, fake)
        self.decompositions = decompositions or {}
        self.constant, self.stacks = constant, stacks
        self.draws = draws
        self.tracking = getattr(draws, "tracking", None)  # of sizes, where captures are several
        if draws is not None:
            draws.recorder = self
        self.pending: list = []
        self.generator = None  # gives the node of a generator, where programs may have one
        self.gradients = None  # what records those that the program itself asks for
        self.modules: dict = {}  # graphs that nodes name, by attribute
        self.fixed_sizes = None  # which sizes are, where captures are several
        self.origin = None  # the node of another graph whose parts are recorded
        self.scope = None  # the modules that are being called, for ``meta["nn_module_stack"]``
        self.called: tuple[str, str] | None = None  # for ``meta["torch_fn"]``
        self._function = None  # that is being called
        self._calls: collections.Counter = collections.Counter()

    # -------------------------------------------------------------------------------- the level's
    @contextlib.contextmanager
    def calling(self, function):
        """Inside, nodes are parts of a call of a function; of nested calls the outermost counts."""
        outermost = self._function is None
        if outermost:
            self._function = function
        try:
            yield
        finally:
            if outermost:
                self._function = self.called = None

    def _call(self, node):
        """The call that a node is part of: its name, with a number, and the function's."""
        if self.called is None and self._function is not None:
            function = self._function
            name = function.__name__
            if type(function) is types.FunctionType and public_name(function, name) is None:
                name = getattr(node.target, "overloadpacket", node.target).__name__
            self._calls[name] += 1
            self.called = f"{name}_{self._calls[name]}", f"{type(function).__name__}.{name}"
        return self.called

    def step(self, function, args, kwargs):
        """The step that a call is; None where it is one of several others."""
        if kwargs.get("generator") is not None and self.generator is None:
            raise NotImplementedError(
                f"{function.__name__}(generator=...) cannot be captured: a program has no "
                "generators of its own; draw from the default one (manual_seed), or give what was "
                "drawn as an input"
            )
        call = aten_call(function, args, kwargs)
        if call is not None:
            return Step(*call, self.decompositions.get(call.target))
        op = getattr(function, "op", None)
        if op is None:
            raise NotImplementedError(
                f"{function.__name__}() cannot be captured yet: compute it outside of the program, "
                "or with other functions"
            )
        if op.kind == "composite" or "captured" in op.options:
            return None
        return Step(function, tuple(args), kwargs, getattr(function, "variant", None) is not None)

    def operator_step(self, target, values):
        """The step that a call of an operator of a namespace is; PyTorch's nodes leave out what is
        the default."""
        given = list(zip(target._schema.arguments, values, strict=True))
        named = {a.name: v for a, v in given if a.keyword_only and not is_default(v, a.default)}
        given = [pair for pair in given if not pair[0].keyword_only]
        while given and is_default(given[-1][1], given[-1][0].default):
            given.pop()
        args = tuple(value for _, value in given)
        return Step(target, args, named, decomposed=self.decompositions.get(target))

    def record(self, step, result):
        """The tensors of the program that a step gives: a node, and one for each of several
        results."""
        node = self.node("call_function", step.target, step.args, step.kwargs)
        return self._given(step, node, result)

    def _given(self, step, node, result, place=0):
        """What a node gives: a tensor, a number, or several of these."""
        if isinstance(result, Tensor):
            return self.sized(step, self.made(node, result), place)
        if not isinstance(result, tuple | list):
            return result
        node.meta["val"] = tuple(map(_value, result))
        items = [self._given(step, self._part(node, i), r, i) for i, r in enumerate(result)]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)

    def _part(self, node, i):
        return self.node("call_function", operator.getitem, (node, i), {})

    def several(self, target, args, results):
        """The tensors of the program that a call of `target` gives, whose forms are `results`."""
        with self.calling(target):
            node = self.node("call_function", target, args, {})
            node.meta["val"] = tuple(results)
            return [self.made(self._part(node, i), result) for i, result in enumerate(results)]

    def written(self, target, step):
        """A step that wrote to its first argument: whoever reads that now reads the step."""
        if not isinstance(target, Captured):
            # reads of it behind the write are calls without a tensor of the program: they would
            # become constants
            raise NotImplementedError(
                f"the program writes to a tensor that is none of its inputs, by {step.target}: "
                "give it as an argument (a buffer by rushlight.func.functional_call), or capture a "
                "module with rushlight.export.export, which follows buffers"
            )
        node = self.node("call_function", step.target, step.args, step.kwargs)
        target._fx_node = node
        # forms such as squeeze_ change the shape as well
        target._array = self.level.wrapped(target._inner)._array
        self._describe(node, target._inner)

    def value_needed(self, tensor, name):
        """The choice that a program makes by an element; the error for one that looks at it."""
        assumed = getattr(self.draws, "assumed", None)
        if assumed is not None and tensor.numel() == 1 and name in assumed.READS:
            return assumed.value(self, tensor, name)
        raise GuardOnDataDependentSymNode(
            at_user_line(
                f"{name.strip('_')}() of a {tensor._dtype} tensor of shape "
                f"{shape_text(tensor.shape)}, which '{self.name(tensor)}' computes, asks for a "
                "value while the program is captured; what the program does must not depend on it: "
                "write the choice with rushlight.cond or rushlight.where, and keep numbers in "
                "tensors"
            )
        )

    def name(self, tensor):
        """The name of the node that made a tensor."""
        return tensor._fx_node.name

    # --------------------------------------------------------------------------------------- nodes
    def made(self, node, inner):
        """The tensor of the program that a node gives; `inner` is the one below."""
        device = None
        if self.level.fake:
            device = self._device_of(node)
        out = self.level.wrapped(inner, device)
        out._fx_node = node
        self._describe(node, inner)
        return out

    def _device_of(self, node):
        found = node.kwargs.get("device")
        if found is not None:
            return devices.as_device(found)
        for read in node.all_input_nodes:
            if "device" in read.meta:
                return read.meta["device"]
        return devices.cpu

    def _describe(self, node, inner):
        node.meta["val"] = _value(inner)
        node.meta["tensor_meta"] = _extract_tensor_metadata(inner.detach())
        # below, a capture of shapes has the meta device; the program has its inputs'
        node.meta["device"] = self._device_of(node) if self.level.fake else inner._device

    def node(self, kind, target, args, kwargs, name=None):
        """Add a node; tensors among the arguments become nodes. Without a name, one of an
        operator has that of all its overloads."""
        if name is None and isinstance(target, OpOverload):
            name = target.__name__
        node = self.graph.create_node(
            kind, target, self.argument(args), self.argument(kwargs), name
        )
        if kind in ("call_function", "get_attr"):
            self._locate(node)
        return node

    def _locate(self, node):
        """Note where in the program a node is made."""
        if self.origin is not None:
            node.meta |= {key: self.origin.meta[key] for key in KEPT if key in self.origin.meta}
            node.meta["from_node"] = [NodeSource(self.origin, PASS, NodeSourceAction.CREATE)]
            return
        if self.stacks and not config.do_not_emit_stack_traces:
            node.stack_trace = user_stack()
        if self.scope:
            node.meta["nn_module_stack"] = dict(self.scope)
        called = self._call(node)
        if called:
            node.meta["torch_fn"] = called

    def argument(self, value):
        """A value as an argument of a node."""
        return map_aggregate(value, self._leaf)

    def _leaf(self, value):
        if isinstance(value, Captured):
            if value._level is self.level:
                return value._fx_node
            if not value._level.alive:
                raise RuntimeError("a tensor escaped from a program that was captured before")
        if isinstance(value, Tensor) and not isinstance(value, Node):
            return self.constant(value)
        if isinstance(value, Generator):
            return self.generator(value)
        plain = getattr(value, "as_plain", None)  # of a number that depends on values
        if plain is None:
            return value
        if self.tracking is not None and self.tracking.computing and hasattr(value, "node"):
            return plain() if value.made_by is None else tracked_sizes.written(self, value)
        node = getattr(value, "drawn_node", None)
        if node is not None and node.graph is not self.graph:
            raise NotImplementedError(
                "a float that item() read outside of a branch cannot be used inside: give the "
                "branch the tensor"
            )
        return plain() if node is None else node

    def placeholder(self, name, tensor, device=None):
        """An input of the program, and the tensor that the program gets for it; its device, if it
        is not the tensor's."""
        node = self.node("placeholder", name, (), {}, name)
        return node, self.entering(node, tensor, device)

    def entering(self, node, tensor, device=None):
        """The tensor of the program for one from outside, which `node` stands for; its device, if
        it is not the tensor's."""
        level = self.level
        inner = level.lowered(tensor).detach()
        if level.fake:
            inner = without_values(inner)
        device = tensor._device if device is None else device
        out = level.wrapped(inner, device)
        out._fx_node, out._asks_gradient = node, tensor.requires_grad
        node.meta["device"] = device
        node.meta["val"] = _value(inner)
        node.meta["tensor_meta"] = _extract_tensor_metadata(inner.detach())
        return out


def _value(value):
    """What ``meta["val"]`` keeps: a tensor without values."""
    if isinstance(value, list):
        return tuple(map(_value, value))
    if not isinstance(value, Tensor):
        return value
    return without_values(value)
