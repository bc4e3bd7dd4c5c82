"""Initial values of parameters (public as ``nn.init``), with PyTorch's numbers for a seed."""

from __future__ import annotations

import functools
import math
import warnings

from rushlight.autograd.mode import no_grad
from rushlight.machine import np
from rushlight.ops.creation.tensors import empty_like, from_numpy
from rushlight.ops.elementwise.comparison import where
from rushlight.tensor.tensor import Tensor

_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0, "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0), "selu": 0.75,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain for an activation function, by name."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def uniform_(tensor, a=0.0, b=1.0, generator=None) -> Tensor:
    """Fill with uniform values from [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None) -> Tensor:
    """Fill with normal values."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None) -> Tensor:
    """Fill with normal values restricted to [a, b], by rejection.

    Where [a, b] holds over 30 % of the distribution, normal values outside are drawn again;
    otherwise uniform ones from [a, b] are kept with the probability of their relative density.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )
    if tensor.is_meta:
        return tensor
    share = [(1.0 + math.erf((edge - mean) / std / math.sqrt(2.0))) / 2.0 for edge in (a, b)]
    with no_grad():
        if share[1] - share[0] > 0.3:
            return _redraw_outside(tensor, mean, std, a, b, generator)
        return _accept_by_density(tensor, mean, std, a, b, generator)


def _redraw_outside(tensor, mean, std, a, b, generator):
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    tensor.normal_(mean, std, generator=generator)
    while bool((outside := (tensor < low) | (tensor > high)).any()):
        fresh = empty_like(tensor.detach()).normal_(mean, std, generator=generator)
        tensor.copy_(where(outside, fresh, tensor))
    return tensor


def _accept_by_density(tensor, mean, std, a, b, generator):
    top = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    pending = None
    while pending is None or bool(pending.any()):
        fresh = empty_like(tensor.detach()).uniform_(a, b, generator=generator)
        tensor.copy_(fresh if pending is None else where(pending, fresh, tensor))
        density = ((fresh - mean) / std) ** 2 * -0.5 - top
        refused = empty_like(fresh).uniform_(generator=generator).log() > density
        pending = refused if pending is None else pending & refused
    return tensor


def constant_(tensor, val: float) -> Tensor:
    """Fill with one value."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor) -> Tensor:
    """Fill with 1."""
    return constant_(tensor, 1.0)


def zeros_(tensor) -> Tensor:
    """Fill with 0."""
    return constant_(tensor, 0.0)


def eye_(tensor) -> Tensor:
    """The identity, for a matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(from_numpy(np.eye(*tensor.shape)))


def dirac_(tensor, groups=1) -> Tensor:
    """A convolution weight (3 to 5 dimensions) that passes its input channels through."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(tuple(tensor.shape))
    per_group = tensor.shape[0] // groups
    centre = tuple(n // 2 for n in tensor.shape[2:])
    through = np.arange(min(per_group, tensor.shape[1]))
    for g in range(groups):
        values[(g * per_group + through, through, *centre)] = 1
    with no_grad():
        return tensor.copy_(from_numpy(values))


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor, mode):
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode.lower() == "fan_in" else fan_out


def xavier_uniform_(tensor, gain=1.0, generator=None) -> Tensor:
    """Uniform values that keep variances through linear layers. (Glorot and Bengio, 2010.)"""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None) -> Tensor:
    """Normal values that keep variances through linear layers. (Glorot and Bengio, 2010.)"""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None
) -> Tensor:
    """Uniform values that keep variances through rectifiers. (He et al., 2015.)"""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None
) -> Tensor:
    """Normal values that keep variances through rectifiers. (He et al., 2015.)"""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor, gain=1, generator=None) -> Tensor:
    """A (semi-)orthogonal matrix, over the first dimension. (Saxe et al., 2013.)"""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows, cols = tensor.shape[0], tensor.numel() // tensor.shape[0]
    flat = tensor.new_empty(rows, cols).normal_(0, 1, generator=generator)
    array = flat.cpu()._array.T if rows < cols else flat.cpu()._array
    q, r = np.linalg.qr(array)
    q = q * np.sign(np.diag(r))
    q = q.T if rows < cols else q
    with no_grad():
        tensor.copy_(from_numpy(np.ascontiguousarray(q)).reshape(tuple(tensor.shape)))
        return tensor.mul_(gain)


def sparse_(tensor, sparsity: float, std=0.01, generator=None) -> Tensor:
    """A matrix of normal values with a share of zeros in every column. (Martens, 2010.)"""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    from rushlight.ops.random.sampling import randperm

    rows, cols = tensor.shape
    count = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(cols):
            tensor[randperm(rows)[:count], column] = 0
    return tensor


def _deprecated(function):
    """The name without underscore that PyTorch still has."""
    old = function.__name__[:-1]

    @functools.wraps(function)
    def call(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{function.__name__}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"The old name of :func:`{function.__name__}`."
    return call


uniform, normal, constant = map(_deprecated, (uniform_, normal_, constant_))
eye, dirac, sparse, orthogonal = map(_deprecated, (eye_, dirac_, sparse_, orthogonal_))
xavier_uniform, xavier_normal = map(_deprecated, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_deprecated, (kaiming_uniform_, kaiming_normal_))
