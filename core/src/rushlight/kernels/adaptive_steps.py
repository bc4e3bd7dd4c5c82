"""Steps of the adaptive optimizers over lists of arrays: one launch for all of them.

RMSprop, Adagrad, Adadelta, Adamax, NAdam, RAdam, Rprop and averaged descent, in the manner of
`rushlight.kernels.foreach`: items are blocks of 4096 elements, formulas are those of PyTorch's
single-tensor optimizers, every list but the gradients is updated in place. What depends on the
number of a step comes as one tuple of numbers per array; arrays with equal numbers share a launch.
"""

from __future__ import annotations

from rushlight.backends import np
from rushlight.backends.kernel_language import (
    Parameter,
    absolute,
    array,
    f32,
    function,
    i64,
    maximum,
    minimum,
    range_kernel,
    real,
    square_root,
)
from rushlight.backends.worker_pool import TABLE_BLOCK, load
from rushlight.kernels.execution import referenced_by
from rushlight.kernels.foreach import COUNT, TABLE, check_lists, find_row, number, run

__all__ = ["adadelta", "adagrad", "adamax", "asgd", "nadam", "radam", "rmsprop", "rprop"]

mean_kept = Parameter("mean_kept")
momentum_used = Parameter("momentum_used")


@function
def column(row, index, start):
    """The address where a block of one of the arrays of a row starts."""
    size = 4 if real is f32 else 8
    return load(row + 16 + 8 * index) + size * start


@range_kernel
def rmsprop_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, squares (, means if mean_kept)(, momenta if used)."""
    g = array(i64, args)
    width = 5 + mean_kept + momentum_used
    rate, alpha, one_less = real(number(args, 0)), real(number(args, 1)), real(number(args, 2))
    eps, decay = real(number(args, 3)), real(number(args, 4))
    momentum, sign = real(number(args, 5)), real(number(args, 6))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], width, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p, d = array(real, column(row, 0, start)), array(real, column(row, 1, start))
        v = array(real, column(row, 2, start))
        for i in range(n):
            grad = sign * d[i] + decay * p[i]
            square = alpha * v[i] + one_less * grad * grad
            v[i] = square
            if mean_kept == 1:
                m = array(real, column(row, 3, start))
                mean = m[i] + (grad - m[i]) * one_less
                m[i] = mean
                square = square - mean * mean
            update = grad / (square_root(square) + eps)
            if momentum_used == 1:
                b = array(real, column(row, 3 + mean_kept, start))
                update = momentum * b[i] + update
                b[i] = update
            p[i] = p[i] - rate * update


@range_kernel
def adagrad_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, sums of squares."""
    g = array(i64, args)
    rate, eps = real(number(args, 0)), real(number(args, 1))
    decay, sign = real(number(args, 2)), real(number(args, 3))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 5, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p, d = array(real, column(row, 0, start)), array(real, column(row, 1, start))
        s = array(real, column(row, 2, start))
        for i in range(n):
            grad = sign * d[i] + decay * p[i]
            total = s[i] + grad * grad
            s[i] = total
            p[i] = p[i] - rate * (grad / (square_root(total) + eps))


@range_kernel
def adadelta_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, squares of gradients, squares of steps."""
    g = array(i64, args)
    rate, rho, one_less = real(number(args, 0)), real(number(args, 1)), real(number(args, 2))
    eps, decay, sign = real(number(args, 3)), real(number(args, 4)), real(number(args, 5))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 6, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p, d = array(real, column(row, 0, start)), array(real, column(row, 1, start))
        v, u = array(real, column(row, 2, start)), array(real, column(row, 3, start))
        for i in range(n):
            grad = sign * d[i] + decay * p[i]
            square = rho * v[i] + one_less * grad * grad
            v[i] = square
            delta = square_root(u[i] + eps) / square_root(square + eps) * grad
            u[i] = rho * u[i] + one_less * delta * delta
            p[i] = p[i] - rate * delta


@range_kernel
def adamax_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, means, running maxima."""
    g = array(i64, args)
    rate, one_less, beta2 = real(number(args, 0)), real(number(args, 1)), real(number(args, 2))
    eps, decay, sign = real(number(args, 3)), real(number(args, 4)), real(number(args, 5))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 6, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p, d = array(real, column(row, 0, start)), array(real, column(row, 1, start))
        m, u = array(real, column(row, 2, start)), array(real, column(row, 3, start))
        for i in range(n):
            grad = sign * d[i] + decay * p[i]
            mean = m[i] + (grad - m[i]) * one_less
            largest = maximum(beta2 * u[i], absolute(grad) + eps)
            m[i] = mean
            u[i] = largest
            p[i] = p[i] - rate * (mean / largest)


