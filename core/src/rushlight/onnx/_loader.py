"""From an ONNX model to a GraphModule."""

from __future__ import annotations

import operator as python_operator
import os
from typing import TYPE_CHECKING

import rushlight
from rushlight import nn
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.onnx._local_functions import referred, renamed
from rushlight.onnx._names import free, identifier
from rushlight.onnx._operators.dtypes import dtype_of
from rushlight.onnx._operators.registry import find, wants
from rushlight.onnx._reading import Limits, read
from rushlight.onnx.errors import OnnxImporterError, UnsupportedOperatorError

if TYPE_CHECKING:
    from onnx import ModelProto

_REPEATING = ("Loop", "Scan")  # their results have forms where no turn is made
_LARGEST_LIST = 64  # whole numbers that are written into the graph instead of being read


def load(model: str | os.PathLike | bytes | ModelProto, trainable: bool = True) -> GraphModule:
    """A :class:`~rushlight.fx.GraphModule` that does what an ONNX model does.

    `model` is a path, bytes, or a ``ModelProto``. Weights are parameters under their names (with
    "_" for what a name cannot have), other constants buffers; with `trainable=False` all are
    buffers. Inputs keep their order; several outputs come as a tuple. The module trains, and is
    captured by fx, export and jit.

    Raises OnnxImporterError with the file and the reason if it is no valid model, and
    UnsupportedOperatorError with the operator and the node's name if there is no such operator
    here.

    Example:
        >>> module = rushlight.onnx.load("model.onnx")  # doctest: +SKIP
        >>> module(rushlight.rand(1, 3, 224, 224)).shape  # doctest: +SKIP

    """
    proto, name = read(model)
    opsets = {imported.domain: imported.version for imported in proto.opset_import}
    functions = {(f.domain, f.name): f for f in proto.functions}
    root = nn.Module()
    path = None if isinstance(model, bytes | bytearray | type(proto)) else name
    graph = _Graph(root, opsets, functions, trainable, name, Limits(proto, name, path))
    try:
        return graph.module(proto.graph)
    except (OnnxImporterError, UnsupportedOperatorError, NotImplementedError) as error:
        text = str(error).removeprefix(f"{name}: ")
        raise type(error)(f"{name}: {text[:1000]}") from error
    except Exception as error:  # damaged names, types and attributes show in many ways
        raise OnnxImporterError(
            f"{name} is no valid ONNX model: {type(error).__name__}: {str(error)[:1000]}"
        ) from error


