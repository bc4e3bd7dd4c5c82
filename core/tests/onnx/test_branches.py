"""`cond` and `while_loop` as If and Loop, beside the model itself and beside ONNX Runtime."""

from __future__ import annotations

import pytest

import rushlight
from rushlight import nn
from rushlight._higher_order_ops import map as mapped
from rushlight._higher_order_ops import scan
from rushlight.export import Dim, export
from rushlight.onnx.errors import UnsupportedOperatorError

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
onnxruntime.set_default_logger_severity(4)


class Choosing(nn.Module):
    """Branches that read weights and values of the model, and compute with its sizes."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        y = x * 2
        return rushlight.cond(
            x.sum() > 0,
            lambda t: self.a(t) + y + x.shape[0],
            lambda t: self.b(t).reshape(t.shape[0] * 3).reshape(-1, 3).sin() * y.shape[0],
            (x,),
        )


class Looping(nn.Module):
    """A loop, in which there is a choice; it makes no turn where the sum is large."""

    def forward(self, x):
        def body(i, w):
            grown = rushlight.cond(i % 2 == 0, lambda v: v * 1.5 + x, lambda v: v + 1, (w,))
            return i + 1, grown

        start = rushlight.zeros((), dtype=rushlight.int64)
        return rushlight.while_loop(
            lambda i, w: (w.sum() < 40) & (i < x.shape[0] + 3), body, (start, x)
        )


class Passing(nn.Module):
    """Branches that give what they are given, a value twice, and a constant."""

    def forward(self, x):
        y = x + 1
        return rushlight.cond(
            x.sum() > 0,
            lambda t: (t, t, rushlight.ones(2)),
            lambda t: (y * 1, y, rushlight.zeros(2)),
            (x,),
        )


class Scanning(nn.Module):
    """A recurrent layer from the last row to the first, whose steps read weights, and a map."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, x):
        def step(carry, part):
            h = (self.a(part) + carry * x.shape[0]).tanh()
            return h, (h, h.sum())

        last, (rows, sums) = scan(step, rushlight.zeros(3), x, reverse=True)
        return last, rows, sums, mapped(lambda t, y: t * y - x.mean(), x, x.amax())


MODELS = {"choosing": Choosing, "looping": Looping, "passing": Passing, "scanning": Scanning}
CALLS = [(3, 1.0), (4, -1.0), (5, 0.1), (7, 9.0)]  # rows, and a factor


def calls(same=None):
    rushlight.manual_seed(0)
    return [rushlight.rand(same or rows, 3) * factor for rows, factor in CALLS]


def flat(found):
    return list(found) if isinstance(found, tuple | list) else [found]


@pytest.mark.parametrize("opset", [13, 16, 20, 23])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_values_are_the_models(name, dynamic, opset):
    model = MODELS[name]()
    given = calls(None if dynamic else 3)
    program = rushlight.onnx.export(
        model, (given[0],), dynamic_shapes=({0: Dim("n")},) if dynamic else None,
        opset_version=opset,
    )  # fmt: skip
    onnx.checker.check_model(program.model_proto, full_check=True)
    read = rushlight.onnx.load(program.model_proto)
    for x in given:
        wanted = flat(model(x))
        for found in (program(x), flat(read(x)), program.call_reference(x)):
            for ours, one in zip(found, wanted, strict=True):
                rushlight.testing.assert_close(ours, one, rtol=1e-5, atol=1e-5)


def test_calls_have_bodies():
    program = rushlight.onnx.export(Looping(), (rushlight.rand(3, 3),))
    (loop,) = [n for n in program.model_proto.graph.node if n.op_type == "Loop"]
    (body,) = [a.g for a in loop.attribute]
    assert "If" in [n.op_type for n in body.node]
    assert len(body.input) == 2 + 2
    assert len(body.output) == 1 + 2


def test_what_nobody_reads_is_left_out():
    class Unused(nn.Module):
        def forward(self, x):
            y = x.exp()
            return rushlight.cond(x.sum() > 0, lambda t: (t.sin(), y)[0], lambda t: t.cos(), (x,))

    program = rushlight.onnx.export(Unused(), (rushlight.rand(3),))
    kinds = [n.op_type for n in program.model_proto.graph.node]
    assert "Exp" not in kinds
    assert "If" in kinds


def test_an_op_without_translation_inside_of_a_branch_is_named():
    class Unknown(nn.Module):
        def forward(self, x):
            return rushlight.cond(
                x.sum() > 0, lambda t: rushlight.linalg.eigvalsh(t), lambda t: t[0], (x,)
            )

    with pytest.raises(UnsupportedOperatorError, match="eigvalsh"):
        rushlight.onnx.export(Unknown(), (rushlight.eye(3),))


