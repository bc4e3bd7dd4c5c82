"""Gradients against finite differences, along random directions."""

from __future__ import annotations

from rushlight.autograd.engine import grad
from rushlight.backends import np
from rushlight.dtypes import FLOAT
from rushlight.tensor.tensor import Tensor, make_tensor


class GradcheckError(RuntimeError):
    """An analytical gradient that finite differences contradict."""


def _outputs(function, inputs):
    found = function(*inputs)
    found = found if isinstance(found, (tuple, list)) else (found,)
    return [t for t in found if isinstance(t, Tensor) and t._dtype.category >= FLOAT]


def _direction(array, generator):
    """A random array of length one like `array`."""
    step = generator.standard_normal(array.shape)
    if array.dtype.kind == "c":
        step = step + 1j * generator.standard_normal(array.shape)
    return np.asarray(step / max(np.sqrt((np.abs(step) ** 2).sum()), 1e-30), array.dtype)


def _scaled_direction(array, generator):
    """A direction whose elements are of order one."""
    return np.asarray(_direction(array, generator) * max(array.size, 1) ** 0.5)


def _inner(a, b):
    return float(np.real(np.vdot(a, b)))


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=False,
    check_grad_dtypes=False,
    check_batched_grad=False,
    fast_mode=True,
):
    """Compare the gradients of `func` at `inputs` (double precision) with central differences.

    Each input that requires grad is moved along two random directions, and the change of a random
    combination of the outputs is compared with the gradient. Raises :class:`GradcheckError` naming
    the input, or returns False with ``raise_exception=False``.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        _check(func, inputs, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(func, inputs, eps, atol, rtol):
    generator = np.random.default_rng(0)
    outputs = _outputs(func, inputs)
    weights = [_scaled_direction(o._array, generator) if o.requires_grad else None for o in outputs]
    wanted = [t for t in inputs if isinstance(t, Tensor) and t.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input that requires grad")
    live = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    if not live:
        raise GradcheckError("no output requires grad, though an input does")
    seeds = [make_tensor(w, o._dtype) for o, w in live]
    found = grad([o for o, _ in live], wanted, seeds, allow_unused=True)
    for number, (tensor, gradient) in enumerate(zip(wanted, found, strict=True)):
        array = tensor._array
        analytic = np.zeros_like(array) if gradient is None else gradient._array
        if analytic.shape != array.shape:
            raise GradcheckError(
                f"gradient {number} has shape {analytic.shape}, its input {array.shape}"
            )
        for _ in range(2):
            step = _direction(array, generator)
            numeric = _slope(func, inputs, tensor, step, weights, eps)
            expected = _inner(analytic, step)
            if not abs(numeric - expected) <= atol + rtol * abs(numeric):
                raise GradcheckError(
                    f"gradient of input {number} (shape {tuple(array.shape)}): analytical slope "
                    f"{expected:.8g}, numerical {numeric:.8g} along a random direction"
                )


def _slope(func, inputs, tensor, step, weights, eps):
    """The central difference of the weighted outputs along `step` in one input."""
    values = []
    for sign in (1, -1):
        moved = make_tensor(np.asarray(tensor._array + sign * eps * step), tensor._dtype)
        if tensor._array.strides != moved._array.strides and tensor._array.flags.writeable:
            like = np.empty_like(tensor._array)
            like[...] = moved._array
            moved._array = like
        moved.requires_grad_()
        changed = [moved if t is tensor else t for t in inputs]
        outs = _outputs(func, changed)
        pairs = [(w, o) for w, o in zip(weights, outs, strict=True) if w is not None]
        values.append(sum(_inner(w, o._array) for w, o in pairs))
    return (values[0] - values[1]) / (2 * eps)


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, **options):
    """:func:`gradcheck` of the gradients of `func`: its second derivatives."""
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    generator = np.random.default_rng(1)
    outputs = [o for o in _outputs(func, inputs) if o.requires_grad]
    seeds = grad_outputs or [
        make_tensor(_scaled_direction(o._array, generator), o._dtype) for o in outputs
    ]
    seeds = [s.detach().requires_grad_() for s in seeds]
    count = len(inputs)

    def first_order(*values):
        outs = [o for o in _outputs(func, values[:count]) if o.requires_grad]
        wanted = [t for t in values[:count] if isinstance(t, Tensor) and t.requires_grad]
        found = grad(outs, wanted, values[count:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    if not first_order(*inputs, *seeds):
        return True  # gradients that depend on nothing: the second derivatives are zero
    return gradcheck(first_order, (*inputs, *seeds), eps=eps, atol=atol, rtol=rtol, **options)
