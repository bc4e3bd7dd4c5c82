"""Modules around others that keep no activations, or keep them in memory of the CPU."""

from __future__ import annotations

from enum import Enum, auto
from functools import partial

from rushlight.autograd.graph import save_on_cpu
from rushlight.distributed.fsdp.wrap import lambda_auto_wrap_policy, wrap_inside
from rushlight.distributed.wrappers import CHECKPOINTED, Wrapper
from rushlight.utils.checkpoint import checkpoint

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper",
    "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

_CHECKPOINT_WRAPPED_MODULE = CHECKPOINTED
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(Enum):
    """Which way of :func:`rushlight.utils.checkpoint.checkpoint` is taken."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Wrapper):
    """A module around another whose names are those of the inner one."""

    _inner_name = CHECKPOINTED

    def __init__(self, module):
        super().__init__()
        self._checkpoint_wrapped_module = module

    def forward(self, *args, **kwargs):
        """What a subclass makes of the inner module's forward."""
        raise ValueError("Subclasses should implement this.")

    def named_parameters(self, *args, **kwargs):
        """Parameters by the names that they have without the wrapping."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """The inner module's state dict."""
        values = [*args, *(destination, prefix, keep_vars)[len(args) :]]
        destination, prefix, keep_vars = values
        return self._checkpoint_wrapped_module.state_dict(
            destination=destination, prefix=prefix, keep_vars=keep_vars
        )


class OffloadWrapper(ActivationWrapper):
    """A module whose activations are kept in memory of the CPU."""

    def forward(self, *args, **kwargs):
        """The inner module's forward."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module whose activations are computed again in backward."""

    def __init__(self, mod, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None,
                 **checkpoint_fn_kwargs):  # fmt: skip
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
            checkpoint_fn = partial(checkpoint, use_reentrant=reentrant)
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args, **kwargs):
        """The inner module's forward, without its activations."""
        inner = self._checkpoint_wrapped_module
        if self.checkpoint_impl is CheckpointImpl.REENTRANT and kwargs:
            names, count = list(kwargs), len(args)

            def call(*given):
                named = zip(names, given[count:], strict=True)
                return inner(*given[:count], **dict(named))

            return self.checkpoint_fn(call, *args, *kwargs.values())
        return self.checkpoint_fn(inner, *args, **kwargs)


def offload_wrapper(module) -> OffloadWrapper:
    """The module, with activations kept in memory of the CPU."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs
) -> CheckpointWrapper:
    """The module, with activations computed again in backward. Other arguments are given to
    `checkpoint_fn`, by default :func:`rushlight.utils.checkpoint.checkpoint`."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda _: True, auto_wrap_policy=None
) -> None:
    """Wrap the modules inside of a model that `check_fn`, or an `auto_wrap_policy` of
    :mod:`rushlight.distributed.fsdp.wrap`, chooses."""
    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    wrap_inside(model, policy, checkpoint_wrapper_fn, {}, set(), set())
