"""Distributions of the exponential family."""

from __future__ import annotations

from rushlight.autograd import grad
from rushlight.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A density ``exp(t(x) . theta - F(theta) + k(x))`` with natural parameters ``theta`` and log
    normaliser ``F``.

    The entropy is ``F(theta) - theta . F'(theta) - E[k(x)]``, with the derivative taken by
    automatic differentiation. (Nielsen and Nock, "Entropies and cross-entropies of exponential
    families", 2010.)
    """

    @property
    def _natural_params(self):
        raise NotImplementedError(f"{type(self).__name__} does not define _natural_params")

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError(f"{type(self).__name__} does not define _log_normalizer")

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError(f"{type(self).__name__} does not define _mean_carrier_measure")

    def entropy(self):
        """The entropy by the log normaliser and its derivative."""
        result = -self._mean_carrier_measure
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        normaliser = self._log_normalizer(*natural)
        slopes = grad(normaliser.sum(), natural, create_graph=True)
        result = result + normaliser
        for parameter, slope in zip(natural, slopes, strict=True):
            result = result - (parameter * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return result
