"""What programs rely on: checks and their errors, subclasses, lazy attributes, typical uses."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import rushlight
from rushlight import distributions as D
from rushlight.distributions import constraints
from rushlight.distributions import utils as our_utils

torch = pytest.importorskip("torch")
from torch import distributions as theirs  # noqa: E402
from torch.distributions import utils as their_utils  # noqa: E402

T = rushlight.tensor

BAD = {
    "scale": lambda D, lib: D.Normal(0.0, -1.0),
    "value_shape": lambda D, lib: D.Normal(lib.zeros(2), 1.0).log_prob(lib.zeros(3)),
    "value_event": lambda D, lib: D.Dirichlet(lib.ones(2)).log_prob(lib.ones(3) / 3),
    "value_type": lambda D, lib: D.Normal(0.0, 1.0).log_prob(1.0),
    "value_type_folded": lambda D, lib: D.HalfCauchy(1.0).log_prob(1.0),
    "value_nan": lambda D, lib: D.Normal(0.0, 1.0).log_prob(lib.tensor(float("nan"))),
    "value_support": lambda D, lib: D.Exponential(1.0).log_prob(lib.tensor(-1.0)),
    "neither": lambda D, lib: D.Bernoulli(),
    "both": lambda D, lib: D.Bernoulli(0.5, 0.5),
    "categorical_0d": lambda D, lib: D.Categorical(lib.tensor(0.5)),
    "categorical_negative": lambda D, lib: D.Categorical(lib.tensor([0.5, -0.2])),
    "categorical_value": lambda D, lib: D.Categorical(lib.ones(2)).log_prob(lib.tensor(3)),
    "no_matrix": lambda D, lib: D.MultivariateNormal(lib.zeros(2)),
    "two_matrices": lambda D, lib: D.MultivariateNormal(lib.zeros(2), lib.eye(2), lib.eye(2)),
    "loc_0d": lambda D, lib: D.MultivariateNormal(lib.tensor(1.0), lib.eye(2)),
    "matrix_1d": lambda D, lib: D.MultivariateNormal(lib.zeros(2), lib.zeros(2)),
    "not_definite": lambda D, lib: D.MultivariateNormal(lib.zeros(2), -lib.eye(2)),
    "not_symmetric": lambda D, lib: D.MultivariateNormal(
        lib.zeros(2), lib.tensor([[1.0, 0.5], [0.0, 1.0]])
    ),
    "factor_1d": lambda D, lib: D.LowRankMultivariateNormal(
        lib.zeros(2), lib.zeros(2), lib.ones(2)
    ),
    "factor_rows": lambda D, lib: D.LowRankMultivariateNormal(
        lib.zeros(2), lib.zeros(3, 1), lib.ones(2)
    ),
    "diagonal": lambda D, lib: D.LowRankMultivariateNormal(
        lib.zeros(2), lib.zeros(2, 1), lib.ones(3)
    ),
    "low_rank_batches": lambda D, lib: D.LowRankMultivariateNormal(
        lib.zeros(3, 2), lib.zeros(2, 2, 1), lib.ones(2)
    ),
    "uniform": lambda D, lib: D.Uniform(2.0, 1.0),
    "independent": lambda D, lib: D.Independent(D.Normal(lib.zeros(2), 1.0), 2),
    "mixture": lambda D, lib: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)),
    "components": lambda D, lib: D.MixtureSameFamily(D.Categorical(lib.ones(2)), 3),
    "component_count": lambda D, lib: D.MixtureSameFamily(
        D.Categorical(lib.ones(3)), D.Normal(lib.zeros(2), 1.0)
    ),
    "component_batch": lambda D, lib: D.MixtureSameFamily(
        D.Categorical(lib.ones(2, 3)), D.Normal(lib.zeros(4, 3), 1.0)
    ),
    "multinomial_count": lambda D, lib: D.Multinomial(lib.tensor(3), lib.ones(2)),
    "binomial_counts": lambda D, lib: D.Binomial(
        lib.tensor([2, 3]), lib.tensor([0.5, 0.5])
    ).enumerate_support(),
    "wishart_df": lambda D, lib: D.Wishart(lib.tensor(0.5), lib.eye(2)),
    "wishart_matrix": lambda D, lib: D.Wishart(lib.tensor(3.0)),
    "wishart_1d": lambda D, lib: D.Wishart(lib.tensor(3.0), lib.ones(2)),
    "lkj": lambda D, lib: D.LKJCholesky(1),
    "geometric": lambda D, lib: D.Geometric(0.0),
    "dirichlet_0d": lambda D, lib: D.Dirichlet(lib.tensor(1.0)),
    "enumerate": lambda D, lib: D.Normal(0.0, 1.0).enumerate_support(),
    "rsample": lambda D, lib: D.Bernoulli(0.5).rsample(),
    "icdf": lambda D, lib: D.Gamma(1.0, 1.0).icdf(lib.tensor(0.5)),
    "transforms": lambda D, lib: D.TransformedDistribution(D.Normal(0.0, 1.0), 3),
    "transform_list": lambda D, lib: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]),
    "transform_shape": lambda D, lib: D.TransformedDistribution(
        D.Normal(0.0, 1.0), D.StickBreakingTransform()
    ),
    "parameter_type": lambda D, lib: D.Normal("a", 1.0),
    "default_checks": lambda D, lib: D.Distribution.set_default_validate_args(3),
    "abstract": lambda D, lib: D.Distribution(validate_args=False).support,
}


def error_of(name, D, lib):
    """The error that a call raises."""
    try:
        BAD[name](D, lib)
    except (ValueError, TypeError, AssertionError, NotImplementedError) as error:
        return error
    return None


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    """PyTorch's type of error, and a text."""
    expected, found = error_of(name, theirs, torch), error_of(name, D, rushlight)
    assert expected is not None
    assert type(found) is type(expected)
    assert len(str(found)) > 10


