"""Compiled samples by rejection: gamma, Poisson and binomial, each of as many 53-bit uniforms of
MT19937 as it needs, in PyTorch's order. Import at first need: it imports the compiler.

No product and sum are fused here: the numbers are those of the formulas as they stand.
"""

from __future__ import annotations

from rushlight.kernels.random.mersenne_twister import WORDS, temper, twist
from rushlight.machine.language.functions import (
    External,
    NativeFunction,
    Parameter,
    absolute,
    array,
    f32,
    f64,
    floor,
    i32,
    i64,
    infinity,
    quiet_nan,
    shared_function,
    square_root,
    stack,
    u32,
)

# Argument words.
STATE, CACHED, OUT, FIRST, SECOND, COUNT = range(6)

single = Parameter("single")  # 1: a concentration is prepared in float32

exp, log, log1p = (External(n, f64, (f64,)) for n in ("exp", "log", "log1p"))
sine, cosine, lgamma = (External(n, f64, (f64,)) for n in ("sin", "cos", "lgamma"))
power = External("pow", f64, (f64, f64))

TWO_PI = 6.283185307179586
THIRD = 0.3333333432674408  # in float32, as in PyTorch
HALF_LOG_TWO_PI = 0.9189385332046727


def _exact(definition):
    """A function expanded where it is called, without fused products and sums."""
    return NativeFunction(definition, "inline", ())


def _kernel(definition):
    return NativeFunction(definition, "entry", (), (i64,) * 4, None)


@shared_function
def pair(state) -> i64:  # type: ignore[valid-type]
    """The next 53 bits of the generator, the first word high."""
    key, place = array(u32, state), array(i32, state + 4 * WORDS)
    words = array(i64, stack(2))
    for i in range(2):
        position = i64(place[0])
        if position >= WORDS:
            twist(key)
            position = i64(0)
        words[i] = i64(temper(key[position]))
        place[0] = i32(position + 1)
    return ((words[0] & 0x1FFFFF) << 32) | words[1]


@_exact
def uniform(state):
    """The next number in [0, 1)."""
    return f64(pair(state)) * 1.1102230246251565e-16


@_exact
def normal(state, cached):
    """One normal of a Box-Muller pair; `cached` holds whether there is the other, and it."""
    value = cached[1]
    if cached[0] != 0.0:
        cached[0] = 0.0
    else:
        first = uniform(state)
        second = uniform(state)
        radius = square_root(-2.0 * log1p(-second))
        theta = TWO_PI * first
        cached[0] = 1.0
        cached[1] = radius * sine(theta)
        value = radius * cosine(theta)
    return value


@_exact
def prepared(x):
    """A number in the precision in which concentrations are prepared."""
    if single == 1:
        return f64(f32(x))
    return x


@_kernel
def gamma(args, lo, hi, tid):
    """The one item: standard gamma samples of the concentrations FIRST (Marsaglia and Tsang)."""
    g = array(i64, args)
    state, cached = g[STATE], array(f64, g[CACHED])
    out, concentrations = array(f64, g[OUT]), array(f64, g[FIRST])
    for i in range(g[COUNT]):
        alpha = concentrations[i]
        result = f64(0.0)
        if alpha != 0.0:
            scale = f64(1.0)
            if alpha < 1.0:
                scale = power(1.0 - uniform(state), prepared(1.0 / alpha))
                alpha = prepared(alpha + 1.0)
            d = prepared(alpha - THIRD)
            c = 1.0 / square_root(9.0 * d)
            wanted = i64(1)
            while wanted == 1:
                x = normal(state, cached)
                y = 1.0 + c * x
                if y > 0.0:
                    v = y * y * y
                    u = 1.0 - uniform(state)
                    square = x * x
                    result = scale * d * v
                    if u < 1.0 - 0.0331 * square * square:
                        wanted = i64(0)
                    elif log(u) < 0.5 * square + d * (1.0 - v + log(v)):
                        wanted = i64(0)
        out[i] = result


@_exact
def poisson_by_product(state, rate):
    """Small rates: how many uniforms multiply to more than exp(-rate)."""
    limit = exp(-rate)
    product = uniform(state)
    count = f64(0.0)
    while product > limit:
        product = product * uniform(state)
        count = count + 1.0
    return count


