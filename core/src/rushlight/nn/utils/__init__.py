"""Gradient clipping, parameter vectors, and tools for modules that are imported at first use."""

import importlib

from rushlight.listings import list_on_demand
from rushlight.nn.utils.clip_grad import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from rushlight.nn.utils.vectorize import parameters_to_vector, vector_to_parameters

_PARTS = (
    "convert_parameters", "fusion", "init", "member_access", "memory_format", "parametrizations",
    "parametrize", "prune", "rnn", "stateless",
)  # fmt: skip
_FILE_OF = {
    "clip_grad_norm": "clip_grad",
    "convert_conv2d_weight_memory_format": "memory_format",
    "convert_conv3d_weight_memory_format": "memory_format",
    "fuse_conv_bn_eval": "fusion",
    "fuse_conv_bn_weights": "fusion",
    "fuse_linear_bn_eval": "fusion",
    "fuse_linear_bn_weights": "fusion",
    "remove_spectral_norm": "spectral_normalization",
    "remove_weight_norm": "weight_normalization",
    "skip_init": "init",
    "spectral_norm": "spectral_normalization",
    "weight_norm": "weight_normalization",
}


def __getattr__(name):
    if name in _FILE_OF:
        file = importlib.import_module("rushlight.nn.utils." + _FILE_OF[name])
        found = globals()[name] = getattr(file, name)
        return found
    if name in _PARTS:
        return importlib.import_module("rushlight.nn.utils." + name)
    raise AttributeError(f"module 'rushlight.nn.utils' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_FILE_OF, *_PARTS})


list_on_demand(__name__)


__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
    *_FILE_OF,
    *_PARTS,
]
