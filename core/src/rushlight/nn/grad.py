"""The gradients of convolutions as functions: for their input, for their weight.

>>> import rushlight
>>> x, weight = rushlight.ones(1, 1, 4, 4), rushlight.ones(1, 1, 3, 3)
>>> grad = rushlight.ones(1, 1, 2, 2)
>>> rushlight.nn.grad.conv2d_weight(x, weight.shape, grad).shape
rushlight.Size([1, 1, 3, 3])
"""

from __future__ import annotations

from rushlight.nn import functional as F
from rushlight.ops.neural.convolution import _convolution_input, _convolution_weight, spatial


def _settings(convolution, dims, input, weight, grad_output, *given):
    """Stride, padding, dilation and groups as an op takes them, once all shapes are checked.

    Raises what the convolution itself would, and ValueError where the gradient of the output has
    another shape than the output.
    """
    stride, padding, dilation, groups = given
    names = ("stride", "padding", "dilation")
    found = [spatial(v, dims, n, convolution.__name__) for v, n in zip(given, names, strict=False)]
    out = convolution(input, weight, None, *found, groups)
    if out.shape != grad_output.shape:
        raise ValueError(
            f"grad_output has shape {tuple(grad_output.shape)}, but the convolution gives "
            f"{tuple(out.shape)}"
        )
    return *found, groups


def _shape_only(tensor, size):
    return tensor.new_empty(tuple(size), device="meta")


def _of_input(convolution, dims):
    def derive(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        shapes = _shape_only(weight, input_size), _shape_only(weight, weight.shape)
        settings = _settings(convolution, dims, *shapes, grad_output, stride, padding, dilation,
                             groups)  # fmt: skip
        return _convolution_input(grad_output, weight, tuple(input_size), *settings)

    name = convolution.__name__
    derive.__name__ = derive.__qualname__ = f"{name}_input"
    derive.__doc__ = (
        f"The gradient of :func:`{name}` for its input of shape `input_size`, from that of its "
        "output."
    )
    return derive


def _of_weight(convolution, dims):
    def derive(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        shapes = _shape_only(input, input.shape), _shape_only(input, weight_size)
        settings = _settings(convolution, dims, *shapes, grad_output, stride, padding, dilation,
                             groups)  # fmt: skip
        return _convolution_weight(grad_output, input, tuple(weight_size), *settings)

    name = convolution.__name__
    derive.__name__ = derive.__qualname__ = f"{name}_weight"
    derive.__doc__ = (
        f"The gradient of :func:`{name}` for its weight of shape `weight_size`, from that of its "
        "output."
    )
    return derive


conv1d_input, conv1d_weight = _of_input(F.conv1d, 1), _of_weight(F.conv1d, 1)
conv2d_input, conv2d_weight = _of_input(F.conv2d, 2), _of_weight(F.conv2d, 2)
conv3d_input, conv3d_weight = _of_input(F.conv3d, 3), _of_weight(F.conv3d, 3)

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]
