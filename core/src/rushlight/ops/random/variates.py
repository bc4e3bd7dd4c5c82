"""Rarer distributions: Cauchy, geometric, log-normal, Poisson and binomial samples.

Poisson and binomial samples of small means come from products and sums of uniforms, others by
Hormann's transformed rejection ("The transformed rejection method for generating Poisson random
variables" and "The generation of binomial random variates", both 1993).
"""

from __future__ import annotations

import math

from rushlight.dtypes import FLOAT, refuse_limited
from rushlight.kernels.random.samples import drawn
from rushlight.machine import np
from rushlight.ops._table.domains import positive
from rushlight.ops._table.op import composite
from rushlight.ops.random.functional_draws import draws
from rushlight.ops.random.sampling import _engine, _fill, _float, real_numbers, transformable
from rushlight.tensor.memory_format import contiguous_format
from rushlight.tensor.tensor import Tensor, make_tensor


@draws(
    "cauchy_(Tensor(a!) self, float median=0.0, float sigma=1.0, *, Generator? generator=None) -> "
    "Tensor(a!)",
    by_value="cauchy",
)
def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
    """Fill with Cauchy samples around `median` of scale `sigma`."""
    median, sigma = real_numbers("cauchy_", median=median, sigma=sigma)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    _float(self._dtype, "cauchy_")
    return _fill(self, lambda engine, count, _: engine.cauchy(count, median, sigma), generator)


@draws(
    "geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)",
    by_value="geometric",
)
def geometric_(self, p, *, generator=None):
    """Fill with the number of trials until one of probability `p` succeeds."""
    (p,) = real_numbers("geometric_", p=p)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    refuse_limited("geometric_", self._dtype)
    return _fill(self, lambda engine, count, _: engine.geometric(count, p), generator)


@draws(
    "log_normal_(Tensor(a!) self, float mean=1.0, float std=2.0, *, Generator? generator=None) -> "
    "Tensor(a!)",
    by_value="log_normal",
)
def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
    """Fill with ``exp`` of normal samples of `mean` and `std`."""
    mean, std = real_numbers("log_normal_", mean=mean, std=std)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    _float(self._dtype, "log_normal_")

    def draw(engine, count, _):
        with np.errstate(over="ignore"):
            return np.exp(engine.serial_normals(count) * std + mean)

    return _fill(self, draw, generator)


Tensor.cauchy_, Tensor.geometric_, Tensor.log_normal_ = cauchy_, geometric_, log_normal_


# ------------------------------------------------------------------------------------------ Poisson
def _poisson(uniform, rate):
    """One Poisson sample."""
    if rate == 0:
        return 0
    return _poisson_by_product(uniform, rate) if rate < 10 else _poisson_by_rejection(uniform, rate)


def _poisson_by_product(uniform, rate):
    limit, product, count = math.exp(-rate), 1.0, 0
    while True:
        product *= uniform()
        if product <= limit:
            return count
        count += 1


def _poisson_by_rejection(uniform, rate):
    root = math.sqrt(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    bound = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= bound:
            return k
        if k < 0 or us < 0.013 and v > us:
            continue
        left = _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if left <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k


def _log(x):
    return math.log(x) if x > 0 else -math.inf


@composite(method=False, samples="unary", domain=positive)
def poisson(input: Tensor, generator=None):
    """Poisson samples with the rates in `input`, in its dtype.

    >>> rushlight.poisson(rushlight.zeros(2))
    tensor([0., 0.])
    """
    return _poisson_samples(input, generator)


@transformable
def _poisson_samples(input, generator):
    _float(input._dtype, poisson.op.name)
    if input.is_meta:
        return input.clone(memory_format=contiguous_format)
    if input.is_cuda:  # by rejection, number by number: drawn on the CPU
        return poisson(input.cpu(), generator).to(input.device)
    rates = input._array.reshape(-1).astype(float)
    if rates.size and not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    engine = _engine(generator)
    with engine.lock:
        found = drawn(poisson.op.name, engine, rates)
        if found is None:
            found = engine.one_by_one(_poisson, rates.tolist())
    return _like(found, input)


def _like(samples, input):
    """Samples in the shape and dtype of a tensor, whose gradient through them is 0."""
    array = samples.reshape(input._array.shape).astype(input._array.dtype)
    made = make_tensor(array, input._dtype)
    return made + input * 0 if input.requires_grad else made


# ----------------------------------------------------------------------------------------- binomial
def _binomial(uniform, count, chance):
    """One binomial sample."""
    if count <= 0 or chance <= 0:
        return 0
    if chance >= 1:
        return count
    if chance != chance:
        return math.nan
    rare = min(chance, 1 - chance)
    few = count * rare < 10
    found = (_binomial_by_gaps if few else _binomial_by_rejection)(uniform, count, rare)
    return found if chance <= 0.5 else count - found


def _binomial_by_gaps(uniform, count, chance):
    """Sums of geometric gaps between successes."""
    scale, total, found = math.log1p(-chance), 0.0, 0
    while True:
        u = uniform()
        total += math.ceil(math.log(u) / scale) if u > 0 else math.inf
        if total > count:
            return found
        found += 1


def _stirling_tail(k):
    """``log(k!)`` less Stirling's formula for it."""
    if k > 9:
        square = (k + 1) ** 2
        return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    stirling = 0.5 * math.log(2 * math.pi) + (k + 0.5) * math.log(k + 1) - (k + 1)
    return math.lgamma(k + 1) - stirling


def _binomial_by_rejection(uniform, count, chance):
    deviation = math.sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    centre, ratio = count * chance + 0.5, chance / (1 - chance)
    bound, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * deviation
    top = math.floor((count + 1) * chance)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + centre)
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= bound:
            return k
        limit = (
            (top + 0.5) * math.log((top + 1) / (ratio * (count - top + 1)))
            + (count + 1) * math.log((count - top + 1) / (count - k + 1))
            + (k + 0.5) * math.log(ratio * (count - k + 1) / (k + 1))
            + _stirling_tail(top)
            + _stirling_tail(count - top)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        if _log(v * alpha / (a / (us * us) + b)) <= limit:
            return k


# PyTorch has no derivative; here it is 0, as that of Poisson samples.
@composite(
    method=False,
    samples=lambda make: [(make(3, 4).round(), make(3, 4) / 5)],
    domain=positive,
    sweep=(2,),
    differentiable=False,
)
def binomial(count: Tensor, prob: Tensor, generator=None):
    """Binomial samples of `count` trials of probability `prob` each, broadcast, in their dtype."""
    return _binomial_samples(count, prob, generator)


@transformable
def _binomial_samples(count, prob, generator):
    from rushlight.ops.shape.views import broadcast_tensors

    if count._dtype is not prob._dtype or count._dtype.category != FLOAT:
        raise RuntimeError(
            f"binomial: count and prob must have one floating-point dtype; got {count._dtype} and "
            f"{prob._dtype}"
        )
    count, prob = broadcast_tensors(count, prob)
    if prob.is_meta:
        return prob.clone(memory_format=contiguous_format)
    if prob.is_cuda:  # by rejection, number by number: drawn on the CPU
        return binomial(count.cpu(), prob.cpu(), generator).to(prob.device)
    columns = [t._array.reshape(-1).astype(float) for t in (count, prob)]
    engine = _engine(generator)
    with engine.lock:
        found = drawn(binomial.op.name, engine, *columns)
        if found is None:
            found = engine.one_by_one(_binomial, *(column.tolist() for column in columns))
    return _like(found, prob)