def test_checks_can_be_turned_off():
    d = D.Normal(0.0, -1.0, validate_args=False)
    assert d.scale.item() == -1
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Exponential(-1.0).rate.item() == -1
    finally:
        D.Distribution.set_default_validate_args(True)
    assert D.Normal(0.0, 1.0, validate_args=False).expand((2,))._validate_args is False


@pytest.mark.parametrize("name", [n for n in theirs.__all__ if inspect.isclass(getattr(theirs, n))])
def test_signature(name):
    ours = inspect.signature(getattr(D, name).__init__).parameters
    expected = inspect.signature(getattr(theirs, name).__init__).parameters
    assert list(ours) == list(expected)
    for key, parameter in expected.items():
        default = parameter.default
        mine = ours[key].default
        assert tuple(mine) == tuple(default) if isinstance(default, tuple) else mine == default


def test_subclasses():
    class Shifted(D.Normal):
        def __init__(self, loc, scale, shift):
            self.shift = shift
            super().__init__(loc + shift, scale)

    class Named(D.Normal):
        pass

    with pytest.raises(NotImplementedError, match=r"expand\(\) of its own"):
        Shifted(0.0, 1.0, 2.0).expand((3,))
    assert type(Named(0.0, 1.0).expand((3,))) is Named


def test_a_distribution_of_ones_own():
    class Triangular(D.Distribution):
        arg_constraints = {"width": constraints.positive}

        def __init__(self, width, validate_args=None):
            (self.width,) = our_utils.broadcast_all(width)
            super().__init__(self.width.shape, validate_args=validate_args)

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return constraints.interval(0.0, self.width)

        def log_prob(self, value):
            if self._validate_args:
                self._validate_sample(value)
            return (2 * value / self.width**2).log()

    d = Triangular(T([1.0, 2.0]))
    np.testing.assert_allclose(d.log_prob(T([0.5, 1.0])).exp().numpy(), [1.0, 0.5])
    with pytest.raises(ValueError, match="within the support"):
        d.log_prob(T([1.5, 1.0]))
    with pytest.raises(ValueError, match="parameter width"):
        Triangular(-1.0)
    with pytest.raises(NotImplementedError, match="expand"):
        d.expand((2, 2))

    class Silent(D.Distribution):
        pass

    with pytest.warns(UserWarning, match="arg_constraints"):
        Silent()


