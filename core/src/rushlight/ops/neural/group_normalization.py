"""Group and instance normalization."""

from __future__ import annotations

from rushlight.autograd.mode import mode, no_grad
from rushlight.errors import shape_text
from rushlight.kernels.normalization import groups as kernels
from rushlight.ops._calls.direct import arrays_of, on_arrays, tensor_of, tensors_of, unrecorded
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.op import op
from rushlight.ops._table.second_order import with_history
from rushlight.ops._table.shape_rules import batch_gradients, group_normalized
from rushlight.ops.neural import saved_values
from rushlight.ops.neural.normalization import (
    _batch_norm_eval,
    _channels,
    _native_batch_norm_legit_functional,
    _nothing_normalized,
    asked,
    check_dtypes,
)
from rushlight.ops.shape.copying import in_format_of
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.overriding import by_override
from rushlight.tensor.tensor import EXACT, Tensor


def _samples(make):
    return [
        ((make(2, 6, 5), 3, make(6), make(6), 1e-5), {}),
        ((make(3, 4, 2, 3), 1, make(4), None, 1e-3), {}),
        ((make(3, 4), 2, None, None, 1e-3), {}),
    ]


@op(
    meta=group_normalized,
    method=False,
    samples=_samples,
    node="NativeGroupNorm",
    autocast="input",
    autocast_on_gpu="float32",
    batching="group_norm",
    saves="C: HxW: N: eps group:groups input result1: result2: weight",
    saves_as=saved_values.GROUPS,
)
def _group_norm(input: Tensor, groups, weight: Tensor | None, bias: Tensor | None, eps):
    """Groups of channels normalized; also their mean and inverse deviation, (N * groups,)."""
    return kernels.group_norm_forward(input, groups, weight, bias, eps)


def _gradient_shapes(grad, input, *_options):
    return batch_gradients(grad, input)


@op(
    meta=_gradient_shapes,
    method=False,
    differentiable=False,
    tested_by="_group_norm",
    samples=lambda make: [],
    batching="group_norm_backward",
)
def _group_norm_backward(
    grad: Tensor, input: Tensor, groups, weight: Tensor | None, mean: Tensor, rstd: Tensor
):
    """The three gradients of group normalization by one kernel."""
    return kernels.group_norm_backward(grad, input, groups, weight, mean, rstd)


@_group_norm.gradients("input", "weight", "bias")
def _group_norm_gradient(grad, input, groups, weight, eps, out1, out2, needs):
    if on_arrays(grad, input, weight, out1, out2):
        x, dy, *rows = arrays_of(input, grad, weight, out1, out2)
        return tensors_of(kernels.group_norm_backward(dy, x, groups, *rows, needs))
    if not mode.recording:
        found = _group_norm_backward(grad, input, groups, weight, out1, out2)
        return asked(found, needs, input, weight)
    shape = tuple(input.shape)
    rows = input.reshape(shape[0], groups, -1)
    centred = rows - rows.mean(2, True)
    rstd = ((centred * centred).mean(2, True) + eps).rsqrt()
    normal = centred * rstd
    scaled = grad if weight is None else grad * _channels(weight, grad.dim())
    scaled = scaled.reshape(shape[0], groups, -1)
    inner = scaled - scaled.mean(2, True) - normal * (scaled * normal).mean(2, True)
    axes = (0, *range(2, len(shape)))
    return (
        (inner * rstd).reshape(shape),
        (grad * normal.reshape(shape)).sum(axes) if needs[1] else None,
        grad.sum(axes) if needs[2] else None,
    )


def _per_channel(name, input, **vectors):
    """Raise unless each vector that is there has a value for every channel."""
    check_dtypes(name, input, *vectors.values())
    for what, vector in vectors.items():
        if vector is not None and tuple(vector.shape) != (input.shape[1],):
            raise RuntimeError(
                f"{name}: Expected {what} to be a vector of size equal to the number of channels "
                f"in input, but got {what} of shape {shape_text(vector.shape)} and input of shape "
                f"{shape_text(input.shape)}"
            )


