"""Transforms against PyTorch and against automatic differentiation; caches; shapes; registries."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import rushlight
from rushlight import distributions as ours
from rushlight.distributions import constraints, transforms

torch = pytest.importorskip("torch")
from torch import distributions as theirs  # noqa: E402

# name -> (function of (D, T), shape of x, whether x must be positive)
TRANSFORMS = {
    "abs": (lambda D, T: D.AbsTransform(), (4,), False),
    "affine": (lambda D, T: D.AffineTransform(1.0, -2.0), (4,), False),
    "affine_tensors": (lambda D, T: D.AffineTransform(T([1.0, 2.0]), T([3.0, -1.0])), (4, 2), 0),
    "affine_event": (lambda D, T: D.AffineTransform(T([1.0, 2.0]), T([3.0, 2.0]), 1), (4, 2), 0),
    "cat": (
        lambda D, T: D.CatTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)], 0, [1, 3]),
        (4, 2),
        False,
    ),
    "cat_last": (
        lambda D, T: D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [2, 1]),
        (4, 3),
        False,
    ),
    "compose": (
        lambda D, T: D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.SigmoidTransform()]),
        (4,),
        False,
    ),
    "compose_vectors": (
        lambda D, T: D.ComposeTransform([D.TanhTransform(), D.StickBreakingTransform()]),
        (5, 3),
        False,
    ),
    "corr_cholesky": (lambda D, T: D.CorrCholeskyTransform(), (5, 6), False),
    "cumulative": (
        lambda D, T: D.CumulativeDistributionTransform(D.Normal(T(0.5), T(2.0))),
        (4,),
        False,
    ),
    "exp": (lambda D, T: D.ExpTransform(), (4,), False),
    "exp_inverse": (lambda D, T: D.ExpTransform().inv, (4,), True),
    "identity": (lambda D, T: D.identity_transform, (4,), False),
    "independent": (lambda D, T: D.IndependentTransform(D.ExpTransform(), 1), (4, 2), False),
    "lower_cholesky": (lambda D, T: D.LowerCholeskyTransform(), (3, 2, 2), False),
    "positive_definite": (lambda D, T: D.PositiveDefiniteTransform(), (3, 2, 2), False),
    "power": (lambda D, T: D.PowerTransform(T(2.5)), (4,), True),
    "power_negative": (lambda D, T: D.PowerTransform(T([-1.0, 0.5])), (4, 2), True),
    "reshape": (lambda D, T: D.ReshapeTransform((2, 3), (6,)), (4, 2, 3), False),
    "sigmoid": (lambda D, T: D.SigmoidTransform(), (4,), False),
    "softmax": (lambda D, T: D.SoftmaxTransform(), (4, 3), False),
    "softplus": (lambda D, T: D.SoftplusTransform(), (4,), False),
    "stack": (
        lambda D, T: D.StackTransform([D.ExpTransform(), D.TanhTransform()], -1),
        (4, 2),
        False,
    ),
    "stick_breaking": (lambda D, T: D.StickBreakingTransform(), (5, 3), False),
    "tanh": (lambda D, T: D.TanhTransform(), (4,), False),
}


def pair(name):
    make, shape, positive = TRANSFORMS[name]
    x = np.random.default_rng(0).normal(size=shape)
    x = np.exp(x) if positive else x
    a = make(ours, lambda v: rushlight.tensor(v, dtype=rushlight.float64))
    b = make(theirs, lambda v: torch.tensor(v, dtype=torch.float64))
    return a, b, rushlight.tensor(x), torch.tensor(x)


def attempt(function):
    try:
        return function()
    except NotImplementedError:
        return NotImplementedError


def agree(a, b):
    if b is NotImplementedError:
        assert a is NotImplementedError
    else:
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_agrees_with_pytorch(name):
    a, b, x, their_x = pair(name)
    y, their_y = a(x), b(their_x)
    agree(y, their_y)
    agree(attempt(lambda: a.inv(y)), attempt(lambda: b.inv(their_y)))
    agree(
        attempt(lambda: a.log_abs_det_jacobian(x, y)),
        attempt(lambda: b.log_abs_det_jacobian(their_x, their_y)),
    )
    assert tuple(a.forward_shape(x.shape)) == tuple(b.forward_shape(their_x.shape))
    assert tuple(a.forward_shape(x.shape)) == tuple(y.shape)
    assert tuple(a.inverse_shape(y.shape)) == tuple(x.shape)
    assert a.bijective == b.bijective
    assert repr(a) == repr(b)
    assert a.domain.event_dim == b.domain.event_dim
    assert a.codomain.event_dim == b.codomain.event_dim
    assert bool(a.codomain.check(y).all())
    sign = attempt(lambda: a.sign)
    their_sign = attempt(lambda: b.sign)
    assert np.array_equal(np.asarray(sign), np.asarray(their_sign))


ONE_EVENT = [
    name
    for name in TRANSFORMS
    if pair(name)[0].bijective
    and name not in ("affine_tensors", "power_negative", "cat", "cat_last", "stack")
]


@pytest.mark.parametrize("name", ONE_EVENT)
def test_determinant_is_that_of_the_jacobian(name):
    a, _, x, _ = pair(name)
    event = a.domain.event_dim
    x = x[(0,) * (x.dim() - event)] if event else x.reshape(-1)[:1]
    y = a(x)
    jacobian = rushlight.autograd.functional.jacobian(a, x)
    matrix = jacobian.reshape(y.numel(), x.numel())
    if name in ("stick_breaking", "compose_vectors"):
        matrix = matrix[:-1]  # the last share follows from the others
    if name == "corr_cholesky":
        rows, columns = np.tril_indices(4, -1)
        matrix = matrix[rows * 4 + columns]
    expected = rushlight.linalg.slogdet(matrix).logabsdet
    found = a.log_abs_det_jacobian(x, y)
    assert found.sum().item() == pytest.approx(expected.item(), abs=1e-9)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_cache(name):
    a, _, x, _ = pair(name)
    if name == "identity":
        assert a.with_cache(1)(x) is x
        return
    cached = a.with_cache(1)
    assert cached._cache_size == 1
    assert cached.with_cache(1) is cached
    y = cached(x)
    assert cached(x) is y
    assert cached.inv(y) is x
    plain = cached.with_cache(0)
    if not name.startswith("compose"):  # its parts keep theirs
        assert plain(x) is not plain(x)


def test_inverse_is_kept_weakly():
    transform = ours.ExpTransform()
    inverse = transform.inv
    assert transform.inv is inverse
    assert inverse.inv is transform
    del inverse
    gc.collect()
    assert transform._inv() is None


def test_equality_and_copies():
    affine = ours.AffineTransform(0.0, 1.0)
    assert affine == ours.AffineTransform(0.0, 1.0)
    assert affine != ours.AffineTransform(0.0, 2.0)
    assert affine == ours.AffineTransform(rushlight.zeros(2), rushlight.ones(2))
    assert ours.ExpTransform() == ours.ExpTransform()
    assert ours.ExpTransform() != ours.TanhTransform()
    assert ours.ExpTransform().inv == ours.ExpTransform().inv
    assert ours.ComposeTransform([affine]) == ours.ComposeTransform([affine])
    power = ours.PowerTransform(rushlight.tensor(2.0))
    assert power == ours.PowerTransform(rushlight.tensor(2.0))
    for made in (affine, ours.TanhTransform(1), power, ours.ComposeTransform([affine])):
        assert pickle.loads(pickle.dumps(made)) == made
        assert copy.deepcopy(made) == made


def test_errors():
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        ours.ExpTransform(cache_size=2)
    with pytest.raises(ValueError, match="numbers of elements"):
        ours.ReshapeTransform((2,), (3,))
    with pytest.raises(ValueError, match="shape mismatch"):
        ours.ReshapeTransform((2,), (2, 1)).forward_shape((3,))
    with pytest.raises(ValueError, match="too few dimensions"):
        ours.SoftmaxTransform().forward_shape(())
    with pytest.raises(ValueError, match="too few dimensions"):
        ours.IndependentTransform(ours.ExpTransform(), 2)(rushlight.zeros(2))
    with pytest.raises(ValueError, match="n \\(n - 1\\) / 2"):
        ours.CorrCholeskyTransform().forward_shape((4,))
    with pytest.raises(AssertionError, match="lengths"):
        ours.CatTransform([ours.ExpTransform()] * 2, lengths=[1])
    with pytest.raises(AssertionError, match="got a value of shape"):
        ours.StackTransform([ours.ExpTransform()])(rushlight.zeros(2))
    with pytest.raises(ValueError, match="event_dim"):
        _ = ours.CorrCholeskyTransform().event_dim
    with pytest.raises(NotImplementedError, match="log_abs_det_jacobian"):
        ours.SoftmaxTransform().log_abs_det_jacobian(rushlight.zeros(2), rushlight.zeros(2))


# --------------------------------------------------------------------------------- registries
REGISTERED = {
    "real": lambda C: C.real,
    "real_vector": lambda C: C.real_vector,
    "positive": lambda C: C.positive,
    "nonnegative": lambda C: C.nonnegative,
    "greater_than": lambda C: C.greater_than(2.0),
    "greater_than_eq": lambda C: C.greater_than_eq(-1.0),
    "less_than": lambda C: C.less_than(2.0),
    "interval": lambda C: C.interval(2.0, 5.0),
    "unit_interval": lambda C: C.unit_interval,
    "half_open": lambda C: C.half_open_interval(-1.0, 1.0),
    "simplex": lambda C: C.simplex,
    "lower_cholesky": lambda C: C.lower_cholesky,
    "positive_definite": lambda C: C.positive_definite,
    "positive_semidefinite": lambda C: C.positive_semidefinite,
    "corr_cholesky": lambda C: C.corr_cholesky,
    "independent": lambda C: C.independent(C.positive, 1),
    "cat": lambda C: C.cat([C.positive, C.unit_interval], -1, [1, 2]),
    "stack": lambda C: C.stack([C.positive, C.unit_interval, C.real], -1),
    "boolean": lambda C: C.boolean,
    "lower_triangular": lambda C: C.lower_triangular,
}


@pytest.mark.parametrize("name", REGISTERED)
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registered(name, registry):
    a = attempt(lambda: getattr(ours, registry)(REGISTERED[name](constraints)))
    b = attempt(lambda: getattr(theirs, registry)(REGISTERED[name](theirs.constraints)))
    if b is NotImplementedError:
        assert a is NotImplementedError
        return
    assert repr(a) == repr(b)
    x = np.random.default_rng(0).normal(size=(3, 3))
    y = a(rushlight.tensor(x))
    agree(y, b(torch.tensor(x)))
    assert bool(REGISTERED[name](constraints).check(y).all())


def test_register_a_constraint():
    class Even(constraints.Constraint):
        def check(self, value):
            return value % 2 == 0

    with pytest.raises(NotImplementedError, match="Even"):
        ours.biject_to(Even())

    @ours.biject_to.register(Even)
    def to_even(constraint):
        return transforms.AffineTransform(0, 2)

    assert ours.biject_to(Even()) == transforms.AffineTransform(0, 2)
    with pytest.raises(TypeError, match="subclass or an instance"):
        ours.biject_to.register(3, to_even)


# --------------------------------------------------------------------------------- constraints
VALUES = {
    "boolean": (lambda C: C.boolean, [0.0, 1.0, 0.5]),
    "one_hot": (lambda C: C.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
    "nonnegative_integer": (lambda C: C.nonnegative_integer, [-1.0, 0.0, 0.5, 2.0]),
    "positive_integer": (lambda C: C.positive_integer, [-1.0, 0.0, 0.5, 2.0]),
    "integer_interval": (lambda C: C.integer_interval(1, 3), [0.0, 1.0, 2.5, 3.0, 4.0]),
    "real": (lambda C: C.real, [0.0, float("nan"), float("inf")]),
    "real_vector": (lambda C: C.real_vector, [[0.0, 1.0], [float("nan"), 0.0]]),
    "positive": (lambda C: C.positive, [-1.0, 0.0, 1.0]),
    "nonnegative": (lambda C: C.nonnegative, [-1.0, 0.0, 1.0]),
    "greater_than": (lambda C: C.greater_than(1), [0.0, 1.0, 2.0]),
    "greater_than_eq": (lambda C: C.greater_than_eq(1), [0.0, 1.0, 2.0]),
    "less_than": (lambda C: C.less_than(1), [0.0, 1.0, 2.0]),
    "multinomial": (lambda C: C.multinomial(3), [[1.0, 2.0], [2.0, 2.0], [-1.0, 1.0]]),
    "interval": (lambda C: C.interval(0, 1), [-0.1, 0.0, 1.0, 1.1]),
    "half_open": (lambda C: C.half_open_interval(0, 1), [-0.1, 0.0, 1.0, 1.1]),
    "simplex": (lambda C: C.simplex, [[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]]),
    "lower_triangular": (
        lambda C: C.lower_triangular,
        [[[1.0, 0.0], [2.0, -1.0]], [[1.0, 1.0], [0.0, 1.0]]],
    ),
    "lower_cholesky": (
        lambda C: C.lower_cholesky,
        [[[1.0, 0.0], [2.0, -1.0]], [[1.0, 0.0], [3.0, 1.0]]],
    ),
    "corr_cholesky": (
        lambda C: C.corr_cholesky,
        [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]]],
    ),
    "square": (lambda C: C.square, [[[1.0, 0.0], [0.6, 0.8]]]),
    "square_not": (lambda C: C.square, [[[1.0, 0.0, 2.0], [0.6, 0.8, 1.0]]]),
    "symmetric": (lambda C: C.symmetric, [[[1.0, 0.5], [0.5, 2.0]], [[1.0, 0.5], [0.0, 2.0]]]),
    "positive_definite": (
        lambda C: C.positive_definite,
        [[[1.0, 0.5], [0.5, 2.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]],
    ),
    "positive_semidefinite": (
        lambda C: C.positive_semidefinite,
        [[[1.0, 0.5], [0.5, 2.0]], [[1.0, 2.0], [2.0, 1.0]]],
    ),
    "independent": (lambda C: C.independent(C.positive, 1), [[1.0, 2.0], [1.0, -1.0]]),
    "cat": (lambda C: C.cat([C.positive, C.boolean], -1, [2, 1]), [[1.0, 2.0, 0.0], [1, -1, 2]]),
    "stack": (lambda C: C.stack([C.positive, C.boolean], -1), [[1.0, 2.0], [-1.0, 1.0]]),
    "mixture": (
        lambda C: C.MixtureSameFamilyConstraint(C.interval(0.0, 1.0)),
        [0.5, 2.0],
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_check(name):
    make, values = VALUES[name]
    a, b = make(constraints), make(theirs.constraints)
    found = a.check(rushlight.tensor(values))
    expected = b.check(torch.tensor(values))
    assert found.dtype is rushlight.bool
    assert tuple(found.shape) == tuple(expected.shape)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert repr(a) == repr(b)
    assert (a.is_discrete, a.event_dim) == (b.is_discrete, b.event_dim)


def test_dependent_constraints():
    assert constraints.is_dependent(constraints.dependent)
    assert constraints.is_dependent(ours.Uniform.support)
    assert not constraints.is_dependent(constraints.real)
    assert constraints.dependent(event_dim=1).event_dim == 1
    assert ours.Binomial.support.is_discrete is True
    with pytest.raises(NotImplementedError, match="event_dim"):
        _ = constraints.dependent.event_dim
    with pytest.raises(ValueError, match="dependent"):
        constraints.dependent.check(rushlight.zeros(1))
    with pytest.raises(AssertionError, match="from 0"):
        constraints.independent(constraints.real, -1)
    assert set(constraints.__all__) == set(theirs.constraints.__all__)
    assert set(transforms.__all__) == set(theirs.transforms.__all__)
    assert set(ours.__all__) == set(theirs.__all__)


def test_jacobians_of_no_events():
    transform = transforms.AffineTransform(rushlight.zeros(3), rushlight.ones(3) * 2, event_dim=1)
    empty = rushlight.zeros(0, 3)
    assert tuple(transform.log_abs_det_jacobian(empty, empty).shape) == (0,)
