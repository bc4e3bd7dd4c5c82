"""Steps of the adaptive optimizers over lists of arrays: one launch for all of them.

RMSprop, Adagrad, Adadelta, Adamax, NAdam, RAdam, Rprop and averaged descent, in the manner of
`rushlight.kernels.optimizers.foreach`: items are blocks of 4096 elements, every list but the
gradients is updated in place. What depends on the number of a step comes as one tuple of numbers
per array; arrays with equal numbers share a launch. `launch` is where a step runs; GPUs give their
own.
"""

from __future__ import annotations

from typing import NamedTuple

from rushlight.kernels.launch.execution import referenced_by
from rushlight.kernels.optimizers.foreach import COUNT, TABLE, check_lists, find_row, number, run
from rushlight.kernels.optimizers.step_formulas import (
    adadelta_element,
    adagrad_element,
    adamax_element,
    asgd_element,
    mean_kept,
    momentum_used,
    nadam_element,
    radam_element,
    rmsprop_element,
    rprop_element,
)
from rushlight.machine import np
from rushlight.machine.language.functions import (
    NativeFunction,
    array,
    function,
    i64,
    range_kernel,
    real,
    stored,
)
from rushlight.machine.worker_pool import TABLE_BLOCK, load

__all__ = ["adadelta", "adagrad", "adamax", "asgd", "nadam", "radam", "rmsprop", "rprop"]


@function
def column(row, index, start):
    """The address where a block of one of the arrays of a row starts."""
    return load(row + 16 + 8 * index) + stored.bits // 8 * start


# ---- walking the table ---------------------------------------------------------------------------


@range_kernel
def rmsprop_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, squares (, means if mean_kept)(, momenta if used)."""
    g = array(i64, args)
    width = 5 + mean_kept + momentum_used
    rate = real(number(args, 0))
    alpha = real(number(args, 1))
    one_less = real(number(args, 2))
    eps = real(number(args, 3))
    decay = real(number(args, 4))
    momentum = real(number(args, 5))
    sign = real(number(args, 6))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], width, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p = array(stored, column(row, 0, start))
        d = array(stored, column(row, 1, start))
        v = array(stored, column(row, 2, start))
        m = array(stored, column(row, 3 if mean_kept == 1 else 2, start))
        b = array(stored, column(row, 3 + mean_kept if momentum_used == 1 else 2, start))
        for i in range(n):
            p[i], v[i], mean, update = rmsprop_element(
                p[i], d[i], v[i], m[i], b[i], rate, alpha, one_less, eps, decay, momentum, sign
            )
            if mean_kept == 1:
                m[i] = mean
            if momentum_used == 1:
                b[i] = update


@range_kernel
def adagrad_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, sums of squares."""
    g = array(i64, args)
    rate = real(number(args, 0))
    eps = real(number(args, 1))
    decay = real(number(args, 2))
    sign = real(number(args, 3))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 5, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p = array(stored, column(row, 0, start))
        d = array(stored, column(row, 1, start))
        s = array(stored, column(row, 2, start))
        for i in range(n):
            p[i], s[i] = adagrad_element(p[i], d[i], s[i], rate, eps, decay, sign)


@range_kernel
def adadelta_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, squares of gradients, squares of steps."""
    g = array(i64, args)
    rate = real(number(args, 0))
    rho = real(number(args, 1))
    one_less = real(number(args, 2))
    eps = real(number(args, 3))
    decay = real(number(args, 4))
    sign = real(number(args, 5))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 6, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p = array(stored, column(row, 0, start))
        d = array(stored, column(row, 1, start))
        v = array(stored, column(row, 2, start))
        u = array(stored, column(row, 3, start))
        for i in range(n):
            p[i], v[i], u[i] = adadelta_element(
                p[i], d[i], v[i], u[i], rate, rho, one_less, eps, decay, sign
            )


@range_kernel
def adamax_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, means, running maxima."""
    g = array(i64, args)
    rate = real(number(args, 0))
    one_less = real(number(args, 1))
    beta2 = real(number(args, 2))
    eps = real(number(args, 3))
    decay = real(number(args, 4))
    sign = real(number(args, 5))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 6, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p = array(stored, column(row, 0, start))
        d = array(stored, column(row, 1, start))
        m = array(stored, column(row, 2, start))
        u = array(stored, column(row, 3, start))
        for i in range(n):
            p[i], m[i], u[i] = adamax_element(
                p[i], d[i], m[i], u[i], rate, one_less, beta2, eps, decay, sign
            )


