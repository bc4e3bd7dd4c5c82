"""The formulas of the adaptive optimizers, each written once for CPUs and GPUs.

A formula takes one element of every list, then numbers; it gives the new elements of all lists but
the gradients (the second). :mod:`rushlight.kernels.optimizers.adaptive_steps` expands it into a
kernel's loop, :mod:`rushlight.kernels.optimizers.cuda_adaptive_steps` prints it as CUDA C++. They
are those of PyTorch's single-tensor optimizers. ``sign`` is -1 where a function is maximized;
``decay`` times the parameter is added to the gradient, ``shrink`` multiplies the parameter
(decoupled decay).

What depends on the number of a step is of Python's floats: the host evaluates it, and where steps
are counted on a GPU (``capturable``) it is printed too, in double precision. Arguments are the
step (from 1), the scalars of a state, then settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from rushlight.machine.language.functions import (
    Parameter,
    absolute,
    function,
    maximum,
    minimum,
    real,
    square_root,
)

mean_kept = Parameter("mean_kept")
momentum_used = Parameter("momentum_used")


@function
def rmsprop_element(p, d, v, m, b, rate, alpha, one_less, eps, decay, momentum, sign):
    """Parameter, gradient, square, mean (where kept), momentum (where used)."""
    grad = sign * d + decay * p
    square = alpha * v + one_less * grad * grad
    mean, spread = m, square
    if mean_kept == 1:
        mean = m + (grad - m) * one_less
        spread = square - mean * mean
    update = grad / (square_root(spread) + eps)
    if momentum_used == 1:
        update = momentum * b + update
    return p - rate * update, square, mean, update


@function
def adagrad_element(p, d, s, rate, eps, decay, sign):
    """Parameter, gradient, sum of squares."""
    grad = sign * d + decay * p
    total = s + grad * grad
    return p - rate * (grad / (square_root(total) + eps)), total


@function
def adadelta_element(p, d, v, u, rate, rho, one_less, eps, decay, sign):
    """Parameter, gradient, square of gradients, square of steps."""
    grad = sign * d + decay * p
    square = rho * v + one_less * grad * grad
    delta = square_root(u + eps) / square_root(square + eps) * grad
    return p - rate * delta, square, rho * u + one_less * delta * delta


@function
def adamax_element(p, d, m, u, rate, one_less, beta2, eps, decay, sign):
    """Parameter, gradient, mean, running maximum."""
    grad = sign * d + decay * p
    mean = m + (grad - m) * one_less
    largest = maximum(beta2 * u, absolute(grad) + eps)
    return p - rate * (mean / largest), mean, largest


@function
def nadam_element(
    p, d, m, v, of_gradient, of_mean, root, one_less, beta2, rest, eps, decay, shrink, sign
):
    """Parameter, gradient, mean, mean square."""
    inverse = real(1) / root
    grad = sign * d + decay * p
    mean = m + (grad - m) * one_less
    square = beta2 * v + rest * grad * grad
    update = (of_gradient * grad + of_mean * mean) / (square_root(square) * inverse + eps)
    return p * shrink - update, mean, square


@function
def radam_element(p, d, m, v, rate, divided, one_less, beta2, rest, eps, decay, shrink, sign):
    """Parameter, gradient, mean, mean square. The mean is divided unless `divided` is 0."""
    grad = sign * d + decay * p
    mean = m + (grad - m) * one_less
    square = beta2 * v + rest * grad * grad
    update = mean / (square_root(square) + eps) if divided != 0 else mean
    return p * shrink - rate * update, mean, square


@function
def rprop_element(p, d, before, size, smaller_by, larger_by, least, most, sign):
    """Parameter, gradient, gradient before, size of the step."""
    zero, one = real(0), real(1)
    grad = sign * d
    agreement = grad * before
    factor = larger_by if agreement > zero else one
    factor = smaller_by if agreement < zero else factor
    sized = minimum(maximum(size * factor, least), most)
    kept = zero if agreement < zero else grad
    step = sized if kept > zero else zero
    step = step - (sized if kept < zero else zero)
    return p - step, kept, sized


@function
def asgd_element(p, d, a, rate, shrink, share, decay, sign):
    """Parameter, gradient, average; where the share is 1 the average is the parameter."""
    new = p * shrink - rate * (sign * d + decay * p)
    return new, new if share == 1 else a + (new - a) * share


# ---- what depends on the number of a step --------------------------------------------------------


def adagrad_numbers(step, lr, lr_decay):
    """The learning rate of a step."""
    return lr / (1 + (step - 1) * lr_decay)


def adamax_numbers(step, lr, beta1):
    """The learning rate with the correction of the mean."""
    return lr / (1 - beta1**step)


def nadam_momentum(step, beta1, momentum_decay):
    """The momentum of a step."""
    return beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay))


def nadam_product(step, product, lr, beta1, beta2, momentum_decay):
    """The product of all momenta."""
    momentum = nadam_momentum(step, beta1, momentum_decay)
    return product * momentum


def nadam_numbers(step, product, lr, beta1, beta2, momentum_decay):
    """Factors of gradient and mean with the learning rate; the root of the second correction."""
    now = nadam_momentum(step, beta1, momentum_decay)
    following = nadam_momentum(step + 1, beta1, momentum_decay)
    of_gradient, of_mean = (1 - now) / (1 - product), following / (1 - product * following)
    return lr * of_gradient, lr * of_mean, math.sqrt(1 - beta2**step)


def radam_factor(step, beta2):
    """The rectification with Adam's second correction; 0 while the variance is not tractable."""
    limit, power = 2 / (1 - beta2) - 1, beta2**step
    length = limit - 2 * step * power / (1 - power)
    ratio = (
        (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
        if length > 5
        else 0.0
    )
    return math.sqrt(ratio) * math.sqrt(1 - power)


def radam_numbers(step, lr, beta1, beta2):
    """The learning rate with all corrections; 1 where the mean is divided by the root, else 0."""
    factor = radam_factor(step, beta2)
    rate = lr / (1 - beta1**step)
    return rate * factor if factor > 0 else rate, 1.0 if factor > 0 else 0.0


def asgd_numbers(step, eta, mu, lr, lambd, alpha, t0):
    """The rate, the factor of the parameter, the share of the average."""
    return eta, 1 - lambd * eta, mu


def asgd_schedule(step, eta, mu, lr, lambd, alpha, t0):
    """The rate and the share of the average for the step after this one."""
    return lr / ((1 + lambd * lr * step) ** alpha), 1 / max(1.0, step - t0)


class Numbers(NamedTuple):
    """How an optimizer comes to the numbers of a step, with `states` scalars that it keeps.

    ``before`` and ``after`` give new values of all those scalars, `formula` the numbers.
    """

    formula: Callable | None = None
    states: int = 0
    before: Callable | None = None
    after: Callable | None = None


NUMBERS = {
    "count": Numbers(),  # nothing but the step
    "adagrad": Numbers(adagrad_numbers),
    "adamax": Numbers(adamax_numbers),
    "nadam": Numbers(nadam_numbers, 1, before=nadam_product),
    "radam": Numbers(radam_numbers),
    "asgd": Numbers(asgd_numbers, 2, after=asgd_schedule),
}
