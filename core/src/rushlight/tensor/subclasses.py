"""What a Tensor subclass without its own ``__torch_function__`` does: results keep the subclass."""

from __future__ import annotations

from rushlight.tensor.dispatch import DisableTorchFunction


def run_plain(cls, function, args, kwargs):
    """Call `function` with overrides off and turn resulting tensors into `cls`."""
    with DisableTorchFunction():
        return _convert(function(*args, **kwargs), cls)


def _convert(result, cls):
    from rushlight.tensor.tensor import Tensor

    if isinstance(result, tuple | list):
        items = [_convert(item, cls) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    return result
