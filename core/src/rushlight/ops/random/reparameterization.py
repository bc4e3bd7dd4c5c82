"""Gamma and Dirichlet samples with gradients by implicit reparameterisation.

For a sample x with cdf F(x; a), held at its quantile, ``dx/da = -(dF/da) / (dF/dx)``. (Figurnov,
Mohamed and Mnih, "Implicit Reparameterization Gradients", 2018.) For gamma and beta variables
``dF/da`` is an integral of ``p(t) (log t - E[log t])`` over the left tail, or minus that over the
right one. Each is taken on the side where its integrand has one sign, so that nothing cancels, with
``log`` of the tail's variable as the variable and a double exponential rule. (Takahasi and Mori,
1974.) Gamma samples are those of Marsaglia and Tsang, "A Simple Method for Generating Gamma
Variables", 2000.
"""

from __future__ import annotations

import math

from rushlight.errors import shape_text
from rushlight.kernels.random.samples import drawn
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.op import op
from rushlight.ops.random.sampling import _engine
from rushlight.tensor.tensor import Tensor

# Nodes exp(u - exp(-u)) of the double exponential rule on (0, inf) and their weights.
_STEP = 0.04
_U = np.arange(-4.0, 6.5 + _STEP / 2, _STEP)
_NODES = np.exp(_U - np.exp(-_U))
_WEIGHTS = _STEP * _NODES * (1 + np.exp(-_U))
# A third as PyTorch's sampler has it, in float32, so that seeds reproduce its float64 samples.
_THIRD = float(np.float32(1.0) / np.float32(3.0))
_ROWS = 4096  # so many elements at once, to bound the memory


# ---------------------------------------------------------------------------------------- samples
def _gamma_sample(uniform, engine, alpha, kind=float):
    """One standard gamma sample from 53-bit uniforms and the engine's cached normal; `kind` is the
    precision in which PyTorch prepares the concentration."""
    if alpha == 0:
        return 0.0
    scale = 1.0
    if alpha < 1:
        scale = (1.0 - uniform()) ** float(kind(1.0 / alpha))
        alpha = float(kind(alpha + 1.0))
    d = float(kind(alpha - _THIRD))
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = _normal(uniform, engine)
        y = 1.0 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1.0 - uniform()
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _normal(uniform, engine):
    """One normal of a Box-Muller pair, of which the engine keeps the other."""
    if engine.cached_normal is not None:
        value, engine.cached_normal = engine.cached_normal, None
        return value
    u1, u2 = uniform(), uniform()
    radius, theta = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
    engine.cached_normal = radius * math.sin(theta)
    return radius * math.cos(theta)


def _draw(alphas, generator, kind=float):
    """Standard gamma samples, float64, one after the other."""
    engine = _engine(generator)
    rows = alphas.reshape(-1).astype(np.float64)
    with engine.lock:
        found = drawn("gamma", engine, rows, single=kind is not float)
        if found is None:
            found = engine.one_by_one(
                lambda uniform, alpha: _gamma_sample(uniform, engine, alpha, kind), rows.tolist()
            )
    return found.reshape(alphas.shape)


def _limits(input):
    """The smallest positive normal number and the rounding error of a dtype."""
    from rushlight.dtypes import finfo

    found = finfo(dtype_of(input))
    return found.tiny, found.eps


def _check_floating(name, *arrays):
    for array in arrays:
        if not dtype_of(array).is_floating_point:
            raise RuntimeError(f'"{name}" not implemented for {dtype_of(array)}')


def _meta_same(input, generator=None):
    return input.shape, dtype_of(input)


@op(method=False, meta=_meta_same, batching="trailing", exported=True)
def _standard_gamma(input: Tensor, generator=None):
    """Gamma samples of rate 1 with the concentrations in `input`, in its dtype; the gradient is
    the implicit one."""
    _check_floating("_standard_gamma", input)
    tiny, _ = _limits(input)
    kind = float if input.dtype == np.float64 else np.float32
    return np.maximum(_draw(input, generator, kind), tiny).astype(input.dtype)


