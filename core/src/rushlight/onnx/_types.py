"""Numbers of dtypes and tensors as ONNX has them."""

from __future__ import annotations

import rushlight
from rushlight.machine import np

# The numbers of onnx.TensorProto.DataType.
NUMBERS = {
    rushlight.float32: 1,
    rushlight.uint8: 2,
    rushlight.int8: 3,
    rushlight.uint16: 4,
    rushlight.int16: 5,
    rushlight.int32: 6,
    rushlight.int64: 7,
    rushlight.bool: 9,
    rushlight.float16: 10,
    rushlight.float64: 11,
    rushlight.uint32: 12,
    rushlight.uint64: 13,
    rushlight.bfloat16: 16,
}
NARROW = frozenset(
    (rushlight.int8, rushlight.int16, rushlight.uint8, rushlight.uint16, rushlight.bool)
)


def number_of(dtype):
    """The number of a dtype; NotImplementedError for those that ONNX's operators do not take."""
    if dtype not in NUMBERS:
        raise NotImplementedError(f"onnx.export: {dtype} has no place in ONNX's operators")
    return NUMBERS[dtype]


def array_of(tensor):
    """The values of a tensor as a contiguous array (of bfloat16 the upper halves of float32)."""
    tensor = tensor.detach().cpu()
    if tensor.dtype is rushlight.bfloat16:
        return np.asarray(tensor.contiguous().view(rushlight.int16).numpy(), order="C")
    return np.asarray(tensor.resolve_conj().numpy(), order="C")


def numpy_dtype(dtype):
    """NumPy's dtype of one of ours, for constants."""
    return np.dtype(str(dtype).rpartition(".")[2])
