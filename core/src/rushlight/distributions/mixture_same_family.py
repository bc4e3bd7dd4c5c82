"""Mixtures of distributions of one family."""

from __future__ import annotations

from rushlight import Size, log_softmax, logsumexp, no_grad
from rushlight.distributions import constraints
from rushlight.distributions.categorical import Categorical
from rushlight.distributions.constraints import MixtureSameFamilyConstraint
from rushlight.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """The mixture, with the weights of `mixture_distribution`, a :class:`Categorical`, of the
    distributions along the last batch dimension of `component_distribution`."""

    arg_constraints = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Distribution,
        component_distribution: Distribution,
        validate_args=None,
    ):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        _check_mixture(mixture_distribution, component_distribution)
        self._num_component = component_distribution.batch_shape[-1]
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(component_distribution.batch_shape[:-1], event, validate_args)

    def expand(self, batch_shape, _instance=None):
        """The same with a larger batch."""
        batch_shape = tuple(batch_shape)
        components = (*batch_shape, self._num_component)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(Size(components))
        new._mixture_distribution = self._mixture_distribution.expand(Size(batch_shape))
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        return self._finish_expanded(new, batch_shape, self._event_shape)

    @constraints.dependent_property
    def support(self):
        """The components' support, without their dimension."""
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The weights."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components."""
        return self._component_distribution

    def _weights(self):
        return self._pad_mixture_dimensions(self.mixture_distribution.probs)

    @property
    def mean(self):
        """The weighted mean."""
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self):
        """The mean of the variances and the variance of the means."""
        weights, dim = self._weights(), -1 - self._event_ndims
        within = (weights * self.component_distribution.variance).sum(dim)
        distance = self.component_distribution.mean - self._pad(self.mean)
        return within + (weights * distance.pow(2.0)).sum(dim)

    def cdf(self, x):
        """The weighted cdf, of components with one."""
        found = self.component_distribution.cdf(self._pad(x))
        return (found * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        """The log of the weighted sum of densities."""
        if self._validate_args:
            self._validate_sample(x)
        found = self.component_distribution.log_prob(self._pad(x))
        return logsumexp(found + log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=()):
        """Samples of all components, of which the weights' samples choose."""
        with no_grad():
            dim = len(tuple(sample_shape)) + len(self._batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            event = tuple(self._event_shape)
            index = chosen.reshape(tuple(chosen.shape) + (1,) * (len(event) + 1))
            index = index.expand((*chosen.shape, 1, *event))
            return samples.gather(dim, index).squeeze(dim)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x):
        more = len(self._batch_shape) - len(self.mixture_distribution.batch_shape)
        shape = tuple(x.shape)
        return x.reshape(shape[:-1] + (1,) * more + shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self):
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )


def _check_mixture(mixture, component):
    if not isinstance(mixture, Categorical):
        raise ValueError(
            "MixtureSameFamily: mixture_distribution must be a Categorical, got "
            f"{type(mixture).__name__}"
        )
    if not isinstance(component, Distribution):
        raise ValueError(
            "MixtureSameFamily: component_distribution must be a Distribution, got "
            f"{type(component).__name__}"
        )
    batches = zip(
        reversed(tuple(mixture.batch_shape)),
        reversed(tuple(component.batch_shape[:-1])),
        strict=False,
    )
    if any(1 not in pair and pair[0] != pair[1] for pair in batches):
        raise ValueError(
            f"MixtureSameFamily: mixture_distribution has batch_shape "
            f"{tuple(mixture.batch_shape)}, which does not fit component_distribution's "
            f"{tuple(component.batch_shape)} less its last"
        )
    weights, components = mixture.logits.shape[-1], component.batch_shape[-1]
    if weights != components:
        raise ValueError(
            f"MixtureSameFamily: {weights} weights in mixture_distribution for {components} "
            "components (batch_shape[-1] of component_distribution)"
        )