@range_kernel
def nadam_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, means, mean squares."""
    g = array(i64, args)
    of_gradient = real(number(args, 0))
    of_mean = real(number(args, 1))
    root = real(number(args, 2))
    one_less = real(number(args, 3))
    beta2 = real(number(args, 4))
    rest = real(number(args, 5))
    eps = real(number(args, 6))
    decay = real(number(args, 7))
    shrink = real(number(args, 8))
    sign = real(number(args, 9))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 6, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p = array(stored, column(row, 0, start))
        d = array(stored, column(row, 1, start))
        m = array(stored, column(row, 2, start))
        v = array(stored, column(row, 3, start))
        for i in range(n):
            p[i], m[i], v[i] = nadam_element(
                p[i],
                d[i],
                m[i],
                v[i],
                of_gradient,
                of_mean,
                root,
                one_less,
                beta2,
                rest,
                eps,
                decay,
                shrink,
                sign,
            )


@range_kernel
def radam_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, means, mean squares."""
    g = array(i64, args)
    rate = real(number(args, 0))
    divided = real(number(args, 1))
    one_less = real(number(args, 2))
    beta2 = real(number(args, 3))
    rest = real(number(args, 4))
    eps = real(number(args, 5))
    decay = real(number(args, 6))
    shrink = real(number(args, 7))
    sign = real(number(args, 8))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 6, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p = array(stored, column(row, 0, start))
        d = array(stored, column(row, 1, start))
        m = array(stored, column(row, 2, start))
        v = array(stored, column(row, 3, start))
        for i in range(n):
            p[i], m[i], v[i] = radam_element(
                p[i],
                d[i],
                m[i],
                v[i],
                rate,
                divided,
                one_less,
                beta2,
                rest,
                eps,
                decay,
                shrink,
                sign,
            )


@range_kernel
def rprop_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, gradients before, sizes of steps."""
    g = array(i64, args)
    smaller_by = real(number(args, 0))
    larger_by = real(number(args, 1))
    least = real(number(args, 2))
    most = real(number(args, 3))
    sign = real(number(args, 4))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 6, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p = array(stored, column(row, 0, start))
        d = array(stored, column(row, 1, start))
        before = array(stored, column(row, 2, start))
        size = array(stored, column(row, 3, start))
        for i in range(n):
            p[i], before[i], size[i] = rprop_element(
                p[i], d[i], before[i], size[i], smaller_by, larger_by, least, most, sign
            )


@range_kernel
def asgd_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, averages."""
    g = array(i64, args)
    rate = real(number(args, 0))
    shrink = real(number(args, 1))
    share = real(number(args, 2))
    decay = real(number(args, 3))
    sign = real(number(args, 4))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 5, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p = array(stored, column(row, 0, start))
        d = array(stored, column(row, 1, start))
        a = array(stored, column(row, 2, start))
        if share == 1:  # as a constant: averages are not read
            for i in range(n):
                p[i], same = asgd_element(p[i], d[i], p[i], rate, shrink, 1, decay, sign)
            for i in range(n):
                a[i] = p[i]
        else:
            for i in range(n):
                p[i], a[i] = asgd_element(p[i], d[i], a[i], rate, shrink, share, decay, sign)


class Step(NamedTuple):
    """One optimizer: its kernel, and its formula with the number of lists that it is about."""

    blocks: NativeFunction
    element: NativeFunction
    lists: int
    own: int = 0  # numbers that are an array's own, before those that all share
    optional: tuple = ()  # lists that are there only where a parameter is 1


