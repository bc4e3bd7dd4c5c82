# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight.distributions.constraint_registry import ConstraintRegistry
from rushlight.tensor.tensor import Tensor
from typing import Any

from rushlight.distributions.elementwise_transforms import AbsTransform as AbsTransform
from rushlight.distributions.elementwise_transforms import AffineTransform as AffineTransform
from rushlight.distributions.bernoulli import Bernoulli as Bernoulli
from rushlight.distributions.beta import Beta as Beta
from rushlight.distributions.binomial import Binomial as Binomial
from rushlight.distributions.vector_transforms import CatTransform as CatTransform
from rushlight.distributions.categorical import Categorical as Categorical
from rushlight.distributions.cauchy import Cauchy as Cauchy
from rushlight.distributions.chi2 import Chi2 as Chi2
from rushlight.distributions.transform import ComposeTransform as ComposeTransform
from rushlight.distributions.continuous_bernoulli import ContinuousBernoulli as ContinuousBernoulli
from rushlight.distributions.vector_transforms import CorrCholeskyTransform as CorrCholeskyTransform
from rushlight.distributions.elementwise_transforms import CumulativeDistributionTransform as CumulativeDistributionTransform
from rushlight.distributions.dirichlet import Dirichlet as Dirichlet
from rushlight.distributions.distribution import Distribution as Distribution
from rushlight.distributions.elementwise_transforms import ExpTransform as ExpTransform
from rushlight.distributions.exponential import Exponential as Exponential
from rushlight.distributions.exp_family import ExponentialFamily as ExponentialFamily
from rushlight.distributions.fishersnedecor import FisherSnedecor as FisherSnedecor
from rushlight.distributions.gamma import Gamma as Gamma
from rushlight.distributions.generalized_pareto import GeneralizedPareto as GeneralizedPareto
from rushlight.distributions.geometric import Geometric as Geometric
from rushlight.distributions.gumbel import Gumbel as Gumbel
from rushlight.distributions.half_cauchy import HalfCauchy as HalfCauchy
from rushlight.distributions.half_normal import HalfNormal as HalfNormal
from rushlight.distributions.independent import Independent as Independent
from rushlight.distributions.transform import IndependentTransform as IndependentTransform
from rushlight.distributions.inverse_gamma import InverseGamma as InverseGamma
from rushlight.distributions.kumaraswamy import Kumaraswamy as Kumaraswamy
from rushlight.distributions.lkj_cholesky import LKJCholesky as LKJCholesky
from rushlight.distributions.laplace import Laplace as Laplace
from rushlight.distributions.log_normal import LogNormal as LogNormal
from rushlight.distributions.logistic_normal import LogisticNormal as LogisticNormal
from rushlight.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal as LowRankMultivariateNormal
from rushlight.distributions.vector_transforms import LowerCholeskyTransform as LowerCholeskyTransform
from rushlight.distributions.mixture_same_family import MixtureSameFamily as MixtureSameFamily
from rushlight.distributions.multinomial import Multinomial as Multinomial
from rushlight.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
from rushlight.distributions.negative_binomial import NegativeBinomial as NegativeBinomial
from rushlight.distributions.normal import Normal as Normal
from rushlight.distributions.one_hot_categorical import OneHotCategorical as OneHotCategorical
from rushlight.distributions.one_hot_categorical import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from rushlight.distributions.pareto import Pareto as Pareto
from rushlight.distributions.poisson import Poisson as Poisson
from rushlight.distributions.vector_transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from rushlight.distributions.elementwise_transforms import PowerTransform as PowerTransform
from rushlight.distributions.relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from rushlight.distributions.relaxed_categorical import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from rushlight.distributions.transform import ReshapeTransform as ReshapeTransform
from rushlight.distributions.elementwise_transforms import SigmoidTransform as SigmoidTransform
from rushlight.distributions.vector_transforms import SoftmaxTransform as SoftmaxTransform
from rushlight.distributions.elementwise_transforms import SoftplusTransform as SoftplusTransform
from rushlight.distributions.vector_transforms import StackTransform as StackTransform
from rushlight.distributions.vector_transforms import StickBreakingTransform as StickBreakingTransform
from rushlight.distributions.studentT import StudentT as StudentT
from rushlight.distributions.elementwise_transforms import TanhTransform as TanhTransform
from rushlight.distributions.transform import Transform as Transform
from rushlight.distributions.transformed_distribution import TransformedDistribution as TransformedDistribution
from rushlight.distributions.uniform import Uniform as Uniform
from rushlight.distributions.von_mises import VonMises as VonMises
from rushlight.distributions.weibull import Weibull as Weibull
from rushlight.distributions.wishart import Wishart as Wishart
biject_to: ConstraintRegistry
identity_transform: ComposeTransform
def kl_divergence(p: Distribution, q: Distribution) -> Tensor: ...
def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[..., Any]: ...
transform_to: ConstraintRegistry
