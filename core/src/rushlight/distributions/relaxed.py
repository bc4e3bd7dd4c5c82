"""What relaxed distributions share: samples of an unbounded variable, squeezed."""

from __future__ import annotations

from rushlight.distributions.transformed_distribution import TransformedDistribution


class Relaxed(TransformedDistribution):
    """A transformed variable with the parameters of its base."""

    has_rsample = True

    @property
    def temperature(self):
        """The temperature: samples are near the corners where it is low."""
        return self.base_dist.temperature

    @property
    def logits(self):
        """The log probabilities of the corners, or the log odds of 1."""
        return self.base_dist.logits

    @property
    def probs(self):
        """The probabilities of the corners, or that of 1, at temperature 0."""
        return self.base_dist.probs
