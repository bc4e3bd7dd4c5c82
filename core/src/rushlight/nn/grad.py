"""The gradients of convolutions as functions: for their input, for their weight.

>>> import rushlight
>>> x, weight = rushlight.ones(1, 1, 4, 4), rushlight.ones(1, 1, 3, 3)
>>> grad = rushlight.ones(1, 1, 2, 2)
>>> rushlight.nn.grad.conv2d_weight(x, weight.shape, grad).shape
rushlight.Size([1, 1, 3, 3])
"""

from __future__ import annotations

from rushlight.autograd import grad
from rushlight.autograd.mode import enable_grad
from rushlight.nn import functional as F


def _derivative(convolution, tensor, grad_output, call):
    """The gradient of a convolution, which is linear in either tensor: where it stands is all the
    same, so zeros take the place of the values."""
    with enable_grad():
        start = tensor.requires_grad_()
        out = call(convolution, start)
        if out.shape != grad_output.shape:
            raise ValueError(
                f"grad_output has shape {tuple(grad_output.shape)}, but the convolution gives "
                f"{tuple(out.shape)}"
            )
        (found,) = grad(out, start, grad_output, create_graph=grad_output.requires_grad)
    return found


def _of_input(convolution, name):
    def derive(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        zeros = weight.new_zeros(tuple(input_size))
        return _derivative(
            convolution,
            zeros,
            grad_output,
            lambda f, x: f(x, weight, None, stride, padding, dilation, groups),
        )

    derive.__name__ = derive.__qualname__ = f"{name}_input"
    derive.__doc__ = (
        f"The gradient of :func:`{name}` for its input of shape `input_size`, from that of its "
        "output."
    )
    return derive


def _of_weight(convolution, name):
    def derive(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        zeros = input.new_zeros(tuple(weight_size))
        return _derivative(
            convolution,
            zeros,
            grad_output,
            lambda f, weight: f(input, weight, None, stride, padding, dilation, groups),
        )

    derive.__name__ = derive.__qualname__ = f"{name}_weight"
    derive.__doc__ = (
        f"The gradient of :func:`{name}` for its weight of shape `weight_size`, from that of its "
        "output."
    )
    return derive


conv1d_input, conv1d_weight = _of_input(F.conv1d, "conv1d"), _of_weight(F.conv1d, "conv1d")
conv2d_input, conv2d_weight = _of_input(F.conv2d, "conv2d"), _of_weight(F.conv2d, "conv2d")
conv3d_input, conv3d_weight = _of_input(F.conv3d, "conv3d"), _of_weight(F.conv3d, "conv3d")

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]
