"""What ops that are made of others come to, where a graph has their parts."""

from __future__ import annotations

from rushlight.library.operators import lookup
from rushlight.nn.native_calls import convolution
from rushlight.ops.linalg.products import addmm, mm


def _linear(input, weight, bias=None):
    if input.dim() == 2:
        product = weight.t()
        return mm(input, product) if bias is None else addmm(bias, input, product)
    rows = input.reshape(-1, input.shape[-1])
    return _linear(rows, weight, bias).reshape(*input.shape[:-1], weight.shape[0])


def _convolution(n):
    ones, zeros = [1] * n, [0] * n

    def run(input, weight, bias=None, stride=ones, padding=zeros, dilation=ones, groups=1):
        if input.dim() != n + 2:
            rest = stride, padding, dilation, groups
            return run(input.unsqueeze(0), weight, bias, *rest).squeeze(0)
        return convolution(input, weight, bias, stride, padding, dilation, False, zeros, groups)

    return run


def _dropout(input, p, train):
    return input if not train else NotImplemented


def implicit() -> dict:
    """Overloads that are made of others -> functions that run the others; NotImplemented where the
    op is to stay."""
    aten = lookup("aten")
    return {
        aten.linear.default: _linear,
        aten.conv1d.default: _convolution(1),
        aten.conv2d.default: _convolution(2),
        aten.conv3d.default: _convolution(3),
        aten.dropout.default: _dropout,
    }
