"""Autocast around the forward and backward of custom autograd functions."""

from __future__ import annotations

import functools

from rushlight.amp.mode import autocast, get_autocast_dtype, is_autocast_enabled
from rushlight.dtypes import FLOAT, float64
from rushlight.tensor.tensor import Tensor


def _cast(value, device_type, dtype):
    if isinstance(value, Tensor):
        eligible = value.dtype.category == FLOAT and value.dtype is not float64
        return value.to(dtype) if eligible and value.device.type == device_type else value
    if isinstance(value, dict):
        return {
            _cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def custom_fwd(fwd=None, *, device_type: str, cast_inputs=None):
    """Decorates the ``forward`` of a :class:`rushlight.autograd.Function`.

    With `cast_inputs` its float inputs are cast to that dtype and it runs without autocast;
    otherwise it runs as the region around it says. Pair it with :func:`custom_bwd`.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args, **kwargs):
        args[0]._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(
                *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs)
            )

    return forward


def custom_bwd(bwd=None, *, device_type: str):
    """Decorates the ``backward`` that belongs to a forward with :func:`custom_fwd`: it runs as that
    forward ran."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args, **kwargs):
        with autocast(device_type, args[0]._dtype, args[0]._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return backward