@_exact
def poisson_by_rejection(state, rate):
    """Others (Hormann's PTRS)."""
    b = 0.931 + 2.53 * square_root(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    bound = 0.9277 - 3.6224 / (b - 2.0)
    k = f64(0.0)
    wanted = i64(1)
    while wanted == 1:
        u = uniform(state) - 0.5
        v = uniform(state)
        us = 0.5 - absolute(u)
        k = floor((2.0 * a / us + b) * u + rate + 0.43)
        outside = (k < 0.0) | ((us < 0.013) & (v > us))
        if (us >= 0.07) & (v <= bound):
            wanted = i64(0)
        elif not outside:
            left = log(v) + log(inverse_alpha) - log(a / (us * us) + b)
            if left <= -rate + k * log(rate) - lgamma(k + 1.0):
                wanted = i64(0)
    return k


@_kernel
def poisson(args, lo, hi, tid):
    """The one item: samples of the rates FIRST."""
    g = array(i64, args)
    out, rates = array(f64, g[OUT]), array(f64, g[FIRST])
    for i in range(g[COUNT]):
        rate = rates[i]
        found = f64(0.0)
        if rate >= 10.0:
            found = poisson_by_rejection(g[STATE], rate)
        elif rate > 0.0:
            found = poisson_by_product(g[STATE], rate)
        out[i] = found


@_exact
def binomial_by_gaps(state, count, chance):
    """Few successes: sums of geometric gaps between them."""
    scale = log1p(-chance)
    total = f64(0.0)
    found = f64(-1.0)
    while total <= count:
        u = uniform(state)
        gap = infinity(f64)
        if u > 0.0:
            gap = -floor(-(log(u) / scale))
        total = total + gap
        found = found + 1.0
    return found


@_exact
def stirling_tail(k):
    """``log(k!)`` less Stirling's formula for it."""
    square = (k + 1.0) * (k + 1.0)
    tail = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
    if k <= 9.0:
        tail = lgamma(k + 1.0) - (HALF_LOG_TWO_PI + (k + 0.5) * log(k + 1.0) - (k + 1.0))
    return tail


@_exact
def binomial_by_rejection(state, count, chance):
    """Others (Hormann's BTRS)."""
    deviation = square_root(count * chance * (1.0 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    centre = count * chance + 0.5
    ratio = chance / (1.0 - chance)
    bound = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    top = floor((count + 1.0) * chance)
    k = f64(0.0)
    wanted = i64(1)
    while wanted == 1:
        u = uniform(state) - 0.5
        v = uniform(state)
        us = 0.5 - absolute(u)
        k = floor((2.0 * a / us + b) * u + centre)
        if (k >= 0.0) & (k <= count):
            if (us >= 0.07) & (v <= bound):
                wanted = i64(0)
            else:
                limit = (
                    (top + 0.5) * log((top + 1.0) / (ratio * (count - top + 1.0)))
                    + (count + 1.0) * log((count - top + 1.0) / (count - k + 1.0))
                    + (k + 0.5) * log(ratio * (count - k + 1.0) / (k + 1.0))
                    + stirling_tail(top)
                    + stirling_tail(count - top)
                    - stirling_tail(k)
                    - stirling_tail(count - k)
                )
                if log(v * alpha / (a / (us * us) + b)) <= limit:
                    wanted = i64(0)
    return k


@_kernel
def binomial(args, lo, hi, tid):
    """The one item: samples of FIRST trials of the chance SECOND."""
    g = array(i64, args)
    out, counts, chances = array(f64, g[OUT]), array(f64, g[FIRST]), array(f64, g[SECOND])
    for i in range(g[COUNT]):
        count = counts[i]
        chance = chances[i]
        found = f64(0.0)
        if (count > 0.0) & (chance > 0.0):
            rare = chance
            if chance > 0.5:
                rare = 1.0 - chance
            if chance >= 1.0:
                found = count
            else:
                if count * rare < 10.0:
                    found = binomial_by_gaps(g[STATE], count, rare)
                else:
                    found = binomial_by_rejection(g[STATE], count, rare)
                if chance > 0.5:
                    found = count - found
        elif (count > 0.0) & (chance != chance):
            found = quiet_nan(f64)
        out[i] = found
