"""Between tensors and the flat arrays that are sent."""

from __future__ import annotations

from rushlight.machine import np
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor


def check_tensor(operation: str, argument: str, value) -> None:
    """Raise unless a value is a strided tensor in the memory of the CPU or of a GPU."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{operation}: Invalid function argument. Expected parameter `{argument}` of type "
            f"rushlight.Tensor, got {type(value).__name__} instead."
        )
    if value.layout != "strided":
        raise NotImplementedError(
            f"{operation}: `{argument}` is a tensor of layout {value.layout}; send its values and "
            "indices, or to_dense()"
        )
    if value.device.type not in ("cpu", "cuda"):
        raise NotImplementedError(
            f"{operation}: `{argument}` is on {value.device}; processes exchange tensors of the "
            f"CPU and of GPUs: send `{argument}.cpu()`"
        )


def check_tensors(operation: str, argument: str, values) -> None:
    """Raise unless a value is a sequence of tensors."""
    if not isinstance(values, (list, tuple)):
        raise TypeError(
            f"{operation}: Invalid function argument. Expected parameter `{argument}` of type "
            f"list[rushlight.Tensor], got {type(values).__name__} instead."
        )
    for value in values:
        check_tensor(operation, argument, value)


def check_dtypes(operation: str, tensors) -> None:
    """Raise unless all tensors have one dtype and are on one device."""
    for tensor in tensors:
        if tensor.device != tensors[0].device:
            raise ValueError(
                f"{operation}: expected all tensors to be on one device, found "
                f"{tensors[0].device} and {tensor.device}"
            )
        if tensor.dtype is not tensors[0].dtype:
            raise ValueError(
                f"{operation}: Invalid usage of tensors with different dtypes: "
                f"{tensors[0].dtype} and {tensor.dtype}"
            )


def flat(tensor: Tensor) -> np.ndarray:
    """The elements in order, one dimension: a view where the tensor is contiguous, else a copy."""
    return tensor._array.reshape(-1)


def on_device(tensor: Tensor) -> bool:
    """Whether a tensor is in a GPU's memory."""
    return type(tensor._array) is not np.ndarray


def store_all(tensors, arrays) -> None:
    """:func:`store` of several."""
    for tensor, elements in zip(tensors, arrays, strict=True):
        store(tensor, elements)


def store(tensor: Tensor, elements: np.ndarray) -> None:
    """Write elements in order into a tensor; nothing where they are its own memory."""
    array = tensor._array
    if not np.may_share_memory(array, elements):
        np.copyto(array, elements.reshape(array.shape))
    storage_of(tensor).version += 1


def fresh(tensor: Tensor) -> np.ndarray:
    """Where a tensor's new elements may arrive: its own memory, or as much of other memory."""
    array = tensor._array
    if array.flags.c_contiguous and array.flags.writeable:
        return array.reshape(-1)
    return new(array, array.size)


def new(like: np.ndarray, count: int) -> np.ndarray:
    """Memory for so many elements of an array's dtype, where that array is."""
    return np.empty_like(like, shape=(count,))


def as_bytes(array: np.ndarray) -> np.ndarray:
    """A flat array as bytes."""
    return array.view(np.uint8)
