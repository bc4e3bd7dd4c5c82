"""Gradients against finite differences, along random directions."""

from __future__ import annotations

import importlib

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
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=True,
    masked=None,
):
    """Compare the gradients of `func` at `inputs` (double precision) with central differences.

    Each input that requires grad is moved along two random directions, and the change of a random
    combination of the outputs is compared with the gradient. Raises :class:`GradcheckError` naming
    the input, or returns False with ``raise_exception=False``. `check_forward_ad` compares forward
    mode too; `check_batched_grad` and `check_batched_forward_grad` compare `vmap` of either with
    one call for each direction.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if not (check_backward_ad or check_forward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if masked:
        raise NotImplementedError("gradcheck: masked=True is for sparse tensors; give dense ones")
    try:
        if check_backward_ad:
            _check(func, inputs, eps, atol, rtol)
        if check_forward_ad:
            _check_forward(func, inputs, eps, atol, rtol)
        if check_batched_grad:
            _check_batched(func, inputs, False, atol, rtol)
        if check_batched_forward_grad:
            _check_batched(func, inputs, True, atol, rtol)
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


def _moved(func, inputs):
    """The function of those inputs that require grad, and these."""
    places = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]

    def call(*tensors):
        given = list(inputs)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        return tuple(_outputs(func, given))

    return call, tuple(inputs[i].detach() for i in places)


def _check_forward(func, inputs, eps, atol, rtol):
    """Tangents along a random direction against central differences."""
    transforms = importlib.import_module("rushlight.func")
    generator = np.random.default_rng(2)
    call, wanted = _moved(func, inputs)
    steps = [_scaled_direction(t._array, generator) for t in wanted]
    moves = tuple(make_tensor(s, t._dtype) for s, t in zip(steps, wanted, strict=True))
    values, tangents = transforms.jvp(call, wanted, moves)
    ends = []
    for sign in (1, -1):
        ends.append(call(*[
            make_tensor(np.asarray(t._array + sign * eps * s), t._dtype).requires_grad_()
            for t, s in zip(wanted, steps, strict=True)
        ]))  # fmt: skip
    for number, (high, low, tangent) in enumerate(zip(*ends, tangents, strict=True)):
        slope = (high._array - low._array) / (2 * eps)
        if not np.allclose(tangent.detach()._array, slope, rtol, atol, equal_nan=True):
            raise GradcheckError(
                f"the tangent of output {number} (shape {list(values[number].shape)}) by forward "
                "mode differs from finite differences along a random direction"
            )


def _check_batched(func, inputs, forward, atol, rtol):
    """Two directions in one batched pass against one at a time."""
    transforms = importlib.import_module("rushlight.func")
    generator = np.random.default_rng(3)
    call, wanted = _moved(func, inputs)
    outputs, pull = transforms.vjp(call, *wanted)

    def push(*moves):
        return transforms.jvp(call, wanted, moves)[1]

    run, ends = (push, wanted) if forward else (lambda *v: pull(v), outputs)
    rows = [
        make_tensor(np.stack([_scaled_direction(o._array, generator) for _ in range(2)]), o._dtype)
        for o in ends
    ]
    found = transforms.vmap(run)(*rows)
    for i in range(2):
        for number, (batch, one) in enumerate(zip(found, run(*[r[i] for r in rows]), strict=True)):
            if not np.allclose(batch[i]._array, one._array, rtol, atol, equal_nan=True):
                raise GradcheckError(
                    f"{'tangent' if forward else 'gradient'} {number} differs between vmap and "
                    "single directions"
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


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    **options,
):
    """:func:`gradcheck` of the gradients of `func`: its second derivatives, by reverse mode and,
    with `check_fwd_over_rev`, by forward mode over it."""
    options = {
        **options,
        "check_forward_ad": check_fwd_over_rev,
        "check_backward_ad": check_rev_over_rev,
    }
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