@range_kernel
def nadam_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, means, mean squares."""
    g = array(i64, args)
    of_gradient, of_mean = real(number(args, 0)), real(number(args, 1))
    inverse, one_less = real(1) / real(number(args, 2)), real(number(args, 3))
    beta2, rest = real(number(args, 4)), real(number(args, 5))
    eps, decay = real(number(args, 6)), real(number(args, 7))
    shrink, sign = real(number(args, 8)), real(number(args, 9))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 6, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p, d = array(real, column(row, 0, start)), array(real, column(row, 1, start))
        m, v = array(real, column(row, 2, start)), array(real, column(row, 3, start))
        for i in range(n):
            grad = sign * d[i] + decay * p[i]
            mean = m[i] + (grad - m[i]) * one_less
            square = beta2 * v[i] + rest * grad * grad
            m[i] = mean
            v[i] = square
            update = (of_gradient * grad + of_mean * mean) / (square_root(square) * inverse + eps)
            p[i] = p[i] * shrink - update


@range_kernel
def radam_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, means, mean squares. Divides unless the second number is 0."""
    g = array(i64, args)
    rate, divided = real(number(args, 0)), number(args, 1) != 0
    one_less, beta2, rest = real(number(args, 2)), real(number(args, 3)), real(number(args, 4))
    eps, decay = real(number(args, 5)), real(number(args, 6))
    shrink, sign = real(number(args, 7)), real(number(args, 8))
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 6, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p, d = array(real, column(row, 0, start)), array(real, column(row, 1, start))
        m, v = array(real, column(row, 2, start)), array(real, column(row, 3, start))
        for i in range(n):
            grad = sign * d[i] + decay * p[i]
            m[i] = m[i] + (grad - m[i]) * one_less
            v[i] = beta2 * v[i] + rest * grad * grad
        if divided:
            for i in range(n):
                p[i] = p[i] * shrink - rate * (m[i] / (square_root(v[i]) + eps))
        else:
            for i in range(n):
                p[i] = p[i] * shrink - rate * m[i]


