"""Constants of ONNX models as tensors."""

from __future__ import annotations

import math

import rushlight
from rushlight.machine import np
from rushlight.onnx._external import ExternalData
from rushlight.onnx._operators.dtypes import dtype_of
from rushlight.onnx.errors import OnnxImporterError

# Elements of a sparse constant made dense: so many, and so many for each of its values.
_SPARSE, _SPARSEST = 1 << 20, 1000


class Constants:
    """Reads the constants of one model; `file` names it in errors."""

    def __init__(self, external: ExternalData, file: str):
        self.external, self.file = external, file

    def tensor(self, proto):
        """A tensor of the model, from the message or from the file beside it."""
        import onnx

        try:
            if proto.data_location == onnx.TensorProto.EXTERNAL:
                proto = _inside(proto, self.external.bytes_of(proto))
            array = onnx.numpy_helper.to_array(proto)
            dtype = dtype_of(proto.data_type)
        except (NotImplementedError, OnnxImporterError):
            raise
        except Exception as error:  # noqa: BLE001 - damaged data shows in many ways
            raise OnnxImporterError(
                f"{self.file}: the constant {proto.name!r} is damaged: {error}"
            ) from None
        if dtype is rushlight.bfloat16:
            return rushlight.from_numpy(np.array(array, np.float32)).to(dtype)
        return rushlight.from_numpy(np.array(array))

    def dense(self, sparse):
        """A sparse constant with all its elements."""
        values, places = self.tensor(sparse.values), self.tensor(sparse.indices)
        if math.prod(sparse.dims) > _SPARSE + _SPARSEST * values.numel():
            raise OnnxImporterError(
                f"the constant {sparse.values.name!r} has {values.numel()} values for the sizes "
                f"{list(sparse.dims)}: too few to be made dense"
            )
        found = rushlight.zeros(list(sparse.dims), dtype=values.dtype)
        if places.ndim == 1:
            found.reshape(-1)[places] = values
        else:
            found[tuple(places.unbind(1))] = values
        return found


def _inside(proto, content):
    """A tensor with its elements in it."""
    copy = type(proto)()
    copy.CopyFrom(proto)
    copy.ClearField("external_data")
    copy.data_location, copy.raw_data = copy.DEFAULT, content
    return copy
