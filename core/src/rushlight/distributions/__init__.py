"""Probability distributions: samples, log densities, moments, entropies, divergences.

A distribution has a `batch_shape` of independent distributions and an `event_shape` of one sample;
``sample(shape)`` has the shape ``shape + batch_shape + event_shape``, ``log_prob(value)`` the shape
of the value without the event. ``rsample`` gives samples that are differentiable in the parameters,
where ``has_rsample``: by a formula of a fixed noise, or by implicit differentiation of the cdf
(Figurnov, Mohamed and Mnih, "Implicit Reparameterization Gradients", 2018).

>>> from rushlight.distributions import Normal
>>> Normal(rushlight.zeros(2), 1.0).log_prob(rushlight.zeros(2))
tensor([-0.9189, -0.9189])
"""

from __future__ import annotations

from rushlight.distributions import (
    constraints as constraints,
)
from rushlight.distributions import (
    transforms as transforms,
)
from rushlight.distributions.bernoulli import Bernoulli
from rushlight.distributions.beta import Beta
from rushlight.distributions.binomial import Binomial
from rushlight.distributions.categorical import Categorical
from rushlight.distributions.cauchy import Cauchy
from rushlight.distributions.chi2 import Chi2
from rushlight.distributions.constraint_registry import biject_to, transform_to
from rushlight.distributions.continuous_bernoulli import ContinuousBernoulli
from rushlight.distributions.dirichlet import Dirichlet
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.exponential import Exponential
from rushlight.distributions.fishersnedecor import FisherSnedecor
from rushlight.distributions.gamma import Gamma
from rushlight.distributions.generalized_pareto import GeneralizedPareto
from rushlight.distributions.geometric import Geometric
from rushlight.distributions.gumbel import Gumbel
from rushlight.distributions.half_cauchy import HalfCauchy
from rushlight.distributions.half_normal import HalfNormal
from rushlight.distributions.independent import Independent
from rushlight.distributions.inverse_gamma import InverseGamma
from rushlight.distributions.kl import kl_divergence, register_kl
from rushlight.distributions.kullback_leibler import (
    across_families as kl_across_families,
)
from rushlight.distributions.kullback_leibler import (
    multivariate as kl_multivariate,
)
from rushlight.distributions.kullback_leibler import (
    same_family as kl_same_family,
)
from rushlight.distributions.kumaraswamy import Kumaraswamy
from rushlight.distributions.laplace import Laplace
from rushlight.distributions.lkj_cholesky import LKJCholesky
from rushlight.distributions.log_normal import LogNormal
from rushlight.distributions.logistic_normal import LogisticNormal
from rushlight.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from rushlight.distributions.mixture_same_family import MixtureSameFamily
from rushlight.distributions.multinomial import Multinomial
from rushlight.distributions.multivariate_normal import MultivariateNormal
from rushlight.distributions.negative_binomial import NegativeBinomial
from rushlight.distributions.normal import Normal
from rushlight.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from rushlight.distributions.pareto import Pareto
from rushlight.distributions.poisson import Poisson
from rushlight.distributions.relaxed_bernoulli import RelaxedBernoulli
from rushlight.distributions.relaxed_categorical import RelaxedOneHotCategorical
from rushlight.distributions.studentT import StudentT
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from rushlight.distributions.uniform import Uniform
from rushlight.distributions.von_mises import VonMises
from rushlight.distributions.weibull import Weibull
from rushlight.distributions.wishart import Wishart

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]
del kl_across_families, kl_multivariate, kl_same_family