@range_kernel
def rprop_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, gradients before, sizes of steps."""
    g = array(i64, args)
    smaller, larger = real(number(args, 0)), real(number(args, 1))
    least, most, sign = real(number(args, 2)), real(number(args, 3)), real(number(args, 4))
    zero, one = real(0), real(1)
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 6, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p, d = array(real, column(row, 0, start)), array(real, column(row, 1, start))
        before, sizes = array(real, column(row, 2, start)), array(real, column(row, 3, start))
        for i in range(n):
            grad = sign * d[i]
            agreement = grad * before[i]
            factor = larger if agreement > zero else one
            factor = smaller if agreement < zero else factor
            size = minimum(maximum(sizes[i] * factor, least), most)
            kept = zero if agreement < zero else grad
            step = size if kept > zero else zero
            step = step - (size if kept < zero else zero)
            before[i] = kept
            sizes[i] = size
            p[i] = p[i] - step


@range_kernel
def asgd_blocks(args, lo, hi, tid):
    """Lists: parameters, gradients, averages."""
    g = array(i64, args)
    rate, shrink, share = real(number(args, 0)), real(number(args, 1)), real(number(args, 2))
    decay, sign = real(number(args, 3)), real(number(args, 4))
    whole = number(args, 2) == 1
    for block in range(lo, hi):
        row = find_row(g[TABLE], g[COUNT], 5, block)
        start = (block - load(row)) * TABLE_BLOCK
        n = min(TABLE_BLOCK, load(row + 8) - start)
        p, d = array(real, column(row, 0, start)), array(real, column(row, 1, start))
        a = array(real, column(row, 2, start))
        for i in range(n):
            p[i] = p[i] * shrink - rate * (sign * d[i] + decay * p[i])
        if whole:
            for i in range(n):
                a[i] = p[i]
        else:
            for i in range(n):
                a[i] = a[i] + (p[i] - a[i]) * share


def _run_by_numbers(kernel, lists, numbers, shared):
    """One launch for every set of arrays whose own numbers are equal."""
    if not numbers:
        return
    first = numbers[0]
    if all(values == first for values in numbers):
        run(kernel, (), lists, (*map(float, first), *shared))
        return
    for values in sorted(set(numbers)):
        chosen = [i for i, found in enumerate(numbers) if found == values]
        part = [[arrays[i] for i in chosen] for arrays in lists]
        run(kernel, (), part, (*map(float, values), *shared))


def _sign(maximize):
    return -1.0 if maximize else 1.0


# ---- reference -----------------------------------------------------------------------------------


def _gradient(p, g, weight_decay, maximize):
    return (-g if maximize else g).astype(np.float64) + weight_decay * p.astype(np.float64)


def _rmsprop_reference(params, grads, squares, means, momenta, lr, alpha, eps, weight_decay,
                       momentum, maximize):  # fmt: skip
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
    for p, g, total, rate in zip(params, grads, sums, rates, strict=True):
        d = _gradient(p, g, weight_decay, maximize)
        total[...] = new = total + d * d
        p[...] = p - rate * d / (np.sqrt(new) + eps)


def _adadelta_reference(params, grads, squares, deltas, lr, rho, eps, weight_decay, maximize):
    for p, g, v, u in zip(params, grads, squares, deltas, strict=True):
        d = _gradient(p, g, weight_decay, maximize)
        v[...] = square = rho * v + (1 - rho) * d * d
        delta = np.sqrt(u + eps) / np.sqrt(square + eps) * d
        u[...] = rho * u + (1 - rho) * delta * delta
        p[...] = p - lr * delta


def _adamax_reference(params, grads, means, largest, rates, beta1, beta2, eps, weight_decay,
                      maximize):  # fmt: skip
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
    settings = (lr, beta1, beta2, weight_decay, maximize, decoupled)
    for p, g, m, v, own in zip(params, grads, means, squares, numbers, strict=True):
        wide, d, mean, square = _moments(p, g, m, v, settings)
        p[...] = wide - (own[0] * d + own[1] * mean) / (np.sqrt(square) / own[2] + eps)


def _radam_reference(params, grads, means, squares, numbers, lr, beta1, beta2, eps, weight_decay,
                     maximize, decoupled):  # fmt: skip
    settings = (lr, beta1, beta2, weight_decay, maximize, decoupled)
    for p, g, m, v, (rate, divided) in zip(params, grads, means, squares, numbers, strict=True):
        wide, _, mean, square = _moments(p, g, m, v, settings)
        p[...] = wide - rate * (mean / (np.sqrt(square) + eps) if divided else mean)


def _rprop_reference(params, grads, before, sizes, etas, step_sizes, maximize):
    for p, g, e, s in zip(params, grads, before, sizes, strict=True):
        d = _gradient(p, g, 0, maximize)
        agreement = np.sign(d * e)
        s[...] = size = np.clip(s * np.choose(agreement.astype(int) + 1, [etas[0], 1, etas[1]]),
                                *step_sizes)  # fmt: skip
        e[...] = kept = np.where(agreement < 0, 0, d)
        p[...] = p - np.sign(kept) * size


def _asgd_reference(params, grads, averages, numbers, weight_decay, maximize):
    for p, g, a, (rate, shrink, share) in zip(params, grads, averages, numbers, strict=True):
        d = _gradient(p, g, weight_decay, maximize)
        p[...] = wide = p * shrink - rate * d
        a[...] = a + (wide - a) * share


# ---- public --------------------------------------------------------------------------------------


@referenced_by(_rmsprop_reference)
def rmsprop(params, grads, squares, means, momenta, lr, alpha, eps, weight_decay, momentum,
            maximize):  # fmt: skip
    """RMSprop (Tieleman and Hinton, 2012); centered with ``means``, with momentum ``momenta``."""
    check_lists("rmsprop", params=params, grads=grads, squares=squares, means=means,
                momenta=momenta)  # fmt: skip
    kind = (
        ("mean_kept", int(means is not None)),
        ("momentum_used", int(momenta is not None)),
    )
    lists = [x for x in (params, grads, squares, means, momenta) if x is not None]
    run(rmsprop_blocks, kind, lists, (float(lr), float(alpha), 1.0 - alpha, float(eps),
                                      float(weight_decay), float(momentum),
                                      _sign(maximize)))  # fmt: skip


@referenced_by(_adagrad_reference)
def adagrad(params, grads, sums, rates, eps, weight_decay, maximize):
    """Adagrad (Duchi, Hazan and Singer, 2011); ``rates`` hold the learning rate of each array."""
    check_lists("adagrad", params=params, grads=grads, sums=sums, rates=rates)
    _run_by_numbers(adagrad_blocks, (params, grads, sums), [(rate,) for rate in rates],
                    (float(eps), float(weight_decay), _sign(maximize)))  # fmt: skip


@referenced_by(_adadelta_reference)
def adadelta(params, grads, squares, deltas, lr, rho, eps, weight_decay, maximize):
    """Adadelta (Zeiler, 2012)."""
    check_lists("adadelta", params=params, grads=grads, squares=squares, deltas=deltas)
    run(adadelta_blocks, (), (params, grads, squares, deltas),
        (float(lr), float(rho), 1.0 - rho, float(eps), float(weight_decay),
         _sign(maximize)))  # fmt: skip


@referenced_by(_adamax_reference)
def adamax(params, grads, means, largest, rates, beta1, beta2, eps, weight_decay, maximize):
    """Adamax (Kingma and Ba, 2015); ``rates`` are ``lr / (1 - beta1^t)`` of each array."""
    check_lists("adamax", params=params, grads=grads, means=means, largest=largest, rates=rates)
    _run_by_numbers(adamax_blocks, (params, grads, means, largest), [(rate,) for rate in rates],
                    (1.0 - beta1, float(beta2), float(eps), float(weight_decay),
                     _sign(maximize)))  # fmt: skip


@referenced_by(_nadam_reference)
def nadam(params, grads, means, squares, numbers, lr, beta1, beta2, eps, weight_decay, maximize,
          decoupled):  # fmt: skip
    """NAdam (Dozat, 2016).

    ``numbers`` of each array: factor of the gradient, factor of the mean (learning rates in them),
    square root of Adam's second correction.
    """
    check_lists("nadam", params=params, grads=grads, means=means, squares=squares,
                numbers=numbers)  # fmt: skip
    shared = (1.0 - beta1, float(beta2), 1.0 - beta2, float(eps),
              0.0 if decoupled else float(weight_decay),
              float(1 - lr * weight_decay) if decoupled else 1.0, _sign(maximize))  # fmt: skip
    _run_by_numbers(nadam_blocks, (params, grads, means, squares), numbers, shared)


@referenced_by(_radam_reference)
def radam(params, grads, means, squares, numbers, lr, beta1, beta2, eps, weight_decay, maximize,
          decoupled):  # fmt: skip
    """RAdam (Liu et al., 2020).

    ``numbers`` of each array: the learning rate with all corrections, and whether the mean is
    divided by the root of the mean square.
    """
    check_lists("radam", params=params, grads=grads, means=means, squares=squares,
                numbers=numbers)  # fmt: skip
    shared = (1.0 - beta1, float(beta2), 1.0 - beta2, float(eps),
              0.0 if decoupled else float(weight_decay),
              float(1 - lr * weight_decay) if decoupled else 1.0, _sign(maximize))  # fmt: skip
    _run_by_numbers(radam_blocks, (params, grads, means, squares), numbers, shared)


@referenced_by(_rprop_reference)
def rprop(params, grads, before, sizes, etas, step_sizes, maximize):
    """Rprop (Riedmiller and Braun, 1993); ``before`` are the gradients of the step before."""
    check_lists("rprop", params=params, grads=grads, before=before, sizes=sizes)
    run(rprop_blocks, (), (params, grads, before, sizes),
        (*map(float, etas), *map(float, step_sizes), _sign(maximize)))  # fmt: skip


@referenced_by(_asgd_reference)
def asgd(params, grads, averages, numbers, weight_decay, maximize):
    """Averaged descent (Polyak and Juditsky, 1992).

    ``numbers`` of each array: the rate, the factor of the parameter, the share of the new value in
    the average.
    """
    check_lists("asgd", params=params, grads=grads, averages=averages, numbers=numbers)
    _run_by_numbers(asgd_blocks, (params, grads, averages), numbers,
                    (float(weight_decay), _sign(maximize)))  # fmt: skip
