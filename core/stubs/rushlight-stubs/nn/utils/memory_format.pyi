# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _memory_format
from rushlight.nn.module import Module

def convert_conv2d_weight_memory_format(module: Module, memory_format: _memory_format) -> Module: ...
def convert_conv3d_weight_memory_format(module: Module, memory_format: _memory_format) -> Module: ...
