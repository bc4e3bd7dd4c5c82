"""Weights divided by their largest singular value, before every forward: the hook form.

(Miyato et al., 2018.) ``nn.utils.parametrizations.spectral_norm`` is the newer form.
"""

from __future__ import annotations

from rushlight.autograd.mode import no_grad
from rushlight.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from rushlight.nn.functional import normalize
from rushlight.nn.module import Module


def rows_first(weight, dim):
    """The weight with dimension `dim` before the others."""
    return weight.permute(dim, *[d for d in range(weight.dim()) if d != dim]) if dim else weight


def as_matrix(weight, dim):
    """The weight as a matrix whose rows run along `dim`."""
    return rows_first(weight, dim).reshape(weight.shape[dim], -1)


class SpectralNorm:
    """The forward pre-hook: power iterations in training, then division."""

    _version = 1

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got n_power_iterations="
                f"{n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module, do_power_iteration):
        """The normalized weight; the singular vectors are updated in place."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()
        sigma = u.dot(matrix.mv(v))
        return weight / sigma

    def remove(self, module):
        """Put the normalized weight back as one parameter."""
        from rushlight.nn.parameter import Parameter

        with no_grad():
            weight = self.compute_weight(module, False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        """Before a forward: form the weight."""
        setattr(module, self.name, self.compute_weight(module, module.training))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Split a parameter and register the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with no_grad():
            rows, columns = as_matrix(weight, dim).shape
            u = normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
            v = normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
        del module._parameters[name]
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormStateDictHook:
    """Notes in the state dict's metadata that both singular vectors are saved.

    Args:
        fn: the :class:`SpectralNorm` of the module.
    """

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata):
        """After a state dict was made: note the version."""
        noted = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in noted:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        noted[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Completes state dicts of former versions, which hold the weight as it was divided and the
    left singular vector alone.

    Args:
        fn: the :class:`SpectralNorm` of the module.
    """

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, *rest):
        """Before a state dict is loaded: find the right singular vector if it has none."""
        fn = self.fn
        noted = local_metadata.get("spectral_norm", {})
        if noted.get(fn.name + ".version", 0) >= 1:
            return
        key = prefix + fn.name
        names = ("_orig", "", "_u")
        if key + "_v" in state_dict and all(key + suffix in state_dict for suffix in names[::2]):
            return  # saved by a module whose hook was registered by hand
        incomplete = [key + suffix for suffix in names if key + suffix not in state_dict]
        if incomplete:
            missing_keys += incomplete if strict else []
            return
        with no_grad():
            original, divided = state_dict[key + "_orig"], state_dict.pop(key)
            matrix, u = as_matrix(original, fn.dim), state_dict[key + "_u"]
            state_dict[key + "_v"] = _right_vector(matrix, u, (original / divided).mean())


def _right_vector(matrix, u, sigma):
    """The vector v of the row space with ``matrix @ v`` along `u` and ``u @ matrix @ v == sigma``:
    the least-squares solution, rescaled (Miyato et al.'s estimate of the singular value)."""
    v = matrix.t().mm(matrix).pinverse().mv(matrix.t().mv(u))
    return v * (sigma / u.dot(matrix.mv(v)))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None) -> Module:
    """Divide a parameter by its largest singular value before every forward."""
    if dim is None:
        transposed = isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
        dim = 1 if transposed else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module, name="weight") -> Module:
    """Undo :func:`spectral_norm`."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for key, hook in module._state_dict_hooks.items():
        if isinstance(hook, SpectralNormStateDictHook) and hook.fn.name == name:
            del module._state_dict_hooks[key]
            break
    for key, hook in module._load_state_dict_pre_hooks.items():
        held = getattr(hook, "hook", hook)
        if isinstance(held, SpectralNormLoadStateDictPreHook) and held.fn.name == name:
            del module._load_state_dict_pre_hooks[key]
            break
    return module
