"""Products with matrices of bytes: by the kernels of every processor, within float32 of float64;
those of rounded rows have the same bits."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
from rushlight.kernels.gemm import bytes as kernels

pick = np.random.default_rng(0)
for channels, n in ((1, 1), (5, 7), (64, 128), (33, 1000), (129, 515)):
    weight = pick.integers(-127, 128, (channels, n), dtype=np.int8)
    scale = pick.uniform(0.001, 0.02, channels).astype("f")
    bias = pick.standard_normal(channels).astype("f")
    for shape in ((n,), (1, n), (3, n), (2, 2, n), (16, n)):
        x = pick.standard_normal(shape).astype("f")
        for given in (bias, None):
            found = kernels.product(x, weight, scale, given)
            matrix = weight * scale[:, None].astype("d")
            expected = x.astype("d") @ matrix.T + (0 if given is None else given)
            bound = 2e-6 * (np.abs(x) @ np.abs(matrix).T + 1)
            assert found.shape == expected.shape and found.dtype == np.float32
            assert (np.abs(found - expected) <= bound).all(), (channels, n, shape)
    for rows in (1, 9, 60):
        x = pick.standard_normal((rows, n)).astype("f")
        found = kernels.rounded_product(x, weight, scale, bias)
        largest = np.abs(x).max(1)
        whole = np.rint(x * (np.float32(127) / largest)[:, None]).astype("l")
        both = (largest / np.float32(127))[:, None] * scale
        assert (found == (whole @ weight.T.astype("l")).astype("f") * both + bias).all()
    assert kernels.product(np.ones((17, n), "f"), weight, scale, None) is None
    assert kernels.product(np.ones((2, n)), weight, scale, None) is None
    assert kernels.product(np.ones((2, n + 1), "f"), weight, scale, None) is None
    if n > 1:
        columns = np.asfortranarray(weight)
        assert channels == 1 or kernels.product(np.ones((2, n), "f"), columns, scale, None) is None
"""
PROCESSORS = [
    "x86-64-v2", "haswell", "alderlake", "skylake-avx512", "icelake-client", "sapphirerapids"
]  # fmt: skip


@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_processor(processor):
    environment = {**os.environ, "RUSHLIGHT_PROCESSOR": processor}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-2000:]