RMSPROP = Step(rmsprop_blocks, rmsprop_element, 5, 0, (("m", "mean_kept"), ("b", "momentum_used")))
ADAGRAD = Step(adagrad_blocks, adagrad_element, 3, 1)
ADADELTA = Step(adadelta_blocks, adadelta_element, 4)
ADAMAX = Step(adamax_blocks, adamax_element, 4, 1)
NADAM = Step(nadam_blocks, nadam_element, 4, 3)
RADAM = Step(radam_blocks, radam_element, 4, 2)
RPROP = Step(rprop_blocks, rprop_element, 4)
ASGD = Step(asgd_blocks, asgd_element, 3, 3)
STEPS = (RMSPROP, ADAGRAD, ADADELTA, ADAMAX, NADAM, RADAM, RPROP, ASGD)


def launch_all(step, kind, lists, own, shared):
    """Launch a step on the CPU: once for every set of arrays whose own numbers are equal.

    ``own`` holds a tuple of numbers for each array, or is None where there are none.
    """
    if own is None:
        run(step.blocks, kind, lists, shared)
        return
    if not own:
        return
    first = own[0]
    if all(values == first for values in own):
        run(step.blocks, kind, lists, (*map(float, first), *shared))
        return
    for values in sorted(set(own)):
        chosen = [i for i, found in enumerate(own) if found == values]
        part = [[arrays[i] for i in chosen] for arrays in lists]
        run(step.blocks, kind, part, (*map(float, values), *shared))


def _single(rates):
    """Rates as tuples of one number; those of a GPU are rows already."""
    return [(rate,) for rate in rates] if isinstance(rates, (list, tuple)) else rates


def _sign(maximize):
    return -1.0 if maximize else 1.0


# ---- reference -----------------------------------------------------------------------------------


def _gradient(p, g, weight_decay, maximize):
    return (-g if maximize else g).astype(np.float64) + weight_decay * p.astype(np.float64)


def _rmsprop_reference(params, grads, squares, means, momenta, lr, alpha, eps, weight_decay,
                       momentum, maximize):  # fmt: skip
    check_lists("rmsprop", params=params, grads=grads, squares=squares, means=means,
                momenta=momenta)  # fmt: skip
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        d = _gradient(p, g, weight_decay, maximize)
        squares[i][...] = square = alpha * squares[i] + (1 - alpha) * d * d
        if means is not None:
            means[i][...] = mean = means[i] + (d - means[i]) * (1 - alpha)
            square = square - mean * mean
        update = d / (np.sqrt(square) + eps)
        if momenta is not None:
            momenta[i][...] = update = momentum * momenta[i] + update
        p[...] = p - lr * update


def _adagrad_reference(params, grads, sums, rates, eps, weight_decay, maximize):
    check_lists("adagrad", params=params, grads=grads, sums=sums, rates=rates)
    for p, g, total, rate in zip(params, grads, sums, rates, strict=True):
        d = _gradient(p, g, weight_decay, maximize)
        total[...] = new = total + d * d
        p[...] = p - rate * d / (np.sqrt(new) + eps)


def _adadelta_reference(params, grads, squares, deltas, lr, rho, eps, weight_decay, maximize):
    check_lists("adadelta", params=params, grads=grads, squares=squares, deltas=deltas)
    for p, g, v, u in zip(params, grads, squares, deltas, strict=True):
        d = _gradient(p, g, weight_decay, maximize)
        v[...] = square = rho * v + (1 - rho) * d * d
        delta = np.sqrt(u + eps) / np.sqrt(square + eps) * d
        u[...] = rho * u + (1 - rho) * delta * delta
        p[...] = p - lr * delta


def _adamax_reference(params, grads, means, largest, rates, beta1, beta2, eps, weight_decay,
                      maximize):  # fmt: skip
    check_lists("adamax", params=params, grads=grads, means=means, largest=largest, rates=rates)
    for p, g, m, u, rate in zip(params, grads, means, largest, rates, strict=True):
        d = _gradient(p, g, weight_decay, maximize)
        m[...] = mean = m + (d - m) * (1 - beta1)
        u[...] = top = np.maximum(beta2 * u, np.abs(d) + eps)
        p[...] = p - rate * mean / top