@in_aten(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    call=lambda input, num_groups, weight=None, bias=None, eps=1e-05: ("group_norm", {
        "input": input, "num_groups": num_groups, "weight": weight, "bias": bias, "eps": eps,
        "cudnn_enabled": False,
    }),
)  # fmt: skip
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Groups of channels of (N, C, ...) with mean 0 and variance 1. (Wu and He, 2018.)

    `weight` and `bias` have a value for every channel, (C,). Raises RuntimeError where
    `num_groups` does not divide the channels.
    """
    if STATE.modes or type(input) not in EXACT:
        found = by_override(group_norm, locals())
        if found is not NotImplemented:
            return found
    if type(eps) is float and unrecorded(input, weight, bias):
        rows = (None if row is None else row._array for row in (weight, bias))
        found = kernels.known(input._array, num_groups, *rows, eps)
        if found is not None:
            return tensor_of(found[0])
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if input.shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {shape_text(input.shape)} and num_groups={num_groups}"
        )
    _per_channel("group_norm", input, weight=weight, bias=bias)
    if not input.numel():
        return _nothing_normalized(input, weight, bias)
    if input.numel() == input.shape[0] * num_groups and input.shape[0] == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size "
            f"{shape_text(input.shape)}"
        )
    return in_format_of(input, _group_norm(input, num_groups, weight, bias, eps)[0])


def _instance_form(input, running_mean=None, running_var=None, weight=None, bias=None,
                   use_input_stats=True, momentum=0.1, eps=1e-05):  # fmt: skip
    return "instance_norm", {
        "input": input, "weight": weight, "bias": bias, "running_mean": running_mean,
        "running_var": running_var, "use_input_stats": use_input_stats, "momentum": momentum,
        "eps": eps, "cudnn_enabled": False,
    }  # fmt: skip


def _functional(input, running_mean=None, running_var=None, weight=None, bias=None,
                use_input_stats=True, momentum=0.1, eps=1e-05):  # fmt: skip
    """In a program without writes the new statistics are values that the buffers get."""
    if not use_input_stats or running_mean is None or not input.numel():
        return NotImplemented
    n, c, *sizes = input.shape
    vectors = (
        None if each is None else each.repeat(n)
        for each in (weight, bias, running_mean, running_var)
    )
    rows = input.reshape(1, n * c, *sizes)
    out, _, _, mean, var = _native_batch_norm_legit_functional(rows, *vectors, True, momentum, eps)
    running_mean.copy_(mean.view(n, c).mean(0))
    running_var.copy_(var.view(n, c).mean(0))
    return out.reshape(*input.shape)


@in_aten(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> "
    "Tensor",
    call=_instance_form,
    functional=_functional,
)
def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-05,
):
    """Every channel of every sample of (N, C, ...) with mean 0 and variance 1.

    `running_mean` and `running_var` (C,) take the means over all samples in, with weight
    `momentum`; they are used instead where not `use_input_stats`. (Ulyanov et al., 2016.)
    """
    if STATE.modes or type(input) not in EXACT:
        found = by_override(instance_norm, locals())
        if found is not NotImplemented:
            return found
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    vectors = {"running_mean": running_mean, "running_var": running_var}
    _per_channel("instance_norm", input, **vectors, weight=weight, bias=bias)
    if not use_input_stats:
        return _batch_norm_eval(input, running_mean, running_var, weight, bias, eps)
    if not input.numel():
        return _nothing_normalized(input, weight, bias)
    n, c = input.shape[:2]
    count = input.numel() // (n * c)
    if count == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size "
            f"{shape_text(input.shape)}"
        )
    if weight is not None and weight.requires_grad and mode.recording:
        weight = weight.clone()  # the graph keeps it: PyTorch normalizes with repeated weights
    bias = bias if bias is None else with_history(bias, input, weight)
    out, mean, rstd = _group_norm(input, c, weight, bias, eps)
    with no_grad():
        if running_mean is not None:
            _take_in(running_mean, mean.reshape(n, c).mean(0), momentum)
            rstd = rstd.detach().reshape(n, c)
            variance = (1.0 / (rstd * rstd) - eps) * (count / (count - 1))
            _take_in(running_var, variance.mean(0), momentum)
    return out


def _take_in(running, value, momentum):
    """Exponential average, in place."""
    running.copy_(running * (1 - momentum) + value.to(running.dtype) * momentum)