def test_lazy_properties():
    d = D.Bernoulli(T([0.2, 0.7]))
    assert "logits" not in d.__dict__
    assert d.logits is d.logits
    assert "logits" in d.__dict__
    assert isinstance(D.Bernoulli.logits, property)
    d = D.Bernoulli(T([0.2, 0.7]).requires_grad_())
    with rushlight.no_grad():
        assert d.logits.requires_grad


def test_triangular_vectors():
    x = np.random.default_rng(0).normal(size=(2, 4, 4))
    for diag in (-2, -1, 0, 1):
        ours, expected = (
            u.tril_matrix_to_vec(lib.tensor(x), diag)
            for u, lib in ((our_utils, rushlight), (their_utils, torch))
        )
        np.testing.assert_array_equal(ours.numpy(), expected.numpy())
        back = our_utils.vec_to_tril_matrix(ours, diag)
        np.testing.assert_array_equal(
            back.numpy(), their_utils.vec_to_tril_matrix(expected, diag).numpy()
        )
    with pytest.raises(ValueError, match="lower triangle"):
        our_utils.vec_to_tril_matrix(rushlight.zeros(4))
    with pytest.raises(ValueError, match="outside"):
        our_utils.tril_matrix_to_vec(rushlight.zeros(2, 2), 2)


def test_dtypes_of_numbers():
    assert D.Normal(0, 1).loc.dtype is rushlight.float32
    assert D.Normal(T(0.0, dtype=rushlight.float64), 1).scale.dtype is rushlight.float64
    assert D.Normal(0.0, 1.0).sample((2,)).dtype is rushlight.float32


@pytest.mark.parametrize("concentration", [[0.3, 0.4], [0.0, 0.6], [0.3, -0.4]])
def test_support_of_the_generalised_pareto(concentration):
    ours = D.GeneralizedPareto(0.0, 1.0, T(concentration))
    reference = theirs.GeneralizedPareto(0.0, 1.0, torch.tensor(concentration))
    assert type(ours.support).__name__ == type(reference.support).__name__
    for value in (-1.0, 0.0, 1.0, 3.0):
        found = ours.support.check(T(value)).tolist()
        assert found == reference.support.check(torch.tensor(value)).tolist()


def test_below_its_support_the_generalised_pareto_has_no_cdf():
    ours = D.GeneralizedPareto(0.0, 1.0, T([0.3, 0.0, -0.4]), validate_args=False)
    assert all(np.isnan(ours.cdf(T(-1.0)).tolist()))
    assert not any(np.isnan(ours.cdf(T(0.0)).tolist()))


def test_sample_n_is_deprecated():
    with pytest.warns(FutureWarning, match="sample_n"):
        assert tuple(D.Normal(0.0, 1.0).sample_n(3).shape) == (3,)


