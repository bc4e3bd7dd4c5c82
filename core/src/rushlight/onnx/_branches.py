"""``cond`` as an If, ``while_loop`` as a Loop, ``scan`` and ``map`` as a Scan, whose graphs are
translated into bodies.

Bodies read values of the graphs around them by their names; constants all stand in the model's.
"""

from __future__ import annotations

import contextlib

import rushlight
from rushlight.fx.experimental import control_flow
from rushlight.onnx._assembling import needed
from rushlight.onnx._builder import Value, is_complex
from rushlight.onnx._types import number_of


def translated(exporter, node) -> list[Value]:
    """The results of a node that is called with graphs."""
    return _FUNCTIONS[node.target](exporter, node, *node.target.modules(node))


def _if(exporter, node, *branches):
    condition, _, _, inputs = map(exporter.value, node.args)
    bodies = []
    for word, module in zip(("then", "else"), branches, strict=True):
        with _body(exporter.builder) as nodes:
            results = _run(exporter, module, inputs)
            bodies.append(_graph(exporter.builder, f"{node.name}_{word}", nodes, [], results))
    builder = exporter.builder
    builder.origin = node.name
    condition = builder.cast(_scalar(builder, condition), rushlight.bool)
    found = builder.op("If", condition, outputs=len(results), then_branch=bodies[0],
                       else_branch=bodies[1])  # fmt: skip
    return _like(results, found)


def _loop(exporter, node, condition, body):
    builder = exporter.builder
    _, _, carried, additional = map(exporter.value, node.args)
    carried = [_real(builder, value) for value in carried]
    first = _holds(exporter, condition, [*carried, *additional])
    inside = [Value(builder.name(f"{node.name}_state"), v.dtype, v.shape) for v in carried]
    turn = Value(builder.name(f"{node.name}_turn"), rushlight.int64, ())
    going = Value(builder.name(f"{node.name}_going"), rushlight.bool, ())
    with _body(builder) as nodes:
        results = _run(exporter, body, [*inside, *additional])
        again = _holds(exporter, condition, [*results, *additional])
        graph = _graph(
            builder, f"{node.name}_body", nodes, [turn, going, *inside], [again, *results]
        )
    builder.origin = node.name
    found = builder.op("Loop", None, first, *carried, outputs=len(carried), body=graph)
    return _like(carried, found)


def _scan(exporter, node, body):
    builder = exporter.builder
    _, *carried, sequences, additional = map(exporter.value, node.args)
    carried = [_real(builder, value) for each in carried for value in each]
    sequences = [_real(builder, value) for value in sequences]
    values = [(v, v.shape) for v in carried] + [(v, v.shape[1:]) for v in sequences]
    inside = [Value(builder.name(f"{node.name}_part"), v.dtype, shape) for v, shape in values]
    with _body(builder) as nodes:
        results = _run(exporter, body, [*inside, *additional])
        graph = _graph(builder, f"{node.name}_body", nodes, inside, results)
    builder.origin = node.name
    found = builder.op("Scan", *carried, *sequences, outputs=len(results), body=graph,
                       num_scan_inputs=len(sequences))  # fmt: skip
    stacked = [Value("", v.dtype, (None, *v.shape)) for v in results[len(carried) :]]
    return _like([*carried, *stacked], found)


@contextlib.contextmanager
def _body(builder):
    """Nodes that are added go to the body of a node, the list that this gives."""
    outer, builder.nodes = builder.nodes, []
    try:
        yield builder.nodes
    finally:
        builder.nodes = outer


def _run(exporter, module, values):
    """The results of a graph for some values."""
    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node in module.graph.nodes:  # a condition is translated twice
        exporter.values.pop(node, None)
    exporter.values.update(zip(places, values, strict=True))
    for node in module.graph.nodes:
        if node.op in ("call_function", "get_attr"):
            exporter.translate_node(node)
    results = exporter.value(module.graph.output_node().args[0])
    return [_real(exporter.builder, value) for value in results]


def _real(builder, value):
    if is_complex(value):
        raise NotImplementedError("a function takes or gives complex values: use view_as_real")
    return builder.constant(value)


def _holds(exporter, condition, values):
    """What the condition of a loop gives."""
    (found,) = _run(exporter, condition, values)
    return exporter.builder.cast(_scalar(exporter.builder, found), rushlight.bool)


def _scalar(builder, value):
    value = builder.constant(value)
    return value if value.shape == () else builder.reshape(value, [])


def _graph(builder, name, nodes, inputs, results):
    """A body; its results are made by nodes of its own, each once."""
    builder.origin = name
    made = {output for node in nodes for output in node.output}
    own: dict[str, Value] = {}
    for value in results:
        if value.name not in made or value.name in own:
            value = _like([value], builder.op("Identity", value))[0]
        own[value.name] = value
    return builder.onnx.helper.make_graph(
        needed(nodes, own),
        builder.name(name),
        [_described(builder, value) for value in inputs],
        [_described(builder, value) for value in own.values()],
    )


def _described(builder, value):
    # sizes may differ from call to call, as scalars do not
    sizes = [] if value.shape == () else None
    return builder.onnx.helper.make_tensor_value_info(value.name, number_of(value.dtype), sizes)


def _like(samples, found):
    """Results with dtypes and sizes of samples."""
    several = found if isinstance(found, tuple) else (found,)
    return [Value(v.name, s.dtype, s.shape) for v, s in zip(several, samples, strict=True)]


_FUNCTIONS = {
    control_flow.cond: _if,
    control_flow.while_loop: _loop,
    control_flow.scan: _scan,
    control_flow.map_impl: _scan,
}
