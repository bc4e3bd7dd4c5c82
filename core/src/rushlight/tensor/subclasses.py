"""What a Tensor subclass without its own ``__torch_function__`` does: results keep the subclass."""

from __future__ import annotations

import functools

from rushlight.tensor.dispatch import DisableTorchFunction


def run_plain(base, cls, function, args, kwargs):
    """Call `function` with overrides off and turn resulting tensors into `cls`, a subclass of
    `base`, the class Tensor."""
    with DisableTorchFunction():
        result = function(*args, **kwargs)
        return result if function in _unconverted(base) else _convert(base, cls, result)


@functools.cache
def _unconverted(base) -> frozenset:
    """What gives tensors that exist already, as they are."""
    return frozenset({base.grad.__get__})


def _convert(base, cls, result):
    if isinstance(result, tuple | list):
        items = [_convert(base, cls, item) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    if isinstance(result, base) and not isinstance(result, cls):
        return result.as_subclass(cls)
    return result
