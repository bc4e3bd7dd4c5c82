"""One or more instances of every distribution, made by either library."""

from __future__ import annotations

_MATRIX = [[2.0, 0.5], [0.5, 1.0]]
_FACTOR = [[1.2, 0.0], [0.4, 0.8]]

# name -> function of (D, T): the library's distributions and its float64 tensor constructor
FAMILIES = {
    "bernoulli_probs": lambda D, T: D.Bernoulli(T([0.2, 0.5, 0.9])),
    "bernoulli_logits": lambda D, T: D.Bernoulli(logits=T([-1.0, 0.5, 3.0])),
    "beta": lambda D, T: D.Beta(T([0.5, 2.0, 1.0]), T([1.5, 0.7, 1.0])),
    "binomial": lambda D, T: D.Binomial(5, T([0.2, 0.5, 0.9])),
    "binomial_logits": lambda D, T: D.Binomial(4, logits=T([-1.0, 0.5, 3.0])),
    "categorical": lambda D, T: D.Categorical(T([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])),
    "categorical_logits": lambda D, T: D.Categorical(logits=T([0.2, 1.3, -0.5])),
    "cauchy": lambda D, T: D.Cauchy(T([0.0, 1.0]), T([1.0, 2.0])),
    "chi2": lambda D, T: D.Chi2(T([0.7, 3.0])),
    "continuous_bernoulli": lambda D, T: D.ContinuousBernoulli(T([0.2, 0.4999, 0.5, 0.8])),
    "continuous_bernoulli_logits": lambda D, T: D.ContinuousBernoulli(logits=T([-1.0, 2.0])),
    "dirichlet": lambda D, T: D.Dirichlet(T([[0.5, 1.5, 2.5], [3.0, 2.0, 1.2]])),
    "exponential": lambda D, T: D.Exponential(T([0.5, 2.0])),
    "fisher_snedecor": lambda D, T: D.FisherSnedecor(T([1.5, 6.0]), T([4.5, 3.0])),
    "gamma": lambda D, T: D.Gamma(T([0.5, 2.5]), T([1.5, 0.7])),
    "geometric": lambda D, T: D.Geometric(T([0.2, 0.7])),
    "geometric_logits": lambda D, T: D.Geometric(logits=T([-1.0, 0.7])),
    "gumbel": lambda D, T: D.Gumbel(T([0.0, 1.0]), T([1.0, 2.0])),
    "half_cauchy": lambda D, T: D.HalfCauchy(T([0.5, 2.0])),
    "half_normal": lambda D, T: D.HalfNormal(T([0.5, 2.0])),
    "independent": lambda D, T: D.Independent(D.Normal(T([[0.0, 1.0]] * 3), T([1.0, 2.0])), 1),
    "inverse_gamma": lambda D, T: D.InverseGamma(T([0.5, 1.5, 3.5]), T([1.5, 0.7, 1.0])),
    "kumaraswamy": lambda D, T: D.Kumaraswamy(T([0.5, 2.0]), T([1.5, 0.7])),
    "laplace": lambda D, T: D.Laplace(T([0.0, 1.0]), T([1.0, 2.0])),
    "lkj_cholesky": lambda D, T: D.LKJCholesky(3, T([0.5, 1.0, 2.5])),
    "log_normal": lambda D, T: D.LogNormal(T([0.0, 0.3]), T([1.0, 0.5])),
    "logistic_normal": lambda D, T: D.LogisticNormal(T([0.0, 0.5]), T([1.0, 0.6])),
    "low_rank_normal": lambda D, T: D.LowRankMultivariateNormal(
        T([[0.0, 1.0, 2.0]] * 2), T([[1.0], [0.5], [-0.3]]), T([0.5, 1.0, 2.0])
    ),
    "mixture": lambda D, T: D.MixtureSameFamily(
        D.Categorical(T([[0.3, 0.7], [0.5, 0.5]])),
        D.Normal(T([[0.0, 3.0], [1.0, 2.0]]), T([1.0, 0.5])),
    ),
    "mixture_of_vectors": lambda D, T: D.MixtureSameFamily(
        D.Categorical(T([0.3, 0.7])),
        D.Independent(D.Normal(T([[0.0, 3.0, 1.0], [1.0, 2.0, 0.0]]), 1.0), 1),
    ),
    "multinomial": lambda D, T: D.Multinomial(4, T([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])),
    "normal_covariance": lambda D, T: D.MultivariateNormal(T([[0.0, 1.0]] * 3), T(_MATRIX)),
    "normal_precision": lambda D, T: D.MultivariateNormal(
        T([0.0, 1.0]), precision_matrix=T(_MATRIX)
    ),
    "normal_scale_tril": lambda D, T: D.MultivariateNormal(T([0.0, 1.0]), scale_tril=T(_FACTOR)),
    "normal_batch": lambda D, T: D.MultivariateNormal(T([0.0, 1.0]), T([_MATRIX, _MATRIX])),
    "negative_binomial": lambda D, T: D.NegativeBinomial(T([2.0, 5.5]), T([0.3, 0.6])),
    "negative_binomial_logits": lambda D, T: D.NegativeBinomial(3, logits=T([-1.0, 0.4])),
    "normal": lambda D, T: D.Normal(T([0.0, 1.0]), T([1.0, 2.0])),
    "one_hot": lambda D, T: D.OneHotCategorical(T([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])),
    "one_hot_straight": lambda D, T: D.OneHotCategoricalStraightThrough(logits=T([0.2, 0.3, 1.5])),
    "pareto": lambda D, T: D.Pareto(T([1.0, 2.0]), T([1.5, 3.0])),
    "poisson": lambda D, T: D.Poisson(T([0.5, 4.0, 30.0])),
    "relaxed_bernoulli": lambda D, T: D.RelaxedBernoulli(T(0.7), T([0.2, 0.6])),
    "relaxed_one_hot": lambda D, T: D.RelaxedOneHotCategorical(T(0.7), T([0.2, 0.5, 0.3])),
    "student_t": lambda D, T: D.StudentT(T([0.8, 1.5, 4.0]), 0.5, T([1.0, 2.0, 1.0])),
    "transformed": lambda D, T: D.TransformedDistribution(
        D.Normal(T([0.0, 1.0]), 1.0), [D.AffineTransform(1.0, -2.0), D.SigmoidTransform()]
    ),
    "transformed_vector": lambda D, T: D.TransformedDistribution(
        D.Normal(T([[0.0, 1.0]] * 3), 1.0), D.StickBreakingTransform()
    ),
    "uniform": lambda D, T: D.Uniform(T([0.0, -1.0]), T([1.0, 3.0])),
    "von_mises": lambda D, T: D.VonMises(T([0.0, 1.0, 2.0]), T([0.1, 3.0, 60.0])),
    "weibull": lambda D, T: D.Weibull(T([1.0, 2.0]), T([1.5, 0.8])),
    "wishart": lambda D, T: D.Wishart(T([3.0, 4.5]), T(_MATRIX)),
    "wishart_precision": lambda D, T: D.Wishart(T(3.5), precision_matrix=T(_MATRIX)),
    "wishart_scale_tril": lambda D, T: D.Wishart(T(3.5), scale_tril=T(_FACTOR)),
    "generalized_pareto": lambda D, T: D.GeneralizedPareto(
        T([0.0, 1.0, 0.5]), T([1.0, 2.0, 1.0]), T([0.2, -0.3, 0.7])
    ),
}

# PyTorch computes the generalised Pareto distribution in float32 only.
SINGLE = {"generalized_pareto"}
