"""Every transform of every transform of thirty functions gives what PyTorch gives.

Left out are functions for which PyTorch's forward mode under another transform contradicts finite
differences: the norm, `layer_norm`, `linalg.solve`.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight
import rushlight.func

torch = pytest.importorskip("torch")


def _written(lib, x):
    y = lib.zeros_like(x)
    y[0] = x[1] * x[2]
    y[1:] = x[:3] ** 2
    return y.mul_(x)


def _indexed(lib, x):
    return x[lib.tensor([3, 0, 0, 1])] * x[1:3].sum()


def _table(lib, x):
    return lib.outer(x, x.sin())[:2, 1:] @ x[1:]


def _normed(lib, x):
    rows = x.reshape(2, 2)
    return ((rows - rows.mean(1, True)) * (rows.var(1, keepdim=True) + 0.1).rsqrt()).reshape(-1)


def _convolved(lib, x):
    kernel = lib.stack([x[:2], x[2:]]).reshape(1, 2, 2)
    return lib.nn.functional.conv1d(lib.stack([x, x * x]).unsqueeze(0), kernel).reshape(-1)


def _pooled(lib, x):
    return lib.nn.functional.avg_pool1d((x * x).reshape(1, 1, 4), 2).reshape(-1)


def _solved(lib, x):
    matrix = lib.diag(x * x + 1) + 0.1 * lib.outer(x, x)
    return lib.linalg.inv(matrix) @ x


def _entropy(lib, x):
    rows = lib.stack([x, x.sin()])
    return lib.nn.functional.cross_entropy(rows, lib.tensor([1, 3]), reduction="none")


FUNCTIONS = {
    "sin": lambda lib, x: x.sin(),
    "cube": lambda lib, x: x**3,
    "rational": lambda lib, x: x / (1 + x * x),
    "exp": lambda lib, x: (-x * x).exp(),
    "tanh": lambda lib, x: x.tanh() * x,
    "sigmoid": lambda lib, x: x.sigmoid().log(),
    "gelu": lambda lib, x: lib.nn.functional.gelu(x),
    "softplus": lambda lib, x: lib.nn.functional.softplus(x),
    "softmax": lambda lib, x: x.softmax(0) * x,
    "log_softmax": lambda lib, x: x.log_softmax(-1),
    "logsumexp": lambda lib, x: x.logsumexp(0) * x,
    "mean": lambda lib, x: x - x.mean(),
    "norm": lambda lib, x: x / (x * x).sum().sqrt(),
    "variance": lambda lib, x: x.var(0) * x,
    "prod": lambda lib, x: x.prod() + x,
    "cumsum": lambda lib, x: x.cumsum(0) ** 2,
    "cumprod": lambda lib, x: x.cumprod(0),
    "sort": lambda lib, x: x.sort()[0] * x,
    "amax": lambda lib, x: x.amax() * x,
    "where": lambda lib, x: lib.where(x > 0.3, x.exp(), x * x),
    "flip": lambda lib, x: x.flip(0) * x,
    "matmul": lambda lib, x: x.reshape(2, 2) @ x.reshape(2, 2).T,
    "einsum": lambda lib, x: lib.einsum("i,j->ij", x, x).tril(),
    "table": _table,
    "indexed": _indexed,
    "written": _written,
    "normed": _normed,
    "convolved": _convolved,
    "pooled": _pooled,
    "solved": _solved,
    "entropy": _entropy,
}


def _grad(lib, f):
    return lib.func.grad(lambda x: f(x).sum())


def _vjp(lib, f):
    def run(x):
        out, pull = lib.func.vjp(f, x)
        return pull(lib.ones_like(out))[0]

    return run


def _jvp(lib, f):
    return lambda x: lib.func.jvp(f, (x,), (lib.ones_like(x) * 0.5,))[1]


def _vmap(lib, f):
    return lambda x: lib.func.vmap(f)(lib.stack([x, x.cos()]))


TRANSFORMS = {
    "grad": _grad,
    "vjp": _vjp,
    "jvp": _jvp,
    "vmap": _vmap,
    "jacrev": lambda lib, f: lib.func.jacrev(f),
    "jacfwd": lambda lib, f: lib.func.jacfwd(f),
    "hessian": lambda lib, f: lib.func.hessian(f),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_transforms_agree(name):
    """All compositions of two transforms."""
    start = np.array([0.9, -0.4, 0.35, 1.3])
    compared = 0
    for outer, first in TRANSFORMS.items():
        for inner, second in TRANSFORMS.items():
            found = []
            for lib in (rushlight, torch):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore" if lib is torch else "error")

                    def f(x, lib=lib):
                        return FUNCTIONS[name](lib, x)

                    call = first(lib, second(lib, f))
                    found.append((call(lib.tensor(start)) + 0.0).tolist())
            assert np.shape(found[0]) == np.shape(found[1]), f"{outer} of {inner}"
            np.testing.assert_allclose(
                found[0], found[1], rtol=1e-7, atol=1e-9, err_msg=f"{outer} of {inner}"
            )
            compared += 1
    assert compared == len(TRANSFORMS) ** 2
