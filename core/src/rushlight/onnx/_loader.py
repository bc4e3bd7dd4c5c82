"""From an ONNX model to a GraphModule."""

from __future__ import annotations

import operator as python_operator
import os

import rushlight
from rushlight import nn
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.machine import np
from rushlight.onnx._operators.dtypes import dtype_of
from rushlight.onnx._operators.registry import find, wants
from rushlight.onnx.errors import OnnxImporterError, UnsupportedOperatorError

_LARGEST_LIST = 64  # whole numbers that are written into the graph instead of being read


def load(model, trainable: bool = True):
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
    proto, name = _read(model)
    opsets = {imported.domain: imported.version for imported in proto.opset_import}
    functions = {(f.domain, f.name): f for f in proto.functions}
    root = nn.Module()
    graph = _Graph(root, opsets, functions, trainable, name)
    try:
        return graph.module(proto.graph)
    except (OnnxImporterError, UnsupportedOperatorError, NotImplementedError):
        raise
    except Exception as error:  # damaged names, types and attributes show in many ways
        raise OnnxImporterError(
            f"{name} is no valid ONNX model: {type(error).__name__}: {error}"
        ) from error


def _read(model):
    import onnx

    if isinstance(model, onnx.ModelProto):
        return model, "the model"
    if isinstance(model, bytes | bytearray):
        name = f"the model of {len(model)} bytes"
        try:
            proto = onnx.load_model_from_string(bytes(model))
        except Exception as error:  # noqa: BLE001 - protobuf's own kinds differ by version
            raise OnnxImporterError(f"{name} is no ONNX model: {error}") from None
    else:
        name = os.fspath(model)
        if not os.path.isfile(name):
            raise FileNotFoundError(f"{name} does not exist")
        try:
            proto = onnx.load(name)
        except Exception as error:  # noqa: BLE001
            raise OnnxImporterError(f"{name} is no ONNX model, or damaged: {error}") from None
    if not proto.HasField("graph") or not proto.opset_import:
        raise OnnxImporterError(f"{name} is no ONNX model: it has no graph or names no opset")
    return proto, name


class _Graph:
    """One graph of a model in the making; graphs inside it see its values."""

    def __init__(self, root, opsets, functions, trainable, name, outer=None):
        self.root, self.opsets, self.functions = root, opsets, functions
        self.trainable, self.file, self.outer = trainable, name, outer
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
                node = self.graph.placeholder(_identifier(value.name))
                self.nodes[value.name] = node
        for name, value in weights.items():
            self._store(name, self._tensor(value))
        for sparse in proto.sparse_initializer:
            self._store(sparse.values.name, self._dense(sparse))

    def _tensor(self, proto):
        import onnx

        try:
            array = onnx.numpy_helper.to_array(proto, base_dir=os.path.dirname(self.file))
            dtype = dtype_of(proto.data_type)
        except NotImplementedError:
            raise
        except Exception as error:  # noqa: BLE001 - damaged data shows in many ways
            raise OnnxImporterError(
                f"{self.file}: the constant {proto.name!r} is damaged: {error}"
            ) from None
        if dtype is rushlight.bfloat16:
            return rushlight.from_numpy(np.array(array, np.float32)).to(dtype)
        return rushlight.from_numpy(np.array(array))

    def _dense(self, sparse):
        values, places = self._tensor(sparse.values), self._tensor(sparse.indices)
        found = rushlight.zeros(list(sparse.dims), dtype=values.dtype)
        if places.ndim == 1:
            found.reshape(-1)[places] = values
        else:
            found[tuple(places.unbind(1))] = values
        return found

    def _store(self, name, tensor):
        """A weight or a constant, as an attribute of the root."""
        self.constants[name] = tensor
        attribute = _free(self.root, _identifier(name))
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
        node = self.graph.placeholder(_identifier(f"outer_{name}"))
        self.captured.append(name)
        self.nodes[name] = node
        return node

    def knows(self, name):
        """Whether a value is there, or in a graph around this one."""
        return name in self.nodes or (self.outer is not None and self.outer.knows(name))

    # --------------------------------------------------------------------------------------- nodes
    def _add(self, node):
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            self._constant(node)
            return
        domain = "" if node.domain == "ai.onnx" else node.domain
        local = self.functions.get((node.domain, node.op_type))
        if local is not None:
            self._call_local(node, local)
            return
        function = find(node.op_type, domain)
        if function is None:
            where = f", node {node.name!r}" if node.name else ""
            raise UnsupportedOperatorError(
                f"{self.file}: there is no operator {node.op_type} of domain "
                f"{node.domain or 'ai.onnx'!r} here{where}"
            )
        attributes = self._attributes(node)
        if wants(function, "outputs"):
            attributes["outputs"] = len(node.output)
        if wants(function, "opset"):
            attributes["opset"] = self.opsets.get(node.domain, self.opsets.get("", 1))
        static = getattr(function, "static", ())
        inputs = [self._input(name, place in static) for place, name in enumerate(node.input)]
        made = self.graph.call_function(function, tuple(inputs), attributes)
        self._name_results(node, made)

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
            tensor = self._tensor(value)
        elif attribute.name == "sparse_value":
            tensor = self._dense(value)
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
                value = self._inner(node, attribute.name, value)
            elif isinstance(value, bytes):
                value = value.decode()
            elif attribute.type == onnx.AttributeProto.TENSOR:
                value = self._held(f"{attribute.name}", self._tensor(value))
            elif attribute.type == onnx.AttributeProto.STRINGS:
                value = [v.decode() for v in value]
            elif hasattr(value, "__iter__") and not isinstance(value, str):
                value = list(value)
            found[attribute.name] = value
        if node.op_type == "Optional":
            found.pop("type", None)
        return found

    def _held(self, name, tensor):
        attribute = _free(self.root, _identifier(name))
        self.root.register_buffer(attribute, tensor)
        return self.graph.get_attr(attribute)

    def _inner(self, node, name, proto):
        """A graph that is an attribute: a module, with what it reads from outside bound to it."""
        inner = _Graph(nn.Module(), self.opsets, self.functions, self.trainable, self.file, self)
        module = inner.module(proto)
        place = _free(self.root, _identifier(f"{node.name or node.op_type}_{name}"))
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
            _renamed(copy, names, prefix)
            _referred(copy, given)
            self._add(copy)
        self.opsets = outer


def _renamed(node, names, prefix):
    """Inner names of a function as names of the graph."""

    def of(name):
        return names.get(name, prefix + name) if name else ""

    node.input[:] = [of(n) for n in node.input]
    node.output[:] = [of(n) for n in node.output]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            local = {v.name for v in attribute.g.input} | {v.name for v in attribute.g.initializer}
            for inner in attribute.g.node:
                local.update(inner.output)
            for inner in attribute.g.node:
                inner.input[:] = [n if n in local or not n else of(n) for n in inner.input]
            for value in attribute.g.output:
                value.name = value.name if value.name in local else of(value.name)


def _referred(node, given):
    """Attributes that stand for those of the call."""
    kept = []
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            kept.append(attribute)
            continue
        value = given.get(attribute.ref_attr_name)
        if value is not None:
            copy = type(attribute)()
            copy.CopyFrom(value)
            copy.name = attribute.name
            kept.append(copy)
    del node.attribute[:]
    node.attribute.extend(kept)


def _identifier(name):
    """A name as Python and state dicts can have it."""
    found = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return found if found and not found[0].isdigit() else f"_{found}"


def _free(root, name):
    """A name that the root does not have yet."""
    count, found = 0, name
    while hasattr(root, found):
        count += 1
        found = f"{name}_{count}"
    return found