@op(method=False, meta=_meta_same, batching="trailing", exported=True)
def _sample_dirichlet(input: Tensor, generator=None):
    """Dirichlet samples with the concentrations in the last dimension of `input`; the gradient is
    the implicit one."""
    _check_floating("_sample_dirichlet", input)
    gammas = np.maximum(_draw(input, generator), np.finfo(np.float64).tiny)
    tiny, eps = _limits(input)
    shares = gammas / gammas.sum(-1, keepdims=True)
    return np.minimum(np.maximum(shares, tiny), 1 - eps / 2).astype(input.dtype)


# -------------------------------------------------------------------------------------- gradients
def _in_blocks(function, dtype, *arrays):
    """``function`` of broadcast float64 arrays, elementwise, a block of elements at a time."""
    arrays = np.broadcast_arrays(*arrays)
    shape, columns = arrays[0].shape, [a.reshape(-1).astype(np.float64) for a in arrays]
    out = np.empty(len(columns[0]))
    with np.errstate(all="ignore"):
        for start in range(0, len(out), _ROWS):
            out[start : start + _ROWS] = function(*(c[start : start + _ROWS] for c in columns))
    return out.reshape(shape).astype(dtype)


def _digamma(x):
    """The logarithmic derivative of gamma for positive x: recurrence to 10, then its asymptotic
    series."""
    total, x = np.zeros_like(x), x.copy()
    for _ in range(10):
        small = x < 10
        total = np.where(small, total - 1 / x, total)
        x = np.where(small, x + 1, x)
    square = 1 / (x * x)
    series = 1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132)))
    return total + np.log(x) - 0.5 / x - square * series


def _integral(scale, exponent, factor):
    """The integral over s > 0 of ``exp(exponent(s)) factor(s)``, which decays on about `scale`."""
    s = scale[:, None] * _NODES
    values = np.exp(exponent(s)) * factor(s)
    return scale * (np.where(np.isfinite(values), values, 0.0) @ _WEIGHTS)


def _gamma_derivative(a, x):
    """dx/da of gamma variables x of concentration a."""
    centre = _digamma(a)
    right = x > np.maximum(np.exp(centre), 1.0)
    out = np.empty_like(x)
    if right.any():
        b, y, mean = a[right][:, None], x[right][:, None], centre[right][:, None]
        slope = np.abs(x[right] - a[right] + 1) / x[right]
        scale = 1 / (slope + 1 / np.sqrt(x[right] + 1))
        out[right] = _integral(
            scale,
            lambda s: (b - 1) * np.log1p(s / y) - s,
            lambda s: np.log1p(s / y) + np.log(y) - mean,
        )
    near = ~right & (a < 1)
    out[near] = _gamma_series(a[near], x[near])
    left = ~right & ~near
    if left.any():
        b, y, mean = a[left][:, None], x[left][:, None], centre[left][:, None]
        slope = np.abs(a[left] - x[left])
        out[left] = x[left] * _integral(
            1 / (slope + np.sqrt(x[left] + 1e-300)),
            lambda s: -b * s - y * np.expm1(-s),
            lambda s: mean - np.log(y) + s,
        )
    return out


def _gamma_series(a, x):
    """dx/da for a < 1 and x <= 1 by the power series of the cdf, in which ``1/a`` stays apart."""
    log_x, term, slope = np.log(x), x / a, _digamma(a + 1)
    total = term * (slope - log_x)
    for n in range(1, 24):
        term = term * x / (a + n)
        slope = slope + 1 / (a + n)
        total = total + term * (slope - log_x)
    return total


