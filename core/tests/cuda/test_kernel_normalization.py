"""Normalisation kernels on the emulator, against formulas in float64."""

import numpy as np
import pytest
from kernel_cases import FLOAT32, FLOATS, both_orders, close, on_device, on_host, wide

from rushlight.kernels.normalization import cuda

EPS = 1e-5


def draw(*shape, dtype=FLOAT32, seed=0):
    generator = np.random.default_rng(seed)
    return (generator.standard_normal(shape) * 2 + 3).astype(dtype)


def reference(x, g, weight, bias, axes, shape, centred=True):
    """Result and gradients of x normalised over axes; weight and bias broadcast from `shape`."""
    x, g = wide(x), wide(g)
    w = np.ones(shape) if weight is None else wide(weight).reshape(shape)
    b = np.zeros(shape) if bias is None else wide(bias).reshape(shape)
    mean = x.mean(axes, keepdims=True) if centred else 0
    rstd = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + EPS)
    hat = (x - mean) * rstd
    wg = g * w
    inner = wg.mean(axes, keepdims=True) if centred else 0
    dx = (wg - inner - hat * (wg * hat).mean(axes, keepdims=True)) * rstd
    rest = tuple(i for i, n in enumerate(shape) if n == 1)
    return hat * w + b, dx, (g * hat).sum(rest), g.sum(rest)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(5, 33), (3, 1024), (70, 6)], ids=str)
@pytest.mark.parametrize("affine", [False, True])
def test_layer_norm(shape, dtype, affine):
    x, g = draw(*shape, dtype=dtype), draw(*shape, dtype=dtype, seed=1)
    n = shape[1]
    weight, bias = (draw(n, dtype=dtype, seed=s) if affine else None for s in (2, 3))
    y, dx, dw, db = reference(x, g, weight, bias, (1,), (1, n))
    found = both_orders(
        lambda: cuda.layer_norm_forward(on_device(x), n, on_device(weight), on_device(bias), EPS)
    )
    close(found[0], y, dtype)
    got = both_orders(
        lambda: cuda.layer_norm_backward(*map(on_device, (g, x, weight, found[1], found[2])), n)
    )
    close(got[0], dx, dtype, 2)
    close(got[1], dw, FLOAT32, 4)
    close(got[2], db, FLOAT32, 4)


def test_layer_norm_with_float32_weights_of_low_precision():
    from kernel_cases import BFLOAT16

    x, weight, bias = draw(4, 40, dtype=BFLOAT16), draw(40, seed=1), draw(40, seed=2)
    y = on_host(
        cuda.layer_norm_forward(*map(on_device, (x,)), 40, on_device(weight), on_device(bias), EPS)
    )[0]
    close(y, reference(x, x, weight, bias, (1,), (1, 40))[0], BFLOAT16)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rms_norm(dtype):
    x, g, w = draw(6, 65, dtype=dtype), draw(6, 65, dtype=dtype, seed=1), draw(65, dtype=dtype)
    y, dx, dw, _ = reference(x, g, w, None, (1,), (1, 65), centred=False)
    out, rstd = both_orders(lambda: cuda.rms_norm_forward(on_device(x), 65, on_device(w), EPS))
    close(out, y, dtype)
    found = both_orders(lambda: cuda.rms_norm_backward(*map(on_device, (g, x, w, rstd)), 65))
    close(found[0], dx, dtype, 2)
    close(found[1], dw, FLOAT32, 4)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_group_norm(dtype):
    x, g = draw(3, 6, 5, 3, dtype=dtype), draw(3, 6, 5, 3, dtype=dtype, seed=1)
    w, b = draw(6, dtype=dtype, seed=2), draw(6, dtype=dtype, seed=3)
    grouped = (3, 2, 3, 5, 3)
    y, dx, dw, db = reference(
        x.reshape(grouped), g.reshape(grouped), w, b, (2, 3, 4), (1, 2, 3, 1, 1)
    )
    found = both_orders(lambda: cuda.group_norm_forward(on_device(x), 2, on_device(w),
                                                        on_device(b), EPS))  # fmt: skip
    close(found[0], y.reshape(x.shape), dtype)
    got = both_orders(
        lambda: cuda.group_norm_backward(
            on_device(g), on_device(x), 2, *map(on_device, (w, found[1], found[2]))
        )
    )
    close(got[0], dx.reshape(x.shape), dtype, 2)
    close(got[1], dw.reshape(-1), FLOAT32, 4)
    close(got[2], db.reshape(-1), FLOAT32, 4)


def check_batch(x, g, dtype, place):
    channels = x.shape[1]
    w, b = draw(channels, dtype=dtype, seed=2), draw(channels, dtype=dtype, seed=3)
    axes = (0, *range(2, x.ndim))
    shape = (1, channels, *[1] * (x.ndim - 2))
    y, dx, dw, db = reference(x, g, w, b, axes, shape)
    found = both_orders(
        lambda: cuda.batch_norm_train_forward(place(x), on_device(w), on_device(b), EPS)
    )
    close(found[0], y, dtype, 2)
    close(found[1], wide(x).mean(axes), FLOAT32)
    got = both_orders(
        lambda: cuda.batch_norm_train_backward(
            place(g), place(x), *map(on_device, (w, found[1], found[2]))
        )
    )
    close(got[0], dx, dtype, 4)
    close(got[1], dw, FLOAT32, 8)
    close(got[2], db, FLOAT32, 8)
    var = (1 / found[2] ** 2 - EPS).astype(np.float32)
    out = both_orders(
        lambda: cuda.batch_norm_eval(place(x), *map(on_device, (w, b, found[1], var)), EPS)
    )
    close(out, y, dtype, 4)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(33, 7), (9, 5, 3, 7), (40, 3, 16)], ids=str)
def test_batch_norm(shape, dtype):
    check_batch(draw(*shape, dtype=dtype), draw(*shape, dtype=dtype, seed=1), dtype, on_device)


def test_batch_norm_of_channels_last_memory():
    def place(array):
        return on_device(array.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)

    x, g = draw(9, 5, 3, 7), draw(9, 5, 3, 7, seed=1)
    check_batch(x, g, FLOAT32, place)
    out = cuda.batch_norm_train_forward(place(x), None, None, EPS)[0]
    assert out.transpose(0, 2, 3, 1).flags.c_contiguous
