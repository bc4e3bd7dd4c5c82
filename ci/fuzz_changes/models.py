"""ONNX models with other fields, graphs that grow, and data outside of the folder."""

from __future__ import annotations

import random

import fuzz

from fuzz_changes.hostile import CODE, NUMBERS, TEXTS
from fuzz_changes.seeds import put_outside


def _messages(proto):
    """A message and all inside it."""
    stack, found = [proto], []
    while stack and len(found) < 3000:
        message = stack.pop()
        found.append(message)
        for field, value in message.ListFields():
            if field.type == field.TYPE_MESSAGE:
                many = hasattr(value, "append") or hasattr(value, "add")
                stack.extend(value if many else [value])
    return found


def _changed_field(message, chance):
    """Another value of one field."""
    field, value = chance.choice(message.ListFields())
    if field.type == field.TYPE_MESSAGE:
        if not hasattr(value, "add"):
            message.ClearField(field.name)
        elif chance.random() < 0.5:
            del value[chance.randrange(len(value))]
        else:
            value.add().CopyFrom(chance.choice(list(value)))
        return
    whole = field.type in (field.TYPE_INT32, field.TYPE_INT64, field.TYPE_ENUM, field.TYPE_UINT64)
    if field.type == field.TYPE_STRING:
        drawn = chance.choice([t for t in TEXTS if t != "\ud800"])
    elif field.type == field.TYPE_BYTES:
        drawn = chance.choice((b"", CODE.encode(), b"\xff" * 9, fuzz.damaged(b"abcdefgh", chance)))
    else:
        drawn = chance.choice(NUMBERS) if whole else chance.choice((1e30, float("nan"), -1.0))
    if field.type == field.TYPE_ENUM:
        drawn = chance.choice([each.number for each in field.enum_type.values])
    if field.type == field.TYPE_INT32:
        drawn = max(-(2**31), min(drawn, 2**31 - 1))
    if field.type == field.TYPE_UINT64:
        drawn = abs(drawn)
    if hasattr(value, "append"):
        at = chance.randrange(len(value))
        value[at] = chance.choice(list(value)) if chance.random() < 0.3 else drawn
    else:
        setattr(message, field.name, drawn)


def _bomb(proto, chance):
    """Functions that double, graphs in graphs, dims and external data out of all proportion."""
    kind = chance.randrange(5)
    if kind == 0:
        _doubling(proto, chance.choice((3, 30, 300)), chance.random() < 0.3)
    elif kind == 1 and proto.graph.sparse_initializer:
        proto.graph.sparse_initializer[0].dims[:] = [chance.choice(NUMBERS) for _ in range(2)]
    elif kind == 2:
        _branches(proto, chance.choice((5, 9, 30)))
    elif proto.graph.initializer:
        tensor = chance.choice(list(proto.graph.initializer))
        if kind == 3:
            tensor.dims[:] = [chance.choice(NUMBERS) for _ in range(chance.choice((1, 2, 70)))]
        else:
            location = chance.choice(("../secret", "/etc/passwd", "link", ".", "", "weights.bin",
                                      "/dev/zero", "no", "a\0b", "x" * 300))  # fmt: skip
            put_outside(tensor, chance.choice(NUMBERS), location, chance.choice(NUMBERS))
            if chance.random() < 0.3:
                for number in range(2000):
                    copy = proto.graph.initializer.add()
                    copy.CopyFrom(tensor)
                    copy.name = f"more{number}"


def _doubling(proto, depth, endless):
    import onnx

    opset = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("b", 1)]
    for level in range(depth):
        inner = f"f{(level + 1) % depth if endless else level + 1}"
        kind = ("Add", "") if level == depth - 1 and not endless else (inner, "b")
        calls = [
            onnx.helper.make_node(kind[0], ["v"] * (2 if kind[1] == "" else 1), [f"r{n}"],
                                  domain=kind[1])
            for n in range(2)
        ]  # fmt: skip
        proto.functions.append(
            onnx.helper.make_function("b", f"f{level}", ["v"], ["r1"], calls, opset)
        )
    start = proto.graph.input[0].name
    proto.graph.node.append(onnx.helper.make_node("f0", [start], ["boom"], domain="b"))


def _branches(proto, depth):
    import onnx

    inner = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["r"])], "g", [], [])
    for _ in range(depth):
        node = onnx.helper.make_node("If", ["x"], ["r"])
        for name in ("then_branch", "else_branch")[: 1 if depth > 10 else 2]:
            node.attribute.append(onnx.helper.make_attribute(name, inner))
        inner = onnx.helper.make_graph([node], "g", [], [])
    proto.graph.node.extend(inner.node)


def model_case(data: bytes, chance: random.Random) -> bytes:
    """A changed model."""
    import onnx

    drawn = chance.random()
    if drawn < 0.25:
        return fuzz.damaged(data, chance)
    proto = onnx.ModelProto.FromString(data)
    if drawn < 0.35:
        _bomb(proto, chance)
    else:
        for _ in range(chance.choice((1, 1, 2, 4))):
            message = chance.choice([m for m in _messages(proto) if m.ListFields()])
            _changed_field(message, chance)
    return proto.SerializeToString()
