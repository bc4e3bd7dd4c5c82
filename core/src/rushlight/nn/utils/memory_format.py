"""Memory formats of convolution weights."""

from __future__ import annotations

from rushlight.nn.convolution import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from rushlight.nn.module import Module


def _convert(module, memory_format, classes):
    for child in module.modules():
        if isinstance(child, classes):
            child.weight.data = child.weight.detach().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format) -> Module:
    """Lay out the weights of all two-dimensional convolutions in a memory format."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format) -> Module:
    """Lay out the weights of all three-dimensional convolutions in a memory format."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