class _Graph:
    """One graph of a model in the making; graphs inside it see its values."""

    def __init__(self, root, opsets, functions, trainable, name, limits, outer=None):
        self.root, self.opsets, self.functions = root, opsets, functions
        self.trainable, self.file, self.outer = trainable, name, outer
        self.limits = limits
        self.graph = Graph()
        self.nodes, self.constants = {}, {}
        self.captured = []  # values of the outer graph, in the order of extra inputs

    def module(self, proto):
        """The graph as a module."""
        self._enter(proto)
        for node in proto.node:
            self._add(node)
        results = [self._value(value.name) for value in proto.output]
        self.graph.output(results[0] if len(results) == 1 else tuple(results))
        return GraphModule(self.root, self.graph, "OnnxModel")

    def _enter(self, proto):
        weights = {value.name: value for value in proto.initializer}
        for value in proto.input:
            if value.name not in weights:
                node = self.graph.placeholder(identifier(value.name))
                self.nodes[value.name] = node
        for name, value in weights.items():
            self._store(name, self.limits.constants.tensor(value))
        for sparse in proto.sparse_initializer:
            self._store(sparse.values.name, self.limits.constants.dense(sparse))

    def _store(self, name, tensor):
        """A weight or a constant, as an attribute of the root."""
        self.constants[name] = tensor
        attribute = free(self.root, identifier(name))
        if self.trainable and tensor.is_floating_point() and tensor.ndim:
            self.root.register_parameter(attribute, nn.Parameter(tensor))
        else:
            self.root.register_buffer(attribute, tensor)
        self.nodes[name] = attribute

    def _value(self, name):
        """The node of a value; None for one that is left out."""
        if not name:
            return None
        found = self.nodes.get(name)
        if found is None:
            found = self._from_outside(name)
        if isinstance(found, str):
            found = self.graph.get_attr(found)
            self.nodes[name] = found
        return found

    def _from_outside(self, name):
        if self.outer is None or not self.outer.knows(name):
            raise OnnxImporterError(f"{self.file}: the value {name!r} is read before it is made")
        if name in self.outer.constants:
            self.constants[name] = self.outer.constants[name]
        node = self.graph.placeholder(identifier(f"outer_{name}"))
        self.captured.append(name)
        self.nodes[name] = node
        return node

    def knows(self, name):
        """Whether a value is there, or in a graph around this one."""
        return name in self.nodes or (self.outer is not None and self.outer.knows(name))

    # --------------------------------------------------------------------------------------- nodes
    def _add(self, node):
        self.limits.count_node()
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            self._constant(node)
            return
        domain = "" if node.domain == "ai.onnx" else node.domain
        local = self.functions.get((node.domain, node.op_type))
        if local is not None:
            self._call_local(node, local)
            return
        function = self._function(node, domain)
        attributes = self._attributes(node)
        if wants(function, "outputs"):
            attributes["outputs"] = len(node.output)
        if wants(function, "opset"):
            attributes["opset"] = self.opsets.get(node.domain, self.opsets.get("", 1))
        static = getattr(function, "static", ())
        inputs = [self._input(name, place in static) for place, name in enumerate(node.input)]
        made = self.graph.call_function(function, tuple(inputs), attributes)
        self._name_results(node, made)

    def _function(self, node, domain):
        found = find(node.op_type, domain)
        if found is None:
            where = f", node {node.name!r}" if node.name else ""
            raise UnsupportedOperatorError(
                f"{self.file}: there is no operator {node.op_type} of domain "
                f"{node.domain or 'ai.onnx'!r} here{where}"
            )
        return found

    def _name_results(self, node, made):
        if len(node.output) == 1:
            self.nodes[node.output[0]] = made
            return
        for place, name in enumerate(node.output):
            if name:
                self.nodes[name] = self.graph.call_function(python_operator.getitem, (made, place))

    def _input(self, name, static):
        """An input; where an operator takes sizes or axes, constant ones are part of the graph."""
        known = self._known(name) if static else None
        if known is not None and known.ndim <= 1 and known.numel() <= _LARGEST_LIST:
            return known.tolist()
        return self._value(name)

    def _known(self, name):
        if name in self.constants:
            return self.constants[name]
        return self.outer._known(name) if self.outer is not None else None

    def _constant(self, node):
        import onnx

        (attribute,) = [a for a in node.attribute if a.name.startswith(("value", "sparse"))]
        value = onnx.helper.get_attribute_value(attribute)
        if attribute.name == "value":
            tensor = self.limits.constants.tensor(value)
        elif attribute.name == "sparse_value":
            tensor = self.limits.constants.dense(value)
        else:
            kind = rushlight.float32 if "float" in attribute.name else rushlight.int64
            tensor = rushlight.tensor(
                list(value) if hasattr(value, "__iter__") else value, dtype=kind
            )
        trainable, self.trainable = self.trainable, False
        self._store(node.output[0], tensor)
        self.trainable = trainable

    def _attributes(self, node):
        """Attributes as Python's values; graphs as modules."""
        import onnx

        found = {}
        for attribute in node.attribute:
            value = onnx.helper.get_attribute_value(attribute)
            if attribute.type == onnx.AttributeProto.GRAPH:
                made = self._inner(node, attribute.name, value)
                repeats = node.op_type in _REPEATING
                value = (made, [_form(result) for result in value.output]) if repeats else made
            elif isinstance(value, bytes):
                value = value.decode()
            elif attribute.type == onnx.AttributeProto.TENSOR:
                value = self._held(f"{attribute.name}", self.limits.constants.tensor(value))
            elif attribute.type == onnx.AttributeProto.STRINGS:
                value = [v.decode() for v in value]
            elif hasattr(value, "__iter__") and not isinstance(value, str):
                value = list(value)
            found[attribute.name] = value
        if node.op_type == "Optional":
            found.pop("type", None)
        return found

    def _held(self, name, tensor):
        attribute = free(self.root, identifier(name))
        self.root.register_buffer(attribute, tensor)
        return self.graph.get_attr(attribute)

    def _inner(self, node, name, proto):
        """A graph that is an attribute: a module, with what it reads from outside bound to it."""
        inner = _Graph(
            nn.Module(), self.opsets, self.functions, self.trainable, self.file, self.limits, self
        )
        module = inner.module(proto)
        place = free(self.root, identifier(f"{node.name or node.op_type}_{name}"))
        self.root.add_module(place, module)
        body = self.graph.get_attr(place)
        if not inner.captured:
            return body
        from rushlight.onnx._operators.binding import bound

        values = [self._value(v) for v in inner.captured]
        return self.graph.call_function(bound, (body, len(proto.input), *values))

    def _call_local(self, node, function):
        """A function of the model: its nodes take the place of the call."""
        import onnx

        names = {}
        for ours, theirs in zip(function.input, node.input, strict=False):
            names[ours] = theirs
        given = {a.name: a for a in node.attribute}
        for default in function.attribute_proto:
            given.setdefault(default.name, default)
        prefix = f"{node.output[0]}/"
        for ours, theirs in zip(function.output, node.output, strict=False):
            names[ours] = theirs
        outer, self.opsets = self.opsets, {o.domain: o.version for o in function.opset_import}
        for inner in function.node:
            copy = onnx.NodeProto()
            copy.CopyFrom(inner)
            renamed(copy, names, prefix)
            referred(copy, given)
            self._add(copy)
        self.opsets = outer


def _form(value):
    """The dtype and the sizes of a result, 0 for those that are not known; None and no sizes of a
    list, or where the file says nothing."""
    kind = value.type.tensor_type
    dtype = dtype_of(kind.elem_type) if kind.elem_type else None
    return dtype, [max(0, dim.dim_value) for dim in kind.shape.dim]
