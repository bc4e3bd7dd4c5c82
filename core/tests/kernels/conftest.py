"""Kernel tests run on a cache folder of their own, shared by all of them."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.kernels.launch.execution import REFERENCE


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "compiled(reason): what the reference path (RUSHLIGHT_KERNELS) has nothing of"
    )


def pytest_runtest_setup(item):
    marker = item.get_closest_marker("compiled")
    if REFERENCE and marker is not None:
        pytest.skip(marker.args[0])


@pytest.fixture
def rng():
    return np.random.default_rng(1234)


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return np.dtype(request.param)
