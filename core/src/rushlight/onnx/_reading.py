"""The message of an ONNX model, and what may come of it."""

from __future__ import annotations

import os

from rushlight.onnx._constants import Constants
from rushlight.onnx._external import ExternalData
from rushlight.onnx.errors import OnnxImporterError

# What functions of a model may come to: so many nodes, and so many for each of the file.
_EXPANDED, _TIMES = 20_000, 20


def read(model):
    """The message of a model, given as path, bytes or message, and its name in errors."""
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
            proto = onnx.load(name, load_external_data=False)
        except Exception as error:  # noqa: BLE001
            raise OnnxImporterError(f"{name} is no ONNX model, or damaged: {error}") from None
    if not proto.HasField("graph") or not proto.opset_import:
        raise OnnxImporterError(f"{name} is no ONNX model: it has no graph or names no opset")
    return proto, name


class Limits:
    """What a small file may come to: the data files it reads, and the nodes of its functions."""

    def __init__(self, proto, name, path):
        self.constants = Constants(ExternalData(path), name)
        size = len(proto.graph.node) + sum(len(f.node) for f in proto.functions)
        self.nodes = _EXPANDED + _TIMES * size

    def count_node(self):
        """One more node; functions that call each other twice grow without end."""
        self.nodes -= 1
        if self.nodes < 0:
            raise OnnxImporterError("its functions call each other until there are too many nodes")
