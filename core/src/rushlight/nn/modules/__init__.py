"""PyTorch's paths to the layers, such as ``rushlight.nn.modules.batchnorm._BatchNorm``.

The layers live in ``rushlight.nn``; the modules of this package are made when it is imported and
look names up there.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types

from rushlight import nn
from rushlight.nn.module import Module

# PyTorch's file: where its names are found here.
_FILES = {
    "activation": "activation multihead private_names",
    "adaptive": "adaptive_softmax",
    "batchnorm": "normalization response_norm lazy",
    "channelshuffle": "resizing",
    "container": "containers parameter_containers",
    "conv": "convolution lazy tuples",
    "distance": "distance",
    "dropout": "dropout",
    "flatten": "linear",
    "fold": "resizing",
    "instancenorm": "normalization lazy",
    "lazy": "lazy",
    "linear": "linear multihead lazy activation",
    "linear_cross_entropy": "margin_losses",
    "loss": "losses margin_losses",
    "module": "module state global_hooks",
    "normalization": "normalization response_norm",
    "padding": "padding tuples",
    "pixelshuffle": "resizing",
    "pooling": "pooling unpooling tuples",
    "rnn": "recurrent private_names",
    "sparse": "embedding",
    "transformer": "transformer private_names",
    "upsampling": "resizing",
    "utils": "tuples",
}
# Base classes that go by another name here.
_OTHER_NAMES = {
    "_NormBase": "_BatchStatistics",
    "_ConvNd": "_Convolution",
    "_ConvTransposeNd": "_Transpose",
    "_DropoutNd": "_Dropout",
    "_MaxPoolNd": "_MaxPool",
    "_AvgPoolNd": "_AvgPool",
    "_AdaptiveAvgPoolNd": "_AdaptivePool",
    "_AdaptiveMaxPoolNd": "_AdaptiveMaxPool",
    "_MaxUnpoolNd": "_MaxUnpool",
    "_ConstantPadNd": "_ConstantPad",
    "_ReflectionPadNd": "_ReflectionPad",
    "_ReplicationPadNd": "_ReplicationPad",
    "_CircularPadNd": "_CircularPad",
    "_get_activation_fn": "_activation",
    "_addindent": "_indented",
    "_EXTRA_STATE_KEY_SUFFIX": "EXTRA_STATE",
}


class _Path(types.ModuleType):
    """A module whose names are those of other modules."""

    def __init__(self, name, files):
        super().__init__(f"{__name__}.{name}", f"The names of PyTorch's ``nn.modules.{name}``.")
        self.__dict__["_files"] = files

    def __getattr__(self, name):
        if not name.startswith("__"):
            for file in self.__dict__["_files"]:
                module = importlib.import_module("rushlight.nn." + file)
                for candidate in (name, _OTHER_NAMES.get(name)):
                    if candidate is not None and hasattr(module, candidate):
                        return getattr(module, candidate)
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")


class _Finder:
    """Makes the modules of this package when they are imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The description of a module by PyTorch's name, else None."""
        package, _, file = name.rpartition(".")
        known = package == __name__ and file in _FILES
        return importlib.machinery.ModuleSpec(name, _Finder) if known else None

    @staticmethod
    def create_module(spec):
        """The module, whose names are looked up when they are asked for."""
        file = spec.name.rpartition(".")[2]
        return _Path(file, _FILES[file].split())

    @staticmethod
    def exec_module(module):
        """Nothing is run."""


sys.meta_path.append(_Finder)


def __getattr__(name):
    if name in _FILES:
        return importlib.import_module(f"{__name__}.{name}")
    found = getattr(nn, name, None) if not name.startswith("_") else None
    if found is None:
        raise AttributeError(f"module 'rushlight.nn.modules' has no attribute '{name}'")
    return found


__all__ = ["Module", *_FILES, *(name for name in nn.__all__ if name[0].isupper())]