def test_import_is_late():
    code = (
        "import sys, rushlight; assert not any('distributions' in m for m in sys.modules);"
        "rushlight.distributions.Normal(0., 1.); from rushlight.distributions.normal import Normal;"
        "from rushlight.distributions.studentT import StudentT"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_distribution_serves_several_backward_passes():
    loc = rushlight.zeros(3, requires_grad=True)
    scale = rushlight.ones(3, requires_grad=True)
    for make in (D.Normal, D.Gumbel, D.Laplace, D.StudentT):
        first = scale if make is D.StudentT else loc
        d = make(first, scale)
        for _ in range(2):
            (-d.log_prob(rushlight.ones(3))).sum().backward()
            d.rsample().sum().backward()
    assert bool(loc.grad.isfinite().all())


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_half_width_dtypes(kind):
    dtype = getattr(rushlight, kind)
    for make in (
        lambda v: D.Gamma(v, v),
        lambda v: D.Beta(v, v),
        D.Dirichlet,
        lambda v: D.Normal(v, v),
        D.Exponential,
        lambda v: D.Laplace(v, v),
    ):
        parameter = rushlight.full((3,), 1.5, dtype=dtype, requires_grad=True)
        sample = make(parameter).rsample()
        sample.sum().backward()
        assert sample.dtype is dtype
        assert parameter.grad.dtype is dtype
        assert bool(parameter.grad.isfinite().all())


def test_copies():
    for d in (
        D.Gumbel(0.0, 1.0),
        D.LogNormal(0.0, 1.0),
        D.Categorical(rushlight.ones(3)),
        D.MultivariateNormal(rushlight.zeros(2), rushlight.eye(2)),
    ):
        value = d.sample()
        for other in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
            assert other.log_prob(value).item() == d.log_prob(value).item()


def both(program):
    """The numbers of a program in both libraries."""
    found = []
    for lib, distributions in ((rushlight, D), (torch, theirs)):
        lib.manual_seed(0)
        found.append(np.asarray(program(lib, distributions)))
    return found


def test_variational_autoencoder_step():
    def program(lib, dist):
        encoder, decoder = lib.nn.Linear(6, 4), lib.nn.Linear(2, 6)
        x = lib.rand(5, 6).round()
        mean, log_scale = encoder(x).chunk(2, -1)
        q = dist.Independent(dist.Normal(mean, log_scale.exp()), 1)
        p = dist.Independent(dist.Normal(lib.zeros(2), lib.ones(2)), 1)
        likelihood = dist.Independent(dist.Bernoulli(logits=decoder(q.rsample())), 1)
        loss = (dist.kl_divergence(q, p) - likelihood.log_prob(x)).mean()
        loss.backward()
        return [loss.item(), *encoder.weight.grad.numpy().ravel()]

    np.testing.assert_allclose(*both(program), rtol=1e-5, atol=1e-6)


def test_policy_gradients():
    def program(lib, dist):
        actor = lib.nn.Linear(3, 4)
        state = lib.randn(6, 3)
        policy = dist.Categorical(logits=actor(state))
        action = policy.sample()
        loss = -(policy.log_prob(action) * lib.arange(6.0)).mean() - policy.entropy().mean()
        loss.backward()
        return [loss.item(), *action.numpy(), *actor.weight.grad.numpy().ravel()]

    np.testing.assert_allclose(*both(program), rtol=1e-5, atol=1e-6)


def test_clipped_policy_ratio():
    def program(lib, dist):
        actor, log_std = lib.nn.Linear(3, 2), lib.nn.Parameter(lib.zeros(2))
        state = lib.randn(6, 3)
        with lib.no_grad():
            old = dist.Independent(dist.Normal(actor(state) + 0.1, log_std.exp()), 1)
            action = old.sample()
            before = old.log_prob(action)
        policy = dist.Independent(dist.Normal(actor(state), log_std.exp()), 1)
        ratio = (policy.log_prob(action) - before).exp()
        loss = -lib.min(ratio, ratio.clamp(0.8, 1.2)).mean() - 0.01 * policy.entropy().mean()
        loss.backward()
        return [loss.item(), *log_std.grad.numpy(), *actor.weight.grad.numpy().ravel()]

    np.testing.assert_allclose(*both(program), rtol=1e-5, atol=1e-6)


def test_normalising_flow():
    def program(lib, dist):
        scale, shift = lib.nn.Parameter(lib.ones(2)), lib.nn.Parameter(lib.zeros(2))
        base = dist.Independent(dist.Normal(lib.zeros(2), lib.ones(2)), 1)
        flow = dist.TransformedDistribution(
            base, [dist.AffineTransform(shift, scale, event_dim=1), dist.TanhTransform(1)]
        )
        x = lib.rand(8, 2) - 0.5
        loss = -flow.log_prob(x).mean()
        loss.backward()
        return [loss.item(), *scale.grad.numpy(), *shift.grad.numpy(), *flow.sample((2,)).ravel()]

    np.testing.assert_allclose(*both(program), rtol=1e-5, atol=1e-6)


def test_inverse_distributions_of_folded_families_name_their_argument():
    for family in (rushlight.distributions.HalfNormal, rushlight.distributions.HalfCauchy):
        middle = family(rushlight.tensor(2.0)).icdf(prob=rushlight.tensor(0.5))
        assert middle > 0
