"""How PyTorch's checkpoints name the functions that rebuild tensors."""

from __future__ import annotations

from rushlight.refusals import rest_of
from rushlight.serialization.rebuild import parameter as _rebuild_parameter
from rushlight.serialization.rebuild import tensor as _rebuild_tensor
from rushlight.serialization.rebuild import tensor as _rebuild_tensor_v2
from rushlight.serialization.rebuild import wrapper as _rebuild_wrapper_subclass

__all__ = [
    "_rebuild_parameter",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_wrapper_subclass",
]

__getattr__ = rest_of(__name__)
