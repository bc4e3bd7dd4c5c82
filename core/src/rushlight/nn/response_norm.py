"""Local response normalization, and batch normalization over processes."""

from __future__ import annotations

from rushlight.autograd.later import later
from rushlight.autograd.mode import no_grad
from rushlight.nn import functional as F
from rushlight.nn.module import Module
from rushlight.nn.normalization import _BatchNorm
from rushlight.ops.shape.joining import cat


class LocalResponseNorm(Module):
    """Channels of (N, C, ...) divided by a power of the mean square of their neighbours."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        """Normalize."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        """The settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """:class:`LocalResponseNorm` of (N, C, H, W).

    PyTorch's class keeps a running sum of squares that it never corrects for one channel; this one
    computes the published formula.
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)

    def forward(self, input):
        """Normalize."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return super().forward(input)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization whose statistics in training are those of all processes' batches.

    Where there is one process, and in evaluation, it is :class:`BatchNorm2d` and its kin.
    `process_group` is a group of :mod:`rushlight.distributed`; all processes by default.
    """

    def __init__(
        self,
        num_features,
        eps=1e-05,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        process_group: object = None,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input):
        """Normalize every channel of ``(N, C, ...)``; in training by all processes' batches."""
        distributed = later("distributed")
        by_batch = self.training or self.running_mean is None and self.running_var is None
        several = by_batch and distributed.is_initialized()
        if not several or distributed.get_world_size(self.process_group) == 1:
            return super().forward(input)
        self._check_input_dim(input)
        return self._normalized(input, self._next_momentum())

    def _normalized(self, input, momentum):
        reduced = later("distributed_functional").all_reduce
        dims = [0, *range(2, input.dim())]
        shape = [1, -1] + [1] * (input.dim() - 2)
        x = input.float() if input.dtype.itemsize < 4 else input
        count = x.new_tensor([x.numel() / x.shape[1]])
        sums = reduced(cat([x.sum(dims), count]), group=self.process_group)
        count, mean = sums[-1:], sums[:-1] / sums[-1:]
        centred = x - mean.view(shape)
        total = reduced((centred * centred).sum(dims), group=self.process_group)
        var = total / count
        if self.training and self.track_running_stats:
            self._follow(momentum, mean.detach(), total.detach() / (count.detach() - 1))
        out = centred * (var + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            out = out * self.weight.view(shape)
        if self.bias is not None:
            out = out + self.bias.view(shape)
        return out.to(input.dtype)

    def _follow(self, momentum, mean, var):
        """Let the running statistics follow those of a batch."""
        with no_grad():
            self.running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
            self.running_var.mul_(1 - momentum).add_(var, alpha=momentum)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """Replace every batch norm of a tree by a SyncBatchNorm with the same parameters."""
        out = module
        if isinstance(module, _BatchNorm):
            out = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name in ("weight", "bias"):
                if getattr(module, name) is not None:
                    setattr(out, name, getattr(module, name))
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(out, name, getattr(module, name))
            out.training = module.training
        for name, child in module.named_children():
            out.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return out
