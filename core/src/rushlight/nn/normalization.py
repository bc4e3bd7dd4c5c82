"""Normalization layers."""

from __future__ import annotations

from rushlight.autograd.mode import no_grad
from rushlight.dtypes import int64
from rushlight.nn import functional as F
from rushlight.nn import initialization as init
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.ops.creation.tensors import empty, ones, tensor, zeros
from rushlight.ops.neural.folded_weights import folded_weights
from rushlight.ops.neural.normalization import batch_norm_rectified, fits_rectified


class _BatchStatistics(Module):
    _version = 2
    _dims: tuple[int, ...] = (4,)

    def __init__(
        self,
        num_features,
        eps=1e-05,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = Parameter(empty(num_features, **kind))
            self.register_parameter(
                "bias", Parameter(empty(num_features, **kind)) if bias else None
            )
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)
        if track_running_stats:
            self.register_buffer("running_mean", zeros(num_features, **kind))
            self.register_buffer("running_var", ones(num_features, **kind))
            self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Mean 0, variance 1, no batches seen."""
        if self.track_running_stats:
            with no_grad():
                self.running_mean.zero_()
                self.running_var.fill_(1)
                self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Weight 1, bias 0, fresh statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        if input.dim() not in self._dims:
            expected = " or ".join(f"{d}D" for d in self._dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self):
        """The settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_BatchStatistics):
    def _next_momentum(self):
        """Count a batch in training; the weight of its statistics."""
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        return momentum

    def _fits_rectified(self, input):
        """Whether an activation behind this module may be computed with it."""
        statistics = (self.running_mean, self.running_var) if self.track_running_stats else ()
        return (
            self.training
            and self.eps > 0
            and input.dim() in self._dims
            and fits_rectified(input, self.weight, self.bias, *statistics)
        )

    def _folded(self, input, weight, bias):
        """Weight and bias of the convolution that does what one with these and then this module do
        in evaluation; None where something is recorded, or not dense and of one dtype."""
        if self.training or len(weight._array) != self.num_features:
            return None
        buffers, own = self._buffers, self._parameters  # attributes would be looked for here last
        return folded_weights(
            input,
            weight,
            bias,
            buffers["running_mean"] if "running_mean" in buffers else self.running_mean,
            buffers["running_var"] if "running_var" in buffers else self.running_var,
            own["weight"] if "weight" in own else self.weight,
            own["bias"] if "bias" in own else self.bias,
            self.eps,
        )

    def _rectified(self, input, rectified):
        """`forward` in training, then ReLU (1) or ReLU6 (6), in one pass over memory."""
        momentum, keep = self._next_momentum(), self.track_running_stats
        return batch_norm_rectified(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            momentum,
            self.eps,
            rectified,
        )

    def forward(self, input):
        """Normalize every channel; in training update the running statistics."""
        self._check_input_dim(input)
        momentum = self._next_momentum()
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            by_batch,
            momentum,
            self.eps,
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        """Checkpoints from before the batch counter existed load with the counter as it is."""
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = (
                self.num_batches_tracked
                if self.num_batches_tracked is not None and not self.num_batches_tracked.is_meta
                else tensor(0, dtype=int64)
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class BatchNorm1d(_BatchNorm):
    """Batch normalization of (N, C) or (N, C, L)."""

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of (N, C, H, W). (Ioffe and Szegedy, 2015.)"""

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of (N, C, D, H, W)."""

    _dims = (5,)


class _InstanceNorm(_BatchStatistics):
    def __init__(
        self,
        num_features,
        eps=1e-05,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input):
        """Normalize every channel of every sample."""
        self._check_input_dim(input)
        unbatched = input.dim() == min(self._dims)
        out = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if unbatched else out


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of (N, C, L) or (C, L)."""

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of (N, C, H, W) or (C, H, W)."""

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of (N, C, D, H, W) or (C, D, H, W)."""

    _dims = (4, 5)


class LayerNorm(Module):
    """The last dimensions (`normalized_shape`) with mean 0 and variance 1, scaled and shifted."""

    def __init__(
        self,
        normalized_shape,
        eps=1e-05,
        elementwise_affine=True,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape, self.eps = tuple(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        kind = {"device": device, "dtype": dtype}
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if elementwise_affine:
            self.weight = Parameter(empty(self.normalized_shape, **kind))
            if bias:
                self.bias = Parameter(empty(self.normalized_shape, **kind))
        self.reset_parameters()

    def reset_parameters(self):
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        """Normalize."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        """The settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """The last dimensions divided by their root mean square, and scaled."""

    def __init__(
        self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None
    ):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape, self.eps = tuple(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", None)
        if elementwise_affine:
            self.weight = Parameter(ones(self.normalized_shape, device=device, dtype=dtype))

    def reset_parameters(self):
        """Make the scales 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x):
        """Normalize."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        """The settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Groups of channels of (N, C, ...) with mean 0 and variance 1, scaled and shifted."""

    def __init__(
        self,
        num_groups,
        num_channels: int,
        eps=1e-05,
        affine=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError("num_channels must be divisible by num_groups")
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if affine:
            self.weight = Parameter(ones(num_channels, device=device, dtype=dtype))
            if bias:
                self.bias = Parameter(zeros(num_channels, device=device, dtype=dtype))

    def reset_parameters(self):
        """Make the scales 1 and the shifts 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input):
        """Normalize."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        """The settings."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )
