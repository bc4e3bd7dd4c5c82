"""Special functions against SciPy, the closer oracle, over wide ranges; edges as in PyTorch."""

import numpy as np
import pytest

import rushlight

scipy = pytest.importorskip("scipy.special")
RANDOM = np.random.default_rng(0)
X = np.concatenate([RANDOM.uniform(-30, 30, 800), RANDOM.uniform(-1, 1, 200)])
POSITIVE = np.concatenate([np.abs(X), 10 ** RANDOM.uniform(-8, 2, 200)])
P = np.concatenate([RANDOM.uniform(0, 1, 300), 10 ** RANDOM.uniform(-300, -1, 300)])

CASES = {
    "airy_ai": (lambda x: scipy.airy(x)[0], X),
    "bessel_j0": (scipy.j0, X),
    "bessel_j1": (scipy.j1, X),
    "bessel_y0": (scipy.y0, POSITIVE),
    "bessel_y1": (scipy.y1, POSITIVE),
    "i0": (scipy.i0, X),
    "i0e": (scipy.i0e, X),
    "i1": (scipy.i1, X),
    "i1e": (scipy.i1e, X),
    "modified_bessel_i0": (scipy.i0, X),
    "modified_bessel_i1": (scipy.i1, X),
    "modified_bessel_k0": (scipy.k0, POSITIVE),
    "modified_bessel_k1": (scipy.k1, POSITIVE),
    "scaled_modified_bessel_k0": (scipy.k0e, POSITIVE),
    "scaled_modified_bessel_k1": (scipy.k1e, POSITIVE),
    "spherical_bessel_j0": (lambda x: scipy.spherical_jn(0, x), X),
    "erfcx": (scipy.erfcx, X[X > -20]),
    "ndtr": (scipy.ndtr, X),
    "log_ndtr": (scipy.log_ndtr, X),
    "ndtri": (scipy.ndtri, P),
    "entr": (scipy.entr, POSITIVE),
    "digamma": (scipy.digamma, POSITIVE),
    "gammaln": (scipy.gammaln, POSITIVE),
}


@pytest.mark.parametrize("name", CASES)
def test_against_scipy(name):
    function, x = CASES[name]
    ours = getattr(rushlight.special, name)(rushlight.from_numpy(x)).numpy()
    np.testing.assert_allclose(ours, function(x), rtol=1e-12, atol=2e-14)


def test_incomplete_gamma():
    a, x = RANDOM.uniform(0.01, 200, 500), RANDOM.uniform(0, 200, 500)
    for name, function in (("gammainc", scipy.gammainc), ("gammaincc", scipy.gammaincc)):
        ours = getattr(rushlight.special, name)(rushlight.from_numpy(a), rushlight.from_numpy(x))
        np.testing.assert_allclose(ours.numpy(), function(a, x), rtol=1e-11, atol=1e-290)


def test_incomplete_gamma_of_large_and_small_arguments():
    """Values computed in 40 digits; SciPy's are off there."""
    a = rushlight.tensor([2e5, 1e20, 1e-30], dtype=rushlight.float64)
    x = rushlight.tensor([2e5 - 4 * 2e5**0.5, 1e20, 1.0], dtype=rushlight.float64)
    lower = rushlight.special.gammainc(a, x).numpy()
    np.testing.assert_allclose(lower[0], 3.0200028816568645e-05, rtol=1e-12)
    np.testing.assert_allclose(lower[1], 0.5, rtol=1e-9)
    upper = rushlight.special.gammaincc(a, x).numpy()
    np.testing.assert_allclose(upper[2], 2.1938393439552027e-31, rtol=1e-12)


def test_zeta_and_polygamma():
    s, q = RANDOM.uniform(1.01, 30, 500), RANDOM.uniform(0.01, 50, 500)
    ours = rushlight.special.zeta(rushlight.from_numpy(s), rushlight.from_numpy(q)).numpy()
    np.testing.assert_allclose(ours, scipy.zeta(s, q), rtol=1e-13)
    for n in range(5):
        ours = rushlight.polygamma(n, rushlight.from_numpy(q)).numpy()
        np.testing.assert_allclose(ours, scipy.polygamma(n, q), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("chebyshev_polynomial_t", scipy.eval_chebyt),
        ("chebyshev_polynomial_u", scipy.eval_chebyu),
        ("shifted_chebyshev_polynomial_t", scipy.eval_sh_chebyt),
        ("shifted_chebyshev_polynomial_u", scipy.eval_sh_chebyu),
        ("hermite_polynomial_h", scipy.eval_hermite),
        ("hermite_polynomial_he", scipy.eval_hermitenorm),
        ("laguerre_polynomial_l", scipy.eval_laguerre),
        ("legendre_polynomial_p", scipy.eval_legendre),
    ],
)
def test_polynomials(name, function):
    x = np.concatenate([RANDOM.uniform(-1.2, 1.2, 60), [1.0, -1.0, 0.0]])
    call = getattr(rushlight.special, name)
    for n in (0, 1, 2, 5, 11, 20):
        ours = call(rushlight.from_numpy(x), n).numpy()
        np.testing.assert_allclose(ours, function(n, x), rtol=1e-9, atol=1e-13)
    assert call(rushlight.ones(2), -1).tolist() == [0.0, 0.0]
    assert call(0.5, rushlight.tensor([2.0])).shape == (1,)


def test_edges_are_pytorchs():
    torch = pytest.importorskip("torch")
    edge = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-300, 700.0, -700.0, 1.0, -1.0])
    for name in CASES:
        ours = getattr(rushlight.special, name)(rushlight.from_numpy(edge)).numpy()
        theirs = getattr(torch.special, name)(torch.from_numpy(edge)).numpy()
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-7, err_msg=name)
    a = np.array([0.0, 0, 0, 1, 1, np.inf, np.inf, -1, 1, np.nan, 1e6, 2.0])
    x = np.array([0.0, 1, np.inf, 0, np.inf, 1, np.inf, 1, -1, 1, 1e6, 1e3])
    s = np.array([2.0, 2, 3, 1, 0.5, 2, np.inf, 2.5, 2, 3, np.inf])
    q = np.array([-1.5, -1, -2.5, 1, 1, np.inf, 2, -1.5, 0, -0.5, 0.5])
    for name, u, v in (("gammainc", a, x), ("gammaincc", a, x), ("zeta", s, q)):
        ours = getattr(rushlight.special, name)(rushlight.from_numpy(u), rushlight.from_numpy(v))
        theirs = getattr(torch.special, name)(torch.from_numpy(u), torch.from_numpy(v))
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-8, err_msg=name)


def test_every_public_name_is_there():
    torch = pytest.importorskip("torch")
    public = {n for n in dir(torch.special) if not n.startswith("_")}
    imported = {"Tensor", "torch", "common_args", "multi_dim_common"}
    missing = public - imported - set(dir(rushlight.special))
    assert not missing and set(rushlight.special.__all__) <= set(dir(rushlight.special))


def test_wrong_calls():
    with pytest.raises(RuntimeError, match="negative n"):
        rushlight.polygamma(-1, rushlight.ones(2))
    with pytest.raises(TypeError, match="'n' must be int"):
        rushlight.polygamma(1.5, rushlight.ones(2))
    with pytest.raises(RuntimeError, match="greater than or equal to 1"):
        rushlight.mvlgamma(rushlight.ones(2), 0)
    with pytest.raises(RuntimeError, match="not implemented"):
        rushlight.special.i0e(rushlight.tensor([1j]))
    with pytest.raises(TypeError, match="must be"):
        rushlight.special.zeta(1.0, 2.0)
