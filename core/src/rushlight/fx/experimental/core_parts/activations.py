"""Activations of nn.functional, as core ATen graphs have them."""

from __future__ import annotations

from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import chosen, filled, widened
from rushlight.library.operators import lookup

_SELU = 1.6732632423543772, 1.0507009873554805  # of Klambauer et al., 2017


def log_sigmoid(self):
    """The logarithm of the sigmoid, for all numbers without overflow."""
    least = lookup("aten").minimum.default(filled(0, self), self)
    return least - (-self.abs()).exp().log1p()


@widened
def _celu(self, alpha=1.0):
    if alpha == 1:
        return chosen(self > 0, self, self.expm1())
    return chosen(self > 0, self, (self / alpha).expm1() * alpha)


def _selu(self):
    return exact(lookup("aten").elu.default, self, *_SELU)


@widened
def _softplus(self, beta=1, threshold=20):
    scaled = self if beta == 1 else self * beta
    curve = scaled.exp().log1p()
    return chosen(scaled > threshold, self, curve if beta == 1 else curve / beta)


@widened
def _mish(self):
    return self * _softplus(self).tanh()


def _between_zero_and_six(self):
    clamp = lookup("aten").clamp.default
    return clamp(clamp(self + 3, 0), None, 6)


@widened
def _hardswish(self):
    return self * _between_zero_and_six(self) / 6


@widened
def _hardsigmoid(self):
    return _between_zero_and_six(self) / 6


def _softshrink(self, lambd=0.5):
    # what is not finite stays so below the threshold
    return chosen(self.abs() > lambd, self - self.sign() * lambd, self * 0)


def _hardshrink(self, lambd=0.5):
    return chosen(self.abs() <= lambd, 0, self)


def _threshold(self, threshold, value):
    return chosen(self <= threshold, value, self)


@widened
def _glu(self, dim=-1):
    dim = dim % self.dim()
    half, odd = divmod(self.shape[dim], 2)
    if odd:
        return NotImplemented
    return self.narrow(dim, 0, half) * self.narrow(dim, half, half).sigmoid()


def _prelu(self, weight):
    if weight.dim() != self.dim():
        sizes = [weight.numel() if dim == 1 else 1 for dim in range(self.dim())]
        weight = weight.view(sizes if self.dim() > 1 else [1] * self.dim())
    return chosen(self > 0, self, weight * self)


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.log_sigmoid.default: log_sigmoid,
        aten.celu.default: _celu,
        aten.selu.default: _selu,
        aten.softplus.default: _softplus,
        aten.mish.default: _mish,
        aten.hardswish.default: _hardswish,
        aten.hardsigmoid.default: _hardsigmoid,
        aten.softshrink.default: _softshrink,
        aten.hardshrink.default: _hardshrink,
        aten.threshold.default: _threshold,
        aten.glu.default: _glu,
        aten.prelu.default: _prelu,
    }
