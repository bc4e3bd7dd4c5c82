"""Distributions."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import rushlight as torch
from rushlight import Tensor
from rushlight.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    Independent,
    MultivariateNormal,
    Normal,
    TransformedDistribution,
    kl_divergence,
)
from rushlight.distributions.transforms import AffineTransform, SigmoidTransform

normal = Normal(torch.zeros(2), torch.ones(2))
reveal_type(normal.rsample())  # note: "Tensor"
reveal_type(normal.rsample((3,)))  # note: "Tensor"
reveal_type(normal.sample(torch.Size([3])))  # note: "Tensor"
reveal_type(normal.log_prob(torch.zeros(2)))  # note: "Tensor"
reveal_type(normal.loc)  # note: "Tensor"
reveal_type(normal.mean)  # note: "Tensor"
reveal_type(normal.variance)  # note: "Tensor"
reveal_type(normal.stddev)  # note: "Tensor"
reveal_type(normal.batch_shape)  # note: "Size"
reveal_type(normal.event_shape)  # note: "Size"
reveal_type(normal.entropy())  # note: "Tensor"
reveal_type(normal.cdf(torch.zeros(2)))  # note: "Tensor"
reveal_type(normal.has_rsample)  # note: "bool"
reveal_type(normal.support)  # note: "Constraint"
reveal_type(normal.arg_constraints)  # note: "dict[str, Constraint]"
categorical = Categorical(logits=torch.randn(4, 3))
reveal_type(categorical.probs)  # note: "Tensor"
reveal_type(categorical.logits)  # note: "Tensor"
action: Tensor = categorical.sample()
reveal_type(kl_divergence(normal, Normal(0.0, 1.0)))  # note: "Tensor"
reveal_type(Independent(normal, 1))  # note: "Independent"
flow = TransformedDistribution(normal, [AffineTransform(0.0, 2.0), SigmoidTransform()])
reveal_type(flow.log_prob(torch.ones(2)))  # note: "Tensor"
reveal_type(MultivariateNormal(torch.zeros(2), torch.eye(2)).covariance_matrix)  # note: "Tensor"
reveal_type(Bernoulli(probs=torch.tensor(0.3)).sample((2,)))  # note: "Tensor"


def score(policy: Distribution, value: Tensor) -> Tensor:
    return -policy.log_prob(value).sum() - 0.01 * policy.entropy().mean()


reveal_type(score(normal, torch.zeros(2)))  # note: "Tensor"