def _moments(p, g, m, v, settings):
    """The parameter (decayed), the gradient and the new moments of NAdam and RAdam."""
    lr, beta1, beta2, weight_decay, maximize, decoupled = settings
    wide = p.astype(np.float64) * (1 - lr * weight_decay if decoupled else 1)
    d = _gradient(p, g, 0 if decoupled else weight_decay, maximize)
    m[...] = mean = m + (d - m) * (1 - beta1)
    v[...] = square = beta2 * v + (1 - beta2) * d * d
    return wide, d, mean, square


def _nadam_reference(params, grads, means, squares, numbers, lr, beta1, beta2, eps, weight_decay,
                     maximize, decoupled):  # fmt: skip
    check_lists("nadam", params=params, grads=grads, means=means, squares=squares,
                numbers=numbers)  # fmt: skip
    settings = (lr, beta1, beta2, weight_decay, maximize, decoupled)
    for p, g, m, v, own in zip(params, grads, means, squares, numbers, strict=True):
        wide, d, mean, square = _moments(p, g, m, v, settings)
        p[...] = wide - (own[0] * d + own[1] * mean) / (np.sqrt(square) / own[2] + eps)


def _radam_reference(params, grads, means, squares, numbers, lr, beta1, beta2, eps, weight_decay,
                     maximize, decoupled):  # fmt: skip
    check_lists("radam", params=params, grads=grads, means=means, squares=squares,
                numbers=numbers)  # fmt: skip
    settings = (lr, beta1, beta2, weight_decay, maximize, decoupled)
    for p, g, m, v, (rate, divided) in zip(params, grads, means, squares, numbers, strict=True):
        wide, _, mean, square = _moments(p, g, m, v, settings)
        p[...] = wide - rate * (mean / (np.sqrt(square) + eps) if divided else mean)


def _rprop_reference(params, grads, before, sizes, etas, step_sizes, maximize):
    check_lists("rprop", params=params, grads=grads, before=before, sizes=sizes)
    for p, g, e, s in zip(params, grads, before, sizes, strict=True):
        d = _gradient(p, g, 0, maximize)
        agreement = np.sign(d * e)
        s[...] = size = np.clip(s * np.choose(agreement.astype(int) + 1, [etas[0], 1, etas[1]]),
                                *step_sizes)  # fmt: skip
        e[...] = kept = np.where(agreement < 0, 0, d)
        p[...] = p - np.sign(kept) * size


def _asgd_reference(params, grads, averages, numbers, weight_decay, maximize):
    check_lists("asgd", params=params, grads=grads, averages=averages, numbers=numbers)
    for p, g, a, (rate, shrink, share) in zip(params, grads, averages, numbers, strict=True):
        d = _gradient(p, g, weight_decay, maximize)
        p[...] = wide = p * shrink - rate * d
        a[...] = a + (wide - a) * share


# ---- public --------------------------------------------------------------------------------------


@referenced_by(_rmsprop_reference)
def rmsprop(params, grads, squares, means, momenta, lr, alpha, eps, weight_decay, momentum,
            maximize, launch=launch_all):  # fmt: skip
    """RMSprop (Tieleman and Hinton, 2012); centered with ``means``, with momentum ``momenta``."""
    check_lists("rmsprop", params=params, grads=grads, squares=squares, means=means,
                momenta=momenta)  # fmt: skip
    kind = (
        ("mean_kept", int(means is not None)),
        ("momentum_used", int(momenta is not None)),
    )
    lists = [x for x in (params, grads, squares, means, momenta) if x is not None]
    launch(RMSPROP, kind, lists, None, (float(lr), float(alpha), 1.0 - alpha, float(eps),
                                      float(weight_decay), float(momentum),
                                      _sign(maximize)))  # fmt: skip


@referenced_by(_adagrad_reference)
def adagrad(params, grads, sums, rates, eps, weight_decay, maximize, launch=launch_all):
    """Adagrad (Duchi, Hazan and Singer, 2011); ``rates`` hold the learning rate of each array."""
    check_lists("adagrad", params=params, grads=grads, sums=sums, rates=rates)
    launch(ADAGRAD, (), (params, grads, sums), _single(rates),
                    (float(eps), float(weight_decay), _sign(maximize)))  # fmt: skip


