"""The Dirichlet distribution."""

from __future__ import annotations

from rushlight import digamma, lgamma, xlogy
from rushlight import where as choose
from rushlight.distributions import constraints
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.nn.functional import one_hot
from rushlight.ops.random.reparameterization import _sample_dirichlet
from rushlight.ops.random.sampling import for_examples

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Vectors on the simplex with density proportional to ``prod x_i**(concentration_i - 1)``."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _expandable = {"concentration": 1}

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("Dirichlet: `concentration` must have one dimension or more, got 0-d")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape=()):
        """Normalised gamma samples, with implicit gradients."""
        shape = self._extended_shape(sample_shape)
        return _sample_dirichlet(for_examples(self.concentration.expand(shape)))

    def log_prob(self, value):
        """The log density on the simplex."""
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return xlogy(a - 1.0, value).sum(-1) + lgamma(a.sum(-1)) - lgamma(a).sum(-1)

    @property
    def mean(self):
        """``concentration / total``."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        """``(concentration - 1) / (total - n)``; where all concentrations are under 1 the corner
        of the largest."""
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        peak = one_hot(self.concentration.argmax(dim=-1), self.concentration.shape[-1]).to(mode)
        return choose(corner.unsqueeze(-1), peak, mode)

    @property
    def variance(self):
        """``a (t - a) / (t**2 (t + 1))`` with t the total."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self):
        """The entropy on the simplex."""
        a = self.concentration
        size, total = a.size(-1), a.sum(-1)
        parts = lgamma(a).sum(-1) - lgamma(total) - (size - total) * digamma(total)
        return parts - ((a - 1.0) * digamma(a)).sum(-1)

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - lgamma(x.sum(-1))
