"""Dropout of elements and of channels, and random slopes, as core ATen graphs have it."""

from __future__ import annotations

import math

from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import scaled, shifted
from rushlight.library.operators import lookup

_ALPHA = 1.7580993408473766  # what SELU gives for minus infinity, times minus one


def _dropout(input, p, train):
    if not train or not p:
        return input.clone()
    return exact(lookup("aten").native_dropout.default, input, p, train)[0]


def _kept(input, p, channels):
    """One or zero for each element or channel: zero with probability `p`."""
    aten = lookup("aten")
    named = {"dtype": input.dtype, "device": input.device}
    if channels:
        shape = [*input.shape[:2], *[1] * (input.dim() - 2)]
        made = exact(aten.empty.memory_format, shape, **named)
    else:
        order = list(range(input.dim()))
        made = exact(aten.empty_permuted.default, list(input.shape), order, **named)
    return exact(aten.bernoulli.p, made, 1 - p)


def _is_plain(p, train):
    """Whether neither everything is kept nor nothing."""
    return train and 0 < p < 1


def _feature_dropout(input, p, train):
    if not _is_plain(p, train):
        return input.clone() if not train or not p else NotImplemented
    kept = _kept(input, p, True)
    return input * exact(lookup("aten").div.Scalar, kept, 1 - p)


def _of_alpha(channels):
    def run(input, p, train):
        if not _is_plain(p, train):
            return input.clone() if not train or not p else NotImplemented
        kept = _kept(input, p, channels)
        factor = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
        low = shifted(scaled(shifted(kept, -1), _ALPHA * factor), _ALPHA * factor * p)
        return input * scaled(kept, factor) + low

    return run


def _rrelu(self, lower=0.125, upper=1 / 3, training=False, generator=None):
    aten = lookup("aten")
    noise = exact(aten.empty.memory_format, [*self.shape], dtype=self.dtype, device=self.device)
    bounds = () if (lower, upper, training) == (0.125, 1 / 3, False) else (lower, upper)
    named = {} if generator is None else {"generator": generator}
    options = (*bounds, training) if training else bounds
    return exact(aten.rrelu_with_noise_functional.default, self, noise, *options, **named)[0]


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.dropout.default: _dropout,
        aten.feature_dropout.default: _feature_dropout,
        aten.alpha_dropout.default: _of_alpha(False),
        aten.feature_alpha_dropout.default: _of_alpha(True),
        aten.rrelu.default: _rrelu,
    }