def _beta_derivative(x, a, b):
    """dx/da of beta variables x of concentrations a and b."""
    centre = _digamma(a) - _digamma(a + b)
    near = (a < 1) & (x * np.maximum(b + 1, 2) <= 1)
    right = ~near & (np.log(x) > centre)
    out = np.empty_like(x)
    out[near] = _beta_series(x[near], a[near], b[near])
    width = np.sqrt((a + b) * x * (1 - x)) + 1  # of the density around x, in counts
    for side, tail in ((right, _beta_right_tail), (~near & ~right, _beta_left_tail)):
        if side.any():
            out[side] = tail(x[side], a[side], b[side], centre[side], width[side])
    return out


def _beta_series(x, a, b):
    """dx/da for a < 1 and small x by the power series of the cdf, in which ``1/a`` stays apart."""
    mean_log = np.log(x) + _digamma(a + b) - _digamma(a + 1)
    term, total = np.ones_like(x), mean_log / a
    for n in range(1, 60):
        term = term * x * (n - b) / n
        total = total + term / (a + n) * (mean_log + 1 / a - 1 / (a + n))
    return -total * x * np.exp((1 - b) * np.log1p(-x))


def _beta_left_tail(x, a, b, centre, width):
    y, p, q, mean = (v[:, None] for v in (x, a, b, centre))
    slope = np.abs(a - (b - 1) * x / (1 - x))
    scale = 1 / (slope + np.where(a > 1, width, np.minimum(a, width)))
    return x * _integral(
        scale,
        lambda s: -p * s + (q - 1) * np.log1p(-y * np.expm1(-s) / (1 - y)),
        lambda s: mean - np.log(y) + s,
    )


def _beta_right_tail(x, a, b, centre, width):
    y, p, q, mean = (v[:, None] for v in (x, a, b, centre))
    slope = np.abs(b - (a - 1) * (1 - x) / x)
    scale = 1 / (slope + np.where(b > 1, width, np.minimum(b, width)))

    def log_t(s):  # t = 1 - (1 - x) exp(-s), near x for small s
        return np.log(y - (1 - y) * np.expm1(-s))

    return (1 - x) * _integral(
        scale,
        lambda s: -q * s + (p - 1) * (log_t(s) - np.log(y)),
        lambda s: log_t(s) - mean,
    )


def _meta_gamma(input, output):
    return np.broadcast_shapes(input.shape, output.shape), dtype_of(input)


@op(method=False, meta=_meta_gamma, batching="trailing of several", exported=True)
def _standard_gamma_grad(input: Tensor, output: Tensor):
    """The derivative of the gamma samples `output` with regard to their concentrations `input`."""
    _check_floating("_standard_gamma_grad", input, output)
    return _in_blocks(_gamma_derivative, input.dtype, input, output)


def _meta_dirichlet(x, alpha, total):
    return x.shape, dtype_of(x)


@op(method=False, meta=_meta_dirichlet, batching="trailing of several", exported=True)
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor):
    """The derivative of the first share `x` of a beta variable with concentrations `alpha` and
    ``total - alpha`` with regard to `alpha`, over ``1 - x``."""
    _check_floating("_dirichlet_grad", x, alpha, total)
    if not x.shape == alpha.shape == total.shape:
        raise RuntimeError(
            f"_dirichlet_grad: x {shape_text(x.shape)}, alpha {shape_text(alpha.shape)} and total "
            f"{shape_text(total.shape)} must have one shape"
        )

    def derivative(x, alpha, total):
        return _beta_derivative(x, alpha, total - alpha) / (1 - x)

    return _in_blocks(derivative, x.dtype, x, alpha, total)


def _through_shares(grad, input, out):
    """A share grows at the others' cost, in proportion to them."""
    total = input.sum(-1, True).expand_as(input)
    slope = _dirichlet_grad(out, input.contiguous(), total.contiguous())
    return slope * (grad - (out * grad).sum(-1, True))


_standard_gamma.gradient(input=lambda grad, input, out: grad * _standard_gamma_grad(input, out))
_sample_dirichlet.gradient(input=_through_shares)