def test_complex_values_in_a_loop_are_refused():
    class Turning(nn.Module):
        def forward(self, x):
            z = rushlight.complex(x, x)
            start = rushlight.zeros((), dtype=rushlight.int64)
            _, z = rushlight.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z), (start, z))
            return rushlight.view_as_real(z)

    with pytest.raises(UnsupportedOperatorError, match="view_as_real"):
        rushlight.onnx.export(Turning(), (rushlight.rand(3),))


def test_tensors_broadcast_to_each_other():
    class Broadcast(nn.Module):
        def forward(self, x, y):
            return rushlight.broadcast_tensors(x, y)

    program = rushlight.onnx.export(
        Broadcast(), (rushlight.rand(3, 1), rushlight.rand(2, 1, 4)),
        dynamic_shapes=({0: Dim("a")}, {}),
    )  # fmt: skip
    for rows in (2, 5):
        given = rushlight.rand(rows, 1), rushlight.rand(2, 1, 4)
        for one, wanted in zip(program(*given), Broadcast()(*given), strict=True):
            assert one.tolist() == wanted.tolist()
    program = rushlight.onnx.export(Broadcast(), (rushlight.rand(0, 1), rushlight.rand(1, 4)))
    assert [v.shape for v in program(rushlight.rand(0, 1), rushlight.rand(1, 4))] == [(0, 4)] * 2


def test_programs_with_writes_in_branches_are_decomposed():
    class Writing(nn.Module):
        def forward(self, x):
            def raised(t):
                u = t.clone()
                u[0] += 2
                return u

            return rushlight.cond(x.sum() > 0, raised, lambda t: -t, (x,))

    program = export(Writing(), (rushlight.rand(3),))
    found = rushlight.onnx.export(program)
    for x in (rushlight.rand(3), -rushlight.rand(3)):
        rushlight.testing.assert_close(found(x)[0], Writing()(x))


# ------------------------------------------------------------------------------- without any turn
def repeating(kind, shape):
    """A Loop or a Scan whose body gives float64 of some shape each turn."""
    helper, types = onnx.helper, onnx.TensorProto

    def info(name, number, sizes):
        return helper.make_tensor_value_info(name, number, sizes)

    nodes = [
        helper.make_node("Add", ["state", "state"], ["next"]),
        helper.make_node("Cast", ["state" if kind == "Loop" else "part"], ["row"], to=types.DOUBLE),
    ]
    given = [info("state", types.FLOAT, None)]
    made = [info("next", types.FLOAT, None), info("row", types.DOUBLE, shape)]
    if kind == "Loop":
        nodes.append(helper.make_node("Identity", ["going"], ["again"]))
        given = [info("turn", types.INT64, []), info("going", types.BOOL, []), *given]
        made = [info("again", types.BOOL, []), *made]
        outer = ["most", "start", "x"]
        inputs = [info("most", types.INT64, []), info("start", types.BOOL, [])]
    else:
        given.append(info("part", types.FLOAT, [3]))
        outer, inputs = ["begin", "x"], [info("begin", types.FLOAT, [2])]
    body = helper.make_graph(nodes, "body", given, made)
    extra = {"num_scan_inputs": 1} if kind == "Scan" else {}
    node = helper.make_node(kind, outer, ["last", "rows"], body=body, **extra)
    results = [info("last", types.FLOAT, None), info("rows", types.DOUBLE, None)]
    graph = helper.make_graph([node], "g", [*inputs, info("x", types.FLOAT, ["n", 3])], results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("shape", [[4, 3], ["n", 3], None, []])
def test_a_loop_without_turns_gives_no_rows_of_the_bodys_form(shape):
    model = repeating("Loop", shape)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    numpy = pytest.importorskip("numpy")
    given = {"most": numpy.array(0), "start": numpy.array(True), "x": numpy.ones((4, 3), "f4")}
    wanted = session.run(None, given)
    last, rows = rushlight.onnx.load(model)(*map(rushlight.from_numpy, given.values()))
    assert last.tolist() == wanted[0].tolist()
    assert rows.shape == wanted[1].shape
    assert rows.dtype is rushlight.float64


def test_a_scan_over_nothing_gives_no_rows():
    model = rushlight.onnx.load(repeating("Scan", [3]))
    last, rows = model(rushlight.ones(2), rushlight.ones(0, 3))
    assert last.tolist() == [1, 1]
    assert rows.shape == (0, 3)
    last, rows = model(rushlight.ones(2), rushlight.ones(2, 3))
    assert last.tolist() == [4, 4]
    assert rows.tolist() == [[1, 1, 1]] * 2
