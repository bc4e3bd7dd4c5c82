"""Weights as a length and a direction, recomputed before every forward: the hook form.

(Salimans and Kingma, 2016.) ``nn.utils.parametrizations.weight_norm`` is the newer form.
"""

from __future__ import annotations

import warnings

from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.ops.reduction.sums_and_extremes import norm_except_dim


def weight_of(v, g, dim=0):
    """The weight with direction `v` and length `g`."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The forward pre-hook."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight from ``<name>_g`` and ``<name>_v``."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return weight_of(v, g, self.dim)

    @staticmethod
    def apply(module, name, dim):
        """Split a parameter and register the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two weight_norm hooks on the same parameter {name}"
                )
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        lengths = norm_except_dim(weight.detach(), 2, hook.dim)
        module.register_parameter(name + "_g", Parameter(lengths))
        module.register_parameter(name + "_v", Parameter(weight.detach().clone()))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module):
        """Put the weight back as one parameter."""
        weight = self.compute_weight(module).detach()
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module, inputs):
        """Before a forward: form the weight."""
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0) -> Module:
    """Replace a parameter by its lengths ``<name>_g`` and directions ``<name>_v`` along `dim`."""
    warnings.warn(
        "`nn.utils.weight_norm` is deprecated in favor of `nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight") -> Module:
    """Undo :func:`weight_norm`."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