@referenced_by(_adadelta_reference)
def adadelta(
    params, grads, squares, deltas, lr, rho, eps, weight_decay, maximize, launch=launch_all
):
    """Adadelta (Zeiler, 2012)."""
    check_lists("adadelta", params=params, grads=grads, squares=squares, deltas=deltas)
    launch(ADADELTA, (), (params, grads, squares, deltas), None,
           (float(lr), float(rho), 1.0 - rho, float(eps), float(weight_decay),
         _sign(maximize)))  # fmt: skip


@referenced_by(_adamax_reference)
def adamax(
    params,
    grads,
    means,
    largest,
    rates,
    beta1,
    beta2,
    eps,
    weight_decay,
    maximize,
    launch=launch_all,
):
    """Adamax (Kingma and Ba, 2015); ``rates`` are ``lr / (1 - beta1^t)`` of each array."""
    check_lists("adamax", params=params, grads=grads, means=means, largest=largest, rates=rates)
    launch(ADAMAX, (), (params, grads, means, largest), _single(rates),
                    (1.0 - beta1, float(beta2), float(eps), float(weight_decay),
                     _sign(maximize)))  # fmt: skip


@referenced_by(_nadam_reference)
def nadam(params, grads, means, squares, numbers, lr, beta1, beta2, eps, weight_decay, maximize,
          decoupled, launch=launch_all):  # fmt: skip
    """NAdam (Dozat, 2016).

    ``numbers`` of each array: factor of the gradient, factor of the mean (learning rates in them),
    square root of Adam's second correction.
    """
    check_lists("nadam", params=params, grads=grads, means=means, squares=squares,
                numbers=numbers)  # fmt: skip
    shared = (1.0 - beta1, float(beta2), 1.0 - beta2, float(eps),
              0.0 if decoupled else float(weight_decay),
              float(1 - lr * weight_decay) if decoupled else 1.0, _sign(maximize))  # fmt: skip
    launch(NADAM, (), (params, grads, means, squares), numbers, shared)


@referenced_by(_radam_reference)
def radam(params, grads, means, squares, numbers, lr, beta1, beta2, eps, weight_decay, maximize,
          decoupled, launch=launch_all):  # fmt: skip
    """RAdam (Liu et al., 2020).

    ``numbers`` of each array: the learning rate with all corrections, and whether the mean is
    divided by the root of the mean square.
    """
    check_lists("radam", params=params, grads=grads, means=means, squares=squares,
                numbers=numbers)  # fmt: skip
    shared = (1.0 - beta1, float(beta2), 1.0 - beta2, float(eps),
              0.0 if decoupled else float(weight_decay),
              float(1 - lr * weight_decay) if decoupled else 1.0, _sign(maximize))  # fmt: skip
    launch(RADAM, (), (params, grads, means, squares), numbers, shared)


@referenced_by(_rprop_reference)
def rprop(params, grads, before, sizes, etas, step_sizes, maximize, launch=launch_all):
    """Rprop (Riedmiller and Braun, 1993); ``before`` are the gradients of the step before."""
    check_lists("rprop", params=params, grads=grads, before=before, sizes=sizes)
    launch(RPROP, (), (params, grads, before, sizes), None,
           (*map(float, etas), *map(float, step_sizes), _sign(maximize)))  # fmt: skip


@referenced_by(_asgd_reference)
def asgd(params, grads, averages, numbers, weight_decay, maximize, launch=launch_all):
    """Averaged descent (Polyak and Juditsky, 1992).

    ``numbers`` of each array: the rate, the factor of the parameter, the share of the new value in
    the average.
    """
    check_lists("asgd", params=params, grads=grads, averages=averages, numbers=numbers)
    launch(ASGD, (), (params, grads, averages), numbers,
                    (float(weight_decay), _sign(maximize)))  # fmt: skip
