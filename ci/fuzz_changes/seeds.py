"""Whole `.pt2` archives and ONNX models of several makings."""

from __future__ import annotations

import io


def archives() -> dict[str, bytes]:
    """Whole `.pt2` archives of several programs."""
    import rushlight
    from rushlight import nn
    from rushlight.export import Dim, export, save

    rushlight.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))
    x = rushlight.ones(2, 1, 4, 4)

    class Several(nn.Module):
        def forward(self, x, pair, *, twice=True):
            values, places = x.max(1)
            y = rushlight.cat([x, pair[0]]) * (2 if twice else 1)
            return {"y": y, "best": (values, places), "rest": list(x.chunk(2, 1)), "n": (3, None)}

    batch = {"x": {0: Dim("batch")}}
    programs = {
        "layers": export(body.eval(), (x,)),
        "training": export(body.train(), (x,)).run_decompositions(),
        "several": export(Several(), (x[:, 0], [x[:, 0], {"k": x}]), {"twice": True}),
        "sizes": export(_Reshaping(), (rushlight.ones(3, 4),), dynamic_shapes=batch),
    }
    found = {}
    for name, program in programs.items():
        buffer = io.BytesIO()
        save(program, buffer)
        found[f"{name}.pt2"] = buffer.getvalue()
    return found


def _Reshaping():  # noqa: N802 - stands for a class that needs rushlight
    from rushlight import nn

    class Reshaping(nn.Module):
        def forward(self, x):
            return x.reshape(x.shape[0] * 2, -1).sum(0, keepdim=True), x.shape[0] + 1

    return Reshaping()


def models() -> dict[str, bytes]:
    """Whole ONNX models: layers, branches, functions, sparse and external constants."""
    import onnx

    import rushlight
    from rushlight import nn

    rushlight.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))
    x = rushlight.ones(2, 1, 4, 4)
    layers = rushlight.onnx.export(body.eval(), (x,), external_data=False).model_proto
    outside = onnx.ModelProto()
    outside.CopyFrom(layers)
    put_outside(outside.graph.initializer[0], len(outside.graph.initializer[0].raw_data))
    protos = {"layers": layers, "outside": outside, "parts": onnx.parser.parse_model(_PARTS)}
    protos["parts"].graph.sparse_initializer.append(_sparse(onnx))
    return {f"{name}.onnx": proto.SerializeToString() for name, proto in protos.items()}


def put_outside(tensor, length, location="weights.bin", offset=0):
    """Let a tensor's elements stand in another file."""
    tensor.ClearField("raw_data")
    tensor.data_location = tensor.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, str(value)


def _sparse(onnx):
    values = onnx.helper.make_tensor("thin", onnx.TensorProto.FLOAT, [2], [1.0, 2.0])
    places = onnx.helper.make_tensor("", onnx.TensorProto.INT64, [2], [0, 5])
    return onnx.helper.make_sparse_tensor(values, places, [8])


_PARTS = """
<ir_version: 8, opset_import: ["": 18, "own": 1]>
parts (float[4] x, bool go, int64 most) => (float[4] y, float[8] thick)
<float[4] w = {1.0, 2.0, 3.0, 4.0}, float[1] one = {1.0}>
{
  a = If (go) <then_branch = yes () => (float[4] r) { r = Add(x, w) },
               else_branch = no () => (float[4] r) { r = Twice(x) }>
  b = Loop (most, go, a) <body = turn (int64 i, bool on, float[4] s) => (bool on2, float[4] s2)
      { on2 = Identity(on)
        s2 = Mul(s, one) }>
  c = own.double (b)
  thick = Identity(thin)
  y = Clip(c, one)
}
<domain: "own", opset_import: ["": 18]>
double (v) => (r) { r = Add(v, v) }
""".replace("Twice(x)", "Add(x, x)")
