"""Run by `test_dispatching` with ``SCIPY_ARRAY_API=1``, which SciPy reads when it is imported.

Calls SciPy and scikit-learn on tensors and on NumPy arrays; prints OK when every result is a tensor
with NumPy's values.
"""

from __future__ import annotations

import sys

import numpy as np

import rushlight


def same(name, function, *arrays):
    """Call `function` on tensors and on arrays; the first gives tensors with equal values."""
    expected = function(*arrays)
    found = function(*[rushlight.asarray(a) for a in arrays])
    if isinstance(expected, tuple):
        pairs = list(zip(found, expected, strict=True))
    else:
        pairs = [(found, expected)]
    for ours, theirs in pairs:
        if isinstance(theirs, float):
            assert abs(float(ours) - theirs) < 1e-8, name
            continue
        assert isinstance(ours, rushlight.Tensor), (name, type(ours))
        assert ours.dtype.name == theirs.dtype.name, (name, ours.dtype, theirs.dtype)
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6, atol=1e-8, err_msg=name)


def scipy_takes_tensors(x):
    """Functions that know the standard."""
    import scipy.cluster.hierarchy
    import scipy.cluster.vq
    import scipy.fft
    import scipy.integrate
    import scipy.ndimage
    import scipy.signal
    import scipy.spatial.transform
    import scipy.special
    import scipy.stats

    same("fft", scipy.fft.fft, x)
    same("dct", scipy.fft.dct, x)
    same("logsumexp", lambda a: scipy.special.logsumexp(a, axis=1), x)
    same("softmax", lambda a: scipy.special.softmax(a, axis=1), x)
    same("expit", scipy.special.expit, x)
    same("skew", scipy.stats.skew, x)
    same("zscore", scipy.stats.zscore, x)
    same("ttest", lambda a: tuple(scipy.stats.ttest_ind(a[:, 0], a[:, 1])), x)
    same("pearson", lambda a: scipy.stats.pearsonr(a[:, 0], a[:, 1]).statistic, x)
    same("whiten", scipy.cluster.vq.whiten, x)
    same("trapezoid", lambda a: scipy.integrate.trapezoid(a, axis=0), x)
    same("filtfilt", lambda a: scipy.signal.filtfilt(a[:2, 0], a[:1, 0] + 1, a[:, 1]), x)
    same("detrend", scipy.signal.detrend, x)
    same("trapezoids", lambda a: scipy.integrate.cumulative_trapezoid(a, axis=0), x)
    same("linkage", scipy.cluster.hierarchy.linkage, x)
    same("rotations", lambda a: scipy.spatial.transform.Rotation.from_rotvec(a).as_matrix(), x)
    same("gaussian filter", lambda a: scipy.ndimage.gaussian_filter(a, 1.0), x)


def scikit_learn_takes_tensors(x, y):
    """Estimators and metrics that know the standard."""
    import sklearn
    from sklearn import metrics
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
    from sklearn.mixture import GaussianMixture
    from sklearn.model_selection import cross_val_predict, train_test_split
    from sklearn.naive_bayes import GaussianNB
    from sklearn.preprocessing import (
        KernelCenterer,
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        PolynomialFeatures,
        StandardScaler,
    )

    sklearn.set_config(array_api_dispatch=True)
    for scaler in (StandardScaler, MinMaxScaler, MaxAbsScaler, Normalizer):
        same(scaler.__name__, lambda a, kind=scaler: kind().fit_transform(a), x)
    same("PCA", lambda a: abs(PCA(2, svd_solver="full").fit_transform(a)), x)
    same("Ridge", lambda a: Ridge(solver="svd").fit(a, a[:, 0]).coef_, x)
    same("LDA", lambda a, b: LinearDiscriminantAnalysis().fit(a, b).predict(a), x, y)
    same("accuracy", metrics.accuracy_score, y, y[::-1].copy())
    same("mean squared error", metrics.mean_squared_error, x[:, 0].copy(), x[:, 1].copy())
    same("rbf", metrics.pairwise.rbf_kernel, x)
    for name in ("euclidean_distances", "cosine_similarity", "laplacian_kernel", "chi2_kernel"):
        same(name, getattr(metrics.pairwise, name), x)
    same("centered", lambda a: KernelCenterer().fit_transform(a @ a.T), x)
    same("polynomials", lambda a: PolynomialFeatures(2).fit_transform(a), x)
    same("naive Bayes", lambda a, b: GaussianNB().fit(a, b).predict_proba(a), x, y)
    same("logistic", lambda a, b: LogisticRegression().fit(a, b).decision_function(a), x, y)
    same("RidgeCV", lambda a: RidgeCV().fit(a, a[:, 0]).predict(a), x)
    mixture = {"init_params": "random", "random_state": 0}
    same("mixture", lambda a: GaussianMixture(2, **mixture).fit(a).means_, x)
    same("split", lambda a, b: tuple(train_test_split(a, b, random_state=0)), x, y)
    same("cross-validated", lambda a, b: cross_val_predict(GaussianNB(), a, b, cv=3), x, y)
    same("coverage", metrics.coverage_error, np.stack([y, 1 - y], 1), x[:, :2].copy())


if __name__ == "__main__":
    data = np.random.default_rng(0).uniform(size=(30, 3))
    labels = (data.sum(1) > 1.5).astype(np.int64)
    if sys.argv[1] == "scipy":
        scipy_takes_tensors(data)
    else:
        scikit_learn_takes_tensors(data, labels)
    print("OK")
