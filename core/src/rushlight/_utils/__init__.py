"""How PyTorch's checkpoints name the functions that rebuild tensors, and what libraries import from
there beside them."""

from __future__ import annotations

from rushlight._utils.exceptions import ExceptionWrapper
from rushlight._utils.flat_tensors import (
    _element_size,
    _flatten_dense_tensors,
    _get_available_device_type,
    _take_tensors,
    _unflatten_dense_tensors,
)
from rushlight.refusals import rest_of
from rushlight.serialization.rebuild import parameter as _rebuild_parameter
from rushlight.serialization.rebuild import tensor as _rebuild_tensor
from rushlight.serialization.rebuild import tensor as _rebuild_tensor_v2
from rushlight.serialization.rebuild import wrapper as _rebuild_wrapper_subclass

__all__ = [
    "ExceptionWrapper",
    "_element_size",
    "_flatten_dense_tensors",
    "_get_available_device_type",
    "_rebuild_parameter",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_wrapper_subclass",
    "_take_tensors",
    "_unflatten_dense_tensors",
]

__getattr__ = rest_of(__name__)
