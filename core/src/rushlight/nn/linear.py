"""Fully connected layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushlight.nn import functional as F
from rushlight.nn import initialization as init
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.ops.creation.tensors import empty

if TYPE_CHECKING:
    from collections.abc import Sequence


class Linear(Module):
    """``y = x @ weight.T + bias``; `weight` (out_features, in_features), `bias` (out_features).

    >>> layer = rushlight.nn.Linear(3, 2)
    >>> layer(rushlight.ones(5, 3)).shape
    rushlight.Size([5, 2])
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        kind = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty((out_features, in_features), **kind))
        if bias:
            self.bias = Parameter(empty(out_features, **kind))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw fresh initial values: uniform within ``1 / sqrt(in_features)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        """Apply to the last dimension of (*, in_features)."""
        own = self._parameters  # attributes would be looked for here last
        weight = own["weight"] if "weight" in own else self.weight
        return F.linear(input, weight, own["bias"] if "bias" in own else self.bias)

    def extra_repr(self):
        """The settings."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """``y[k] = x1 @ weight[k] @ x2 + bias[k]``."""

    def __init__(
        self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None
    ):
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        kind = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty((out_features, in1_features, in2_features), **kind))
        if bias:
            self.bias = Parameter(empty(out_features, **kind))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw fresh initial values."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        """Apply to the last dimensions of both inputs."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        """The settings."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Flatten(Module):
    """Dimensions `start_dim` to `end_dim` as one."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        """Flatten."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        """The settings."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several."""

    def __init__(self, dim, unflattened_size: Sequence[int]):
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        """Unflatten."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        """The settings."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
