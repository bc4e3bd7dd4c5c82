"""any and all of long rows, which threads share."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.reduction import folds
from rushlight.machine import threads


@pytest.fixture(params=[1, 2, 5])
def several(request):
    before = threads.get_num_threads()
    threads.set_num_threads(request.param)
    yield
    threads.set_num_threads(before)


@pytest.mark.parametrize("shape", [(1_048_583,), (3, 700_001), (15, 2, 131_073), (100, 77)])
@pytest.mark.parametrize("dtype", [np.bool_, np.float32, np.int64])
@pytest.mark.parametrize("limit", [folds.LONG, 1000])
def test_one_element_decides(several, monkeypatch, shape, dtype, limit):
    monkeypatch.setattr(folds, "LONG", limit)  # 1000: more parts than chunks
    shape = shape if limit == folds.LONG else (*shape[:-1], shape[-1] - 1)  # one not met before
    size = np.prod(shape)
    for rest in (0, 1):
        array = np.full(shape, rest, dtype)
        tensor = rushlight.from_numpy(array)
        for place in (None, 0, 511, 512, 1000, limit - 1, limit, size // 2, size - 1):
            if place is not None and place >= size:
                continue
            if place is not None:
                array.reshape(-1)[place] = 1 - rest
            assert tensor.any().item() is bool(array.any())
            assert tensor.all().item() is bool(array.all())
            assert np.array_equal(tensor.any(-1).numpy(), array.any(-1))
            assert np.array_equal(
                tensor.all(-1, keepdim=True).numpy(), array.all(-1, keepdims=True)
            )
            if place is not None:
                array.reshape(-1)[place] = rest
