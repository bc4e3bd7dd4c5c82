"""Parts of the file: descriptions of values, constants, and the nodes that are needed."""

from __future__ import annotations

from rushlight.machine import np
from rushlight.onnx._loader import load
from rushlight.onnx._types import number_of


def bodies(node):
    """The graphs that a node runs."""
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def read_by(node):
    """The names of what a node reads, also inside of the graphs that it runs."""
    inside = (read_by(inner) for body in bodies(node) for inner in body.node)
    return set(node.input).union(*inside)


def needed(nodes, results):
    """The nodes that the results come from, in order."""
    wanted, kept = set(results), []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted.update(read_by(node))
    return kept[::-1]


def folded(builder, value):
    """The array of a value that is computed from constants alone; None of one that is not."""
    if value.array is not None:
        return value.array
    nodes = needed(builder.nodes, [value.name])
    made = {name for node in nodes for name in node.output}
    read = {value.name}.union(*map(read_by, nodes)) - made - {""}
    if not read <= builder.constants.keys():
        return None
    helper = builder.onnx.helper
    constants = [initializer(builder.onnx, builder.constants[name]) for name in sorted(read)]
    graph = helper.make_graph(nodes, "constants", [], [described(builder.onnx, value)], constants)
    domain = [helper.make_opsetid("", builder.opset)]
    model = helper.make_model(graph, opset_imports=domain)
    return load(model.SerializeToString(), trainable=False)().detach().numpy()


def described(onnx, value):
    """Name, dtype and sizes of an input or a result."""
    sizes = None if value.shape is None else [s if type(s) is int else str(s) for s in value.shape]
    return onnx.helper.make_tensor_value_info(value.name, number_of(value.dtype), sizes)


def initializer(onnx, value):
    """A constant with its values."""
    array = np.asarray(value.array, order="C")
    proto = onnx.TensorProto(name=value.name, data_type=number_of(value.dtype), dims=array.shape)
    proto.raw_data = array.tobytes()
    return proto
