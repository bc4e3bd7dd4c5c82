"""RUSHLIGHT_KERNELS=reference: every kernel function is its NumPy text and needs no compiler."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

from rushlight.kernels.convolution import choice as convolution
from rushlight.kernels.gemm import products as matrix
from rushlight.kernels.losses import cross_entropy as losses
from rushlight.kernels.optimizers import foreach
from rushlight.kernels.pooling import windows as pooling

PROGRAM = """
import sys
import numpy as np
from rushlight.kernels.convolution import choice as convolution
from rushlight.kernels.indexing import embedding
from rushlight.kernels.optimizers import foreach
from rushlight.kernels.losses import cross_entropy as losses
from rushlight.kernels.gemm import products as matrix
from rushlight.kernels.normalization import batch_and_layer as normalization
from rushlight.kernels.pooling import windows as pooling
from rushlight.kernels.reduction import softmax

for module in (convolution, embedding, foreach, losses, matrix, normalization, pooling, softmax):
    for name in module.__all__:
        function = getattr(module, name)
        assert function is function.reference, name
        assert function.__doc__, name
sys.path.insert(0, {folder!r})
from test_reference_mode import step
np.save({path!r}, step())
assert "llvmlite" not in sys.modules
"""


def step():
    """Loss and parameters of a small network after one step of Adam."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 2, 10, 10)).astype(np.float32)
    target = rng.integers(0, 5, 6)
    w = (rng.standard_normal((4, 2, 3, 3)) * 0.3).astype(np.float32)
    v = (rng.standard_normal((5, 100)) * 0.3).astype(np.float32)
    b = np.zeros(5, np.float32)
    window = ((1, 1), (1, 1), (1, 1), 1)
    y = convolution.convolution_forward(x, w, None, *window)
    p, places = pooling.max_pool_forward(y, (2, 2), (2, 2), (0, 0), (1, 1), False)
    out = matrix.linear(p.reshape(6, 100), v, b)
    loss, sums, _ = losses.cross_entropy_forward(out, target, None, -100, 0.1)
    g = losses.cross_entropy_backward(
        np.full(6, 1 / 6, np.float32), out, target, None, -100, 0.1, sums
    )
    dv, db = matrix.matmul(g.T, p.reshape(6, 100)), g.sum(axis=0)
    dp = matrix.matmul(g, v).reshape(p.shape)
    dw = convolution.convolution_weight_gradient(
        pooling.max_pool_backward(dp, places, y.shape), x, w.shape, *window
    )
    state = [[np.zeros_like(a) for a in (w, v, b)] for _ in range(2)]
    foreach.adam([w, v, b], [dw, dv, db], *state, None, [1.0] * 3, 0.01, 0.9, 0.999, 1e-8, 0.0,
                 False, False)  # fmt: skip
    return np.concatenate([loss, w.ravel(), v.ravel(), b])


def test_a_training_step_agrees(tmp_path):
    path = str(tmp_path / "result.npy")
    program = PROGRAM.format(folder=os.path.dirname(__file__), path=path)
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=dict(os.environ, RUSHLIGHT_KERNELS="reference"),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert np.allclose(np.load(path), step(), atol=2e-5)
