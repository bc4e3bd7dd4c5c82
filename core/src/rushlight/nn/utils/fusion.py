"""Batch normalization folded into the layer before it, for evaluation."""

from __future__ import annotations

import copy

from rushlight.nn.parameter import Parameter
from rushlight.ops.creation.tensors import ones_like, zeros_like


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of one convolution that also normalizes."""
    dtype = conv_w.dtype
    conv_b = zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = zeros_like(bn_rm) if bn_b is None else bn_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    shape = (1, -1) if transpose else (-1, 1)
    weight = conv_w * scale.reshape(*shape, *(1,) * (conv_w.dim() - 2)).to(dtype)
    bias = (conv_b - bn_rm) * scale + bn_b
    return (
        Parameter(weight.detach().to(dtype), conv_w.requires_grad),
        Parameter(bias.detach().to(dtype), conv_b.requires_grad),
    )


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of a convolution that includes the batch norm behind it; both in evaluation mode."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose,
    )  # fmt: skip
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of one linear layer that also normalizes."""
    linear_b = zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = linear_w * scale.unsqueeze(-1).to(linear_w.dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(linear_b.dtype)
    return (
        Parameter(weight.detach(), linear_w.requires_grad),
        Parameter(bias.detach(), linear_b.requires_grad),
    )


def fuse_linear_bn_eval(linear, bn):
    """A copy of a linear layer that includes the batch norm behind it; both in evaluation mode."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
