"""Normalization over sliding windows of long features, computed block by block."""

from __future__ import annotations

import pytest

import rushlight as rl
from rushlight_audio import functional as F

SHAPES = {
    "one row of many frames": ((30_000, 20), 600),
    "rows of several blocks": ((2, 8_000, 41), 300),
    "many short rows": ((90, 200, 40), 50),
    "windows as long as the sound": ((1, 60_000, 9), 60_000),
    "an odd window that leaves a few frames": ((2, 30_000, 10), 29_997),
    "an odd window": ((27_000, 20), 601),
    "a window of one frame": ((40_000, 14), 1),
}


@pytest.mark.parametrize("dtype", [rl.float32, rl.float64], ids=str)
@pytest.mark.parametrize("center, norm_vars", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("name", SHAPES)
def test_blocks_are_those_of_the_whole(name, center, norm_vars, dtype):
    shape, window = SHAPES[name]
    given = rl.randn(*shape, dtype=dtype, generator=rl.Generator().manual_seed(3)) + 2
    options = window, 70, center, norm_vars
    found = F.sliding_window_cmn(given, *options)
    whole = F.sliding_window_cmn(given.clone().requires_grad_(), *options)
    assert whole.requires_grad and not found.requires_grad and found.dtype == dtype
    close = {"atol": 1e-6, "rtol": 1e-5} if dtype == rl.float32 else {"atol": 1e-9, "rtol": 1e-9}
    rl.testing.assert_close(found, whole.detach(), **close)


def test_frames_that_are_transposed():
    given = rl.randn(20, 30_000, generator=rl.Generator().manual_seed(4)).mT
    found = F.sliding_window_cmn(given, 600, 100, True, True)
    rl.testing.assert_close(found, F.sliding_window_cmn(given.contiguous(), 600, 100, True, True))


def test_the_mean_is_that_of_the_window():
    given = rl.randn(30_000, 20, dtype=rl.float64, generator=rl.Generator().manual_seed(5))
    found = F.sliding_window_cmn(given, 600, 100, center=True)
    for frame in (13_106, 13_107, 20_000):  # the first of a block and others
        mean = given[frame - 300 : frame + 300].mean(0)
        rl.testing.assert_close(found[frame], given[frame] - mean)
