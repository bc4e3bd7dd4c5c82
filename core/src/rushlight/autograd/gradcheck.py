"""Gradients against finite differences: number by number, or along random directions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from rushlight.autograd.engine import grad
from rushlight.autograd.function import Function
from rushlight.autograd.later import later
from rushlight.dtypes import FLOAT, complex128, float64
from rushlight.machine import np
from rushlight.tensor.tensor import Tensor, make_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


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
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` at `inputs` (double precision) with central differences.

    Every number of every input that requires grad is moved, and the change of every number of the
    outputs is compared with the gradients; with `fast_mode` each input is moved along two random
    directions, and the change of a random combination of the outputs is compared. Raises
    :class:`GradcheckError` naming the input, or returns False with ``raise_exception=False``.

    Further checks: gradients of a second backward pass may differ by `nondet_tol`;
    `check_undefined_grad` leaves out gradients of outputs, which has to do as zeros do;
    `check_grad_dtypes` wants gradients in the dtypes of their inputs; `check_forward_ad` compares
    forward mode too; `check_batched_grad` and `check_batched_forward_grad` compare `vmap` of either
    with one call for each direction.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if not (check_backward_ad or check_forward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    _require("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad)
    _require(
        "check_batched_forward_grad", check_batched_forward_grad,
        "check_forward_ad", check_forward_ad,
    )  # fmt: skip
    if masked and any(isinstance(t, Tensor) and t.layout != "strided" for t in inputs):
        raise NotImplementedError("gradcheck: masked=True of sparse tensors; give dense ones")
    _check_inputs(inputs)
    try:
        if check_backward_ad:
            check = _check if fast_mode else _check_fully
            check(func, inputs, eps, atol, rtol, nondet_tol, check_grad_dtypes)
            if check_undefined_grad:
                _check_undefined(func, inputs)
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


def _require(name, given, other, there):
    if given and not there:
        raise AssertionError(f"Setting {name}=True requires {other} to be True")


def _check_inputs(inputs):
    wanted = [(i, t) for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True"
        )
    for i, tensor in wanted:
        if tensor.dtype not in (float64, complex128):
            warnings.warn(
                f"gradcheck: input {i} requires gradient and is of dtype {tensor.dtype}; finite "
                "differences are only exact enough in float64 and complex128",
                stacklevel=3,
            )


def _checked(outputs, wanted, seeds, nondet_tol, dtypes, retain=False):
    """The gradients as arrays, after the checks of their shapes, dtypes and repeatability."""
    runs = [
        grad(outputs, wanted, seeds, retain_graph=retain or not i, allow_unused=True)
        for i in range(2)
    ]
    found = []
    for number, (tensor, *pair) in enumerate(zip(wanted, *runs, strict=True)):
        arrays = [np.zeros_like(tensor._array) if g is None else g._array for g in pair]
        for gradient in pair:
            if gradient is not None and gradient.shape != tensor.shape:
                raise GradcheckError(
                    f"gradient {number} has shape {tuple(gradient.shape)}, its input "
                    f"{tuple(tensor.shape)}"
                )
            if dtypes and gradient is not None and gradient.dtype is not tensor.dtype:
                raise GradcheckError(
                    f"gradient {number} has dtype {gradient.dtype}, its input {tensor.dtype}"
                )
        if not np.allclose(*arrays, 0.0, nondet_tol, equal_nan=True):
            raise GradcheckError(
                f"backward is not reentrant: two passes gave gradients of input {number} that "
                f"differ by more than nondet_tol={nondet_tol}"
            )
        found.append(arrays[0])
    return found


def _check(func, inputs, eps, atol, rtol, nondet_tol, dtypes):
    generator = np.random.default_rng(0)
    outputs = _outputs(func, inputs)
    live = [o for o in outputs if o.requires_grad]
    weights = [
        _scaled_direction(o._array, generator) if o.requires_grad or not live else None
        for o in outputs
    ]
    wanted = [t for t in inputs if isinstance(t, Tensor) and t.requires_grad]
    if live:
        seeds = [
            make_tensor(w, o._dtype) for o, w in zip(outputs, weights, strict=True) if w is not None
        ]
        found = _checked(live, wanted, seeds, nondet_tol, dtypes)
    else:
        found = [np.zeros_like(t._array) for t in wanted]
    for number, (tensor, analytic) in enumerate(zip(wanted, found, strict=True)):
        for _ in range(2):
            step = _direction(tensor._array, generator)
            numeric = _slope(func, inputs, tensor, step, weights, eps)
            expected = _inner(analytic, step)
            if not abs(numeric - expected) <= atol + rtol * abs(numeric):
                raise GradcheckError(
                    f"gradient of input {number} (shape {tuple(tensor.shape)}): analytical slope "
                    f"{expected:.8g}, numerical {numeric:.8g} along a random direction"
                    + _unrecorded(live)
                )


def _unrecorded(live):
    return "" if live else "; no output requires grad, so the numerical slope should be zero"


def _reals(array):
    """The real numbers of an array in a row; a complex one counts as two."""
    row = np.ascontiguousarray(array).reshape(-1)
    return row.view(row.real.dtype)


def _units(array):
    """One array like `array` for each of its real numbers: that one 1, the others 0."""
    for number in range(_reals(array).size):
        unit = np.zeros_like(array, order="C")
        unit.reshape(-1).view(unit.real.dtype)[number] = 1
        yield unit


def _analytical(outputs, wanted, nondet_tol, dtypes):
    """For each input, for each output: rows by the output's numbers, columns by the input's."""
    found = [[] for _ in wanted]
    for output in outputs:
        rows = [
            _checked([output], wanted, [make_tensor(u, output._dtype)], nondet_tol, dtypes, True)
            if output.requires_grad
            else [np.zeros_like(t._array) for t in wanted]
            for u in _units(output._array)
        ]
        for i, tensor in enumerate(wanted):
            width = _reals(tensor._array).size
            found[i].append(np.array([_reals(r[i]) for r in rows]).reshape(len(rows), width))
    return found


def _numerical(call, wanted, place, eps):
    """For each output: its change by each number of one input, in the order of `_analytical`."""
    columns = []
    for unit in _units(wanted[place]._array):
        ends = []
        for sign in (1, -1):
            moved = _displaced(wanted[place], sign * eps * unit)
            ends.append(call(*wanted[:place], moved, *wanted[place + 1 :]))
        columns.append(
            [_reals(a._array - b._array) / (2 * eps) for a, b in zip(*ends, strict=True)]
        )
    return [np.stack(c, 1) for c in zip(*columns, strict=True)]


def _check_fully(func, inputs, eps, atol, rtol, nondet_tol, dtypes):
    """Every entry of every Jacobian."""
    call, _ = _moved(func, inputs)
    wanted = [t for t in inputs if isinstance(t, Tensor) and t.requires_grad]
    outputs = call(*wanted)
    live = [o for o in outputs if o.requires_grad]
    analytical = _analytical(outputs, wanted, nondet_tol, dtypes)
    for number, tensor in enumerate(wanted):
        numerical = _numerical(call, wanted, number, eps) if tensor.numel() else ()
        for place, numeric in enumerate(numerical):
            if live and not outputs[place].requires_grad:
                continue
            analytic = analytical[number][place]
            if not np.allclose(analytic, numeric, rtol, atol, equal_nan=True):
                raise GradcheckError(
                    f"Jacobian mismatch for output {place} (shape {tuple(outputs[place].shape)}) "
                    f"with respect to input {number} (shape {tuple(tensor.shape)}),\nnumerical:\n"
                    f"{numeric}\nanalytical:\n{analytic}" + _unrecorded(live)
                )


def _check_undefined(func, inputs):
    """Outputs without a gradient count as zero, all of them and one at a time."""
    count = sum(o.requires_grad for o in _outputs(func, inputs))
    wanted = [t for t in inputs if isinstance(t, Tensor) and t.requires_grad]
    for missing in [range(count), *([i] for i in range(count) if count > 1)]:
        outputs = [o for o in _outputs(func, inputs) if o.requires_grad]
        ends = [_WithoutGradient.apply(o) if i in missing else o for i, o in enumerate(outputs)]
        seeds = [make_tensor(np.zeros_like(o._array), o._dtype) for o in outputs]
        try:
            found = grad(ends, wanted, seeds, allow_unused=True)
        except (RuntimeError, TypeError, AttributeError) as error:
            raise GradcheckError(
                f"backward fails where the gradients of outputs {list(missing)} are undefined: "
                f"{error}"
            ) from error
        for number, gradient in enumerate(found):
            if gradient is not None and gradient._array.any():
                raise GradcheckError(
                    f"gradient of input {number} is not zero where the gradients of outputs "
                    f"{list(missing)} are undefined and all others zero"
                )


class _WithoutGradient(Function):
    """The identity, which gives no gradient back."""

    @staticmethod
    def forward(ctx, value):
        return value.view_as(value)

    @staticmethod
    def backward(ctx, gradient):
        return None


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
    transforms = later("func")
    generator = np.random.default_rng(2)
    call, wanted = _moved(func, inputs)
    wanted = tuple(t.requires_grad_() for t in wanted)  # the function may take gradients itself
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
    transforms = later("func")
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
        moved = _displaced(tensor, sign * eps * step)
        changed = [moved if t is tensor else t for t in inputs]
        outs = _outputs(func, changed)
        pairs = [(w, o) for w, o in zip(weights, outs, strict=True) if w is not None]
        values.append(sum(_inner(w, o._array) for w, o in pairs))
    return (values[0] - values[1]) / (2 * eps)


def _displaced(tensor, step):
    """A leaf at `tensor` plus `step`, of the same strides."""
    moved = make_tensor(np.asarray(tensor._array + step), tensor._dtype)
    if tensor._array.strides != moved._array.strides and tensor._array.flags.writeable:
        like = np.empty_like(tensor._array)
        like[...] = moved._array
        moved._array = like
    return moved.requires_grad_()


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
) -> bool:
    """:func:`gradcheck` of the gradients of `func`: its second derivatives, by reverse mode and,
    with `check_fwd_over_rev`, by forward mode over it.

    `grad_outputs` are the gradients of the outputs, random ones by default, which
    `gen_non_contig_grad_outputs` spreads in memory.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    for name, given in (
        ("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)
    ):  # fmt: skip
        _require(name, given, "check_rev_over_rev", check_rev_over_rev)
    outputs = [o for o in _outputs(func, inputs) if o.requires_grad]
    if grad_outputs is None:
        seeds = _random_seeds(outputs, gen_non_contig_grad_outputs)
    else:
        seeds = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    seeds = [s.detach().requires_grad_() for s in seeds]
    count = len(inputs)

    def first_order(*values):
        outs = [o for o in _outputs(func, values[:count]) if o.requires_grad]
        wanted = [t for t in values[:count] if isinstance(t, Tensor) and t.requires_grad]
        found = grad(outs, wanted, values[count:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    if not first_order(*inputs, *seeds):
        return True  # gradients that depend on nothing: the second derivatives are zero
    return gradcheck(
        first_order,
        (*inputs, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_seeds(outputs, spread):
    generator = np.random.default_rng(1)
    found = []
    for output in outputs:
        array = _scaled_direction(output._array, generator)
        if spread:
            array = np.stack([array, array], -1)[..., 0]
        found.append(make_tensor(array, output._dtype))
    return found
