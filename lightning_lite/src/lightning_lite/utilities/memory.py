"""Memory: running out of it, giving it back, letting go of graphs."""

from __future__ import annotations

import gc
from typing import Any

import rushlight as rl
from lightning_lite.batches import map_tensors


def recursive_detach(in_dict: Any, to_cpu: bool = False) -> Any:
    """A container with its tensors cut off from the graph, on the CPU if asked."""

    def cut(tensor: rl.Tensor) -> rl.Tensor:
        tensor = tensor.detach()
        return tensor.cpu() if to_cpu else tensor

    return map_tensors(in_dict, cut)


def is_cuda_out_of_memory(exception: BaseException) -> bool:
    """Whether a GPU's memory was too small."""
    return _says(exception, "CUDA", "out of memory")


def is_cudnn_snafu(exception: BaseException) -> bool:
    """Whether cuDNN fails in the way in which it fails without memory."""
    return _says(exception, "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED.")


def is_out_of_cpu_memory(exception: BaseException) -> bool:
    """Whether the machine's memory was too small."""
    return isinstance(exception, MemoryError) or _says(exception, "can't allocate memory")


def is_oom_error(exception: BaseException) -> bool:
    """Whether an exception says that some memory was too small."""
    return (
        is_cuda_out_of_memory(exception)
        or is_cudnn_snafu(exception)
        or is_out_of_cpu_memory(exception)
    )


def _says(exception: BaseException, *words: str) -> bool:
    text = str(exception.args[0]) if len(exception.args) == 1 else ""
    return isinstance(exception, RuntimeError) and all(word in text for word in words)


def garbage_collection_cuda() -> None:
    """Collect garbage and give a GPU's unused memory back."""
    gc.collect()
    if rl.cuda.is_available():
        rl.cuda.empty_cache()
