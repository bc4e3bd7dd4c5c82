"""Batch, layer, group, instance and RMS normalization."""

from __future__ import annotations

import functools
import importlib
import math

from rushlight.autograd.mode import mode
from rushlight.dtypes import FLOAT, finfo, float32, float64
from rushlight.errors import shape_text
from rushlight.kernels.normalization import batch_and_layer as kernels
from rushlight.kernels.normalization import root_mean_square as rms_kernels
from rushlight.machine import np
from rushlight.ops._calls.direct import arrays_of, on_arrays, tensor_of, tensors_of, unrecorded
from rushlight.ops._table.aten import declared_in_aten, in_aten
from rushlight.ops._table.op import op
from rushlight.ops._table.shape_rules import (
    batch_gradients,
    batch_normalized,
    layer_gradients,
    layer_normalized,
    like,
    rms_gradients,
    rms_normalized,
)
from rushlight.ops.elementwise.weighted_sums import addcmul
from rushlight.ops.neural import saved_values
from rushlight.tensor.dispatch import (
    STATE,
    below_transforms,
    ends_capture,
    is_dispatching,
    readable,
    stack,
)
from rushlight.tensor.overriding import by_override, overridable
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import EXACT, Tensor

_SMALL = 1 << 15  # elements that one thread normalizes
RECTIFIED = frozenset((float32.code, float64.code))  # dtypes that go along with neighbours


def _batch_samples(make):
    return [
        ((make(4, 3, 5), make(3), make(3), 1e-5), {}),
        ((make(6, 2), None, None, 1e-3), {}),
        ((make(2, 3, 4, 3), make(3), None, 1e-5), {}),
    ]


@op(
    second_none=("input", "weight"), meta=batch_normalized, method=False, samples=_batch_samples,
    node="NativeBatchNorm", keeps_format=(4, 5), formats_of=0, autocast="input",
    batching="batch_norm",
    saves="eps input result1 result2 training: weight", saves_as={"training": True},
)  # fmt: skip
def _batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, eps):
    """Normalized by the batch's own statistics; also their mean and inverse deviation."""
    if type(eps) is float and input.size <= _SMALL and type(input) is np.ndarray:
        found = _small().batch_train(input, weight, bias, eps)
        if found is not None:
            return found
    return kernels.batch_norm_train_forward(input, weight, bias, eps)


@op(
    meta=batch_gradients, method=False, differentiable=False, tested_by="_batch_norm",
    samples=lambda make: [], batching="batch_norm_backward",
)  # fmt: skip
def _batch_norm_backward(
    grad: Tensor, input: Tensor, weight: Tensor | None, mean: Tensor, invstd: Tensor
):
    """The three gradients of batch normalization by one kernel."""
    return kernels.batch_norm_train_backward(grad, input, weight, mean, invstd)


def _channels(tensor, ndim):
    """A per-channel vector, shaped to broadcast against (N, C, ...)."""
    return tensor.reshape(1, -1, *(1,) * (ndim - 2))


def asked(found, needs, input, weight):
    """Those of the gradients of input and weight (and bias) that are needed; the latter in the
    dtype of the weight or, where there is none, of the input."""
    dtype = input._dtype if weight is None else weight._dtype
    first, *rows = found
    if rows[0]._dtype is not dtype:
        rows = [row.to(dtype) for row in rows]
    return tuple([g if need else None for g, need in zip((first, *rows), needs, strict=True)])


@_batch_norm.gradients("input", "weight", "bias")
def _batch_norm_gradient(grad, input, weight, eps, out1, out2, needs):
    if on_arrays(grad, input, weight, out1, out2):
        arrays = arrays_of(grad, input, weight, out1, out2)
        return tensors_of(kernels.batch_norm_train_backward(*arrays, needs=needs))
    if not mode.recording:
        found = _batch_norm_backward(grad, input, weight, out1, out2)
        return asked(found, needs, input, weight)
    ndim, axes = input.dim(), (0, *range(2, input.dim()))
    centred = input - input.mean(axes, True)
    invstd = ((centred * centred).mean(axes, True) + eps).rsqrt()
    normal = centred * invstd
    scaled = grad if weight is None else grad * _channels(weight, ndim)
    inner = scaled - scaled.mean(axes, True) - normal * (scaled * normal).mean(axes, True)
    return (
        inner * invstd,
        (grad * normal).sum(axes) if needs[1] else None,
        grad.sum(axes) if needs[2] else None,
    )


@op(
    second_none=("input", "weight"),
    meta=batch_normalized,
    method=False,
    tested_by="_batch_norm",
    samples=lambda make: [],  # for arrays of the CPU alone: see `fits_rectified`
    node="NativeBatchNorm",
    keeps_format=(4, 5),
    formats_of=0,
)
def _batch_norm_rectified(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, eps, rectified
):
    """Normalized like :func:`_batch_norm`, then its ReLU (1) or ReLU6 (6)."""
    return kernels.batch_norm_train_forward(input, weight, bias, eps, rectified)


@op(
    meta=batch_gradients,
    method=False,
    differentiable=False,
    tested_by="_batch_norm",
    samples=lambda make: [],
)
def _batch_norm_rectified_backward(
    grad: Tensor,
    input: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    invstd: Tensor,
    bias: Tensor | None,
    rectified,
):
    """The three gradients by one kernel, which finds again where the result was positive."""
    return kernels.batch_norm_train_backward(grad, input, weight, mean, invstd, bias, rectified)


@_batch_norm_rectified.gradients("input", "weight", "bias")
def _batch_norm_rectified_gradient(grad, input, weight, bias, eps, rectified, out1, out2, needs):
    if on_arrays(grad, input, weight, out1, out2, bias):
        arrays = arrays_of(grad, input, weight, out1, out2, bias)
        return tensors_of(kernels.batch_norm_train_backward(*arrays, rectified, needs))
    if not mode.recording:
        found = _batch_norm_rectified_backward(grad, input, weight, out1, out2, bias, rectified)
        return tuple([g if need else None for g, need in zip(found, needs, strict=True)])
    ndim = input.dim()
    result = (input.detach() - _channels(out1, ndim)) * _channels(out2, ndim)
    result = result if weight is None else result * _channels(weight.detach(), ndim)
    result = result if bias is None else result + _channels(bias.detach(), ndim)
    passes = (result > 0) & (result < 6) if rectified == 6 else result > 0
    return _batch_norm_gradient(grad * passes, input, weight, eps, out1, out2, needs)


def check_dtypes(name, input, *vectors):
    """Raise unless the input is floating and vectors are of its dtype, or float32 where it is of
    low precision."""
    dtype = input.dtype
    if dtype.category != FLOAT:
        raise NotImplementedError(f"{name}: not implemented for dtype {dtype}; use a floating one")
    for vector in vectors:
        if vector is not None and vector.dtype is not dtype:
            if vector.dtype is not float32 or dtype.itemsize != 2:
                raise RuntimeError(
                    f"{name}: mixed dtypes: expected weight, bias and statistics of {dtype}"
                    f"{' or float32' if dtype.itemsize == 2 else ''}, got {vector.dtype}"
                )


@in_aten(
    "_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, "
    "Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> "
    "(Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)"
)
@overridable(as_given=True)
def _native_batch_norm_legit_functional(
    input, weight, bias, running_mean, running_var, training, momentum, eps
):
    """:func:`batch_norm` that gives the new running statistics and writes nothing: the result, the
    batch's mean and inverse deviation, and both statistics."""
    mean, var = running_mean.clone(), running_var.clone()
    out = batch_norm(input, mean, var, weight, bias, training, momentum, eps)
    dims = [d for d in range(input.dim()) if d != 1]
    center = input.mean(dims)
    spread = (input.var(dims, unbiased=False) + eps).rsqrt()
    return out, center, spread, mean, var


declared_in_aten(
    "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)"
)


@in_aten(
    "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, "
    "Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
    "(Tensor, Tensor, Tensor)"
)
@overridable(as_given=True)
def _native_batch_norm_legit_no_training(
    input, weight, bias, running_mean, running_var, momentum, eps
):
    """:func:`batch_norm` by the running statistics, and two tensors without elements in place of
    those of a batch."""
    out = batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    return out, input.new_empty(0), input.new_empty(0)


def _functional(input, running_mean, running_var, weight=None, bias=None, training=False,
                momentum=0.1, eps=1e-05):  # fmt: skip
    """In a program without writes the new statistics are values that the buffers get."""
    if not training or running_mean is None:
        return NotImplemented
    out, _, _, mean, var = _native_batch_norm_legit_functional(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    running_mean.copy_(mean)
    running_var.copy_(var)
    return out


def _batch_form(input, running_mean, running_var, weight=None, bias=None, training=False,
                momentum=0.1, eps=1e-05):  # fmt: skip
    return "batch_norm", {
        "input": input, "weight": weight, "bias": bias, "running_mean": running_mean,
        "running_var": running_var, "training": training,
        "momentum": 0.0 if momentum is None else momentum, "eps": eps, "cudnn_enabled": False,
    }  # fmt: skip


@in_aten(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    call=_batch_form,
    functional=_functional,
)
def batch_norm(
    input,
    running_mean,
    running_var,
    weight=None,
    bias=None,
    training=False,
    momentum=0.1,
    eps=1e-05,
):
    """Each channel of (N, C, ...) with mean 0 and variance 1, scaled and shifted.

    In training the batch's own statistics are used and folded into `running_mean` and
    `running_var` (in place, with weight `momentum`); otherwise the running ones are used.
    (Ioffe and Szegedy, 2015.)
    """
    if (
        type(input) not in EXACT
        and (out := by_override(batch_norm, locals())) is not NotImplemented
    ):
        return out
    shape, size = input._array.shape, input._array.size
    if len(shape) < 2 and size:
        raise ValueError(f"batch_norm: expected at least a 2D input (got {len(shape)}D input)")
    if eps < 0 or (training and eps == 0):
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")
    if not size:
        return _nothing_normalized(input, weight, bias)
    channels, dtype = shape[1], input._dtype
    if dtype.category != FLOAT:
        check_dtypes("batch_norm", input)
    for i, vector in enumerate((running_mean, running_var, weight, bias)):
        if vector is not None and vector._dtype is not dtype:
            check_dtypes("batch_norm", input, vector)
        if vector is not None and vector._array.size != channels:
            name = ("running_mean", "running_var", "weight", "bias")[i]
            raise RuntimeError(
                f"batch_norm: {name} should contain {channels} elements not {vector.numel()}"
            )
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when training=False"
            )
        return _batch_norm_eval(input, running_mean, running_var, weight, bias, eps)
    count = size // channels
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size "
            f"{shape_text(input.shape)}"
        )
    results = _batch_norm(input, weight, bias, eps)
    return _with_averages(results, input, running_mean, running_var, momentum, eps)


def batch_norm_rectified(input, running_mean, running_var, weight, bias, momentum, eps, rectified):
    """:func:`batch_norm` in training of what :func:`fits_rectified`, then ReLU (1) or ReLU6 (6)."""
    results = _batch_norm_rectified(input, weight, bias, eps, rectified)
    return _with_averages(results, input, running_mean, running_var, momentum, eps)


def fits_rectified(input, *vectors):
    """Whether batch norm and an activation may be one op: dense arrays so large that memory counts,
    of one dtype and matching lengths, and no mode is active."""
    array = input._array
    if STATE.modes or stack.levels or type(array) is not np.ndarray or array.size <= _SMALL:
        return False
    if input._dtype.code not in RECTIFIED or not array.flags.c_contiguous or array.ndim < 2:
        return False
    channels, dtype = array.shape[1], input._dtype
    return array.size > channels and all(
        v is None or (v._dtype is dtype and v._array.shape == (channels,)) for v in vectors
    )


def _with_averages(results, input, running_mean, running_var, momentum, eps):
    """The normalized values; mean and variance are folded into the running ones."""
    out, mean, invstd = results
    count = input._array.size // input._array.shape[1]
    if input._device.type == "meta":
        return out
    if stack.levels and getattr(mean, "_level", None) is not None:
        _fold_wrapped(running_mean, running_var, mean, invstd, momentum, eps, count)
        return out
    if input._device.type == "cuda" or is_dispatching(mean):
        _fold_by_ops(running_mean, running_var, mean, invstd, momentum, eps, count)
        return out
    if (
        running_mean is not None
        and running_var is not None
        and _folded(running_mean, running_var, mean._array, invstd._array, momentum, eps, count)
    ):
        return out
    _fold(running_mean, mean._array, momentum)
    if running_var is not None:
        variance = (1.0 / np.square(invstd._array, dtype=np.float64) - eps) * count / (count - 1)
        _fold(running_var, variance, momentum)
    return out


def _nothing_normalized(input, weight, bias):
    """An empty result; the gradients of weight and bias are zero."""
    out = input * (1 if weight is None else weight.sum() * 0 + 1)
    return out if bias is None else out + bias.sum() * 0


@functools.cache
def _given():
    """Kernels of given statistics; they need the compiler."""
    return importlib.import_module("rushlight.kernels.normalization.given_statistics")


@functools.cache
def _small():
    """Kernels of small arrays; they need the compiler."""
    return importlib.import_module("rushlight.kernels.normalization.small")


def _folded(running_mean, running_var, mean, invstd, momentum, eps, count):
    """The averages by one call; False where that does not fit."""
    rows = running_mean._array, running_var._array, mean, invstd
    if not _small().fold(*rows, momentum, eps, count):
        return False
    for running in (running_mean, running_var):
        storage_of(running).version += 1
    return True


def _fold(running, value, momentum):
    """Exponential average, in place."""
    if running is None or running._device.type == "meta":
        return
    array = running._array
    with np.errstate(all="ignore"):
        array[...] = array * (1.0 - momentum) + float(momentum) * value
    storage_of(running).version += 1


def _fold_by_ops(running_mean, running_var, mean, invstd, momentum, eps, count):
    """The running statistics by a few ops: generated kernels of a GPU, or what a class does."""
    from rushlight.autograd.mode import no_grad

    with no_grad():
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        if running_var is not None:
            variance = (1.0 / invstd.square() - eps) * (count / (count - 1))
            running_var.lerp_(variance.to(running_var.dtype), momentum)


def _fold_wrapped(running_mean, running_var, mean, invstd, momentum, eps, count):
    """The same inside of function transforms: with values where there is one of each."""
    from rushlight.autograd.mode import no_grad

    with no_grad():
        if ends_capture(mean):
            mean, invstd = below_transforms(mean).detach(), below_transforms(invstd).detach()
        variance = (1.0 / (invstd * invstd) - eps) * (count / (count - 1))
        for running, value in ((running_mean, mean), (running_var, variance)):
            if running is None:
                continue
            if not readable(value) and readable(running):
                raise RuntimeError(
                    "Batch norm got a batched tensor as input while the running_mean or "
                    "running_var, which will be updated in place, were not batched. If you are "
                    "using modules and do not need eval mode, please set `track_running_stats` to "
                    "be False, or call rushlight.func.replace_all_batch_norm_modules_(module)."
                )
            running.copy_(running * (1 - momentum) + value * momentum)


def affine_of_channels(mean, var, weight, bias, eps):
    """(scale, shift) of every channel by given statistics."""
    scale = (var + eps).rsqrt()
    scale = scale if weight is None else scale * weight
    return scale, -mean * scale if bias is None else bias - mean * scale


def _nothing_like(read):
    return read("input").new_empty(0)


@op(
    second_none=("input", "weight"),
    meta=like,
    method=False,
    tested_by="_batch_norm",
    samples=lambda make: [],  # for arrays of the CPU alone: see `_fits_given`
    node="NativeBatchNorm",
    saves="eps input result1: result2: running_mean:mean running_var:var training: weight",
    saves_as={"result1": _nothing_like, "result2": _nothing_like, "training": False},
)
def _batch_norm_given(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, eps
):
    """Normalized by given statistics, which need no gradient."""
    return _given().given_forward(input, weight, bias, mean, var, eps)


@_batch_norm_given.gradients("input", "weight", "bias")
def _batch_norm_given_gradient(grad, input, weight, mean, var, eps, needs):
    if on_arrays(grad, input, weight, mean, var):
        arrays = arrays_of(grad, input, weight, mean, var)
        return tensors_of(_given().given_backward(*arrays, eps, needs))
    ndim, axes = input.dim(), (0, *range(2, input.dim()))
    scale = invstd = (var + eps).rsqrt()
    if weight is not None:
        scale = invstd * weight
    normal = (input - _channels(mean, ndim)) * _channels(invstd, ndim)
    return (
        grad * _channels(scale, ndim) if needs[0] else None,
        (grad * normal).sum(axes) if needs[1] else None,
        grad.sum(axes) if needs[2] else None,
    )


def _fits_given(input, mean, var, *vectors):
    """Whether eval mode may be one op: numbers on the CPU in any memory, statistics that need no
    gradient, vectors of matching lengths, and no mode is active."""
    array = input._array
    if STATE.modes or stack.levels or type(array) is not np.ndarray or not array.size:
        return False
    if mean._node is not None or var._node is not None:
        return False
    channels = array.shape[1:2]
    return all(v is None or v._array.shape == channels for v in (mean, var, *vectors))


def _batch_norm_eval(input, mean, var, weight, bias, eps):
    """An affine map per channel."""
    if type(eps) is float and unrecorded(input, mean, var, weight, bias):
        found = _small().batch_eval(*arrays_of(input, weight, bias, mean, var), eps)
        if found is not None:
            return tensor_of(found)
    elif _fits_given(input, mean, var, weight, bias):
        return _batch_norm_given(input, weight, bias, mean, var, eps)
    vectors = affine_of_channels(mean, var, weight, bias, eps)
    scale, shift = (_channels(vector, input.dim()) for vector in vectors)
    if input._dtype is scale._dtype is shift._dtype:
        return addcmul(shift, input, scale)  # one pass over memory
    return (input * scale + shift).to(input._dtype)


def _layer_samples(make):
    return [
        ((make(4, 3, 5), 5, make(5), make(5), 1e-5), {}),
        ((make(6, 2, 3), 6, None, None, 1e-3), {}),
    ]


@op(
    meta=layer_normalized, method=False, samples=_layer_samples, node="NativeLayerNorm",
    second_none=("input", "weight"), autocast="input", autocast_on_gpu="float32",
    batching="layer_norm",
    **saved_values.ROWS,
)  # fmt: skip
def _layer_norm(input: Tensor, size, weight: Tensor | None, bias: Tensor | None, eps):
    """Runs of the last `size` elements normalized; also their mean and inverse deviation."""
    return kernels.layer_norm_forward(input, size, weight, bias, eps)


@op(
    meta=layer_gradients, method=False, differentiable=False, tested_by="_layer_norm",
    samples=lambda make: [], batching="layer_norm_backward",
)  # fmt: skip
def _layer_norm_backward(
    grad: Tensor, input: Tensor, weight: Tensor | None, mean: Tensor, rstd: Tensor, size
):
    """The three gradients of layer normalization by one kernel."""
    return kernels.layer_norm_backward(grad, input, weight, mean, rstd, size)


@_layer_norm.gradients("input", "weight", "bias")
def _layer_norm_gradient(grad, input, size, weight, eps, out1, out2, needs):
    if on_arrays(grad, input, weight, out1, out2):
        arrays = arrays_of(grad, input, weight, out1, out2)
        return tensors_of(kernels.layer_norm_backward(*arrays, size, needs))
    if not mode.recording:
        found = _layer_norm_backward(grad, input, weight, out1, out2, size)
        return asked(found, needs, input, weight)
    shape = tuple(input.shape)
    rows, grad = input.reshape(-1, size), grad.reshape(-1, size)
    centred = rows - rows.mean(1, True)
    rstd = ((centred * centred).mean(1, True) + eps).rsqrt()
    normal = centred * rstd
    scaled = grad if weight is None else grad * weight.reshape(-1)
    inner = scaled - scaled.mean(1, True) - normal * (scaled * normal).mean(1, True)
    return (
        (inner * rstd).reshape(shape),
        (grad * normal).sum(0) if needs[1] else None,
        grad.sum(0) if needs[2] else None,
    )


def _normalized(name, input, normalized_shape, weight, bias=None):
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if shape and input._array.shape[-len(shape) :] == shape:
        if weight is None or weight._array.shape == shape:
            if bias is None or bias._array.shape == shape:
                return math.prod(shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional")
    if tuple(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"{name}: Given normalized_shape={list(shape)}, expected input with shape "
            f"{[*['*'], *shape]}, but got input of size {shape_text(input.shape)}"
        )
    for what, vector in (("weight", weight), ("bias", bias)):
        if vector is not None and tuple(vector.shape) != shape:
            raise RuntimeError(
                f"{name}: Expected {what} to be of same shape as normalized_shape, but got {what} "
                f"of shape {shape_text(vector.shape)} and normalized_shape = {list(shape)}"
            )
    return math.prod(shape)


@in_aten(
    "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    call=lambda input, normalized_shape, weight=None, bias=None, eps=1e-05: ("layer_norm", {
        "input": input, "normalized_shape": normalized_shape, "weight": weight, "bias": bias,
        "eps": eps, "cudnn_enable": False,
    }),
)  # fmt: skip
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """The last dimensions (`normalized_shape`) with mean 0 and variance 1, scaled and shifted.

    (Ba, Kiros and Hinton, 2016.)
    """
    if (STATE.modes or type(input) not in EXACT) and (
        out := by_override(layer_norm, locals())
    ) is not NotImplemented:
        return out
    size = _normalized("layer_norm", input, normalized_shape, weight, bias)
    dtype = input._dtype
    if (
        dtype.category != FLOAT
        or (weight is not None and weight._dtype is not dtype)
        or (bias is not None and bias._dtype is not dtype)
    ):
        check_dtypes("layer_norm", input, weight, bias)
    if weight is not None and weight._array.ndim != 1:
        weight = weight.reshape(-1)
    if bias is not None and bias._array.ndim != 1:
        bias = bias.reshape(-1)
    if unrecorded(input, weight, bias):
        rows = (None if row is None else row._array for row in (weight, bias))
        return tensor_of(_layer_norm.op.cpu_kernel(input._array, size, *rows, eps)[0])
    return _layer_norm(input, size, weight, bias, eps)[0]


def _rms_samples(make):
    return [((make(4, 3, 5), 5, make(5), 1e-5), {}), ((make(6, 2, 3), 6, None, 1e-3), {})]


@op(
    meta=rms_normalized, method=False, samples=_rms_samples, node="FusedRmsNorm",
    autocast="input", batching="rms_norm",
)  # fmt: skip
def _rms_norm(input: Tensor, size, weight: Tensor | None, eps):
    """Runs of the last `size` elements over their root mean square; also its inverse."""
    return rms_kernels.rms_norm_forward(input, size, weight, eps)


@op(
    meta=rms_gradients, method=False, differentiable=False, tested_by="_rms_norm",
    samples=lambda make: [], batching="rms_norm_backward",
)  # fmt: skip
def _rms_norm_backward(grad: Tensor, input: Tensor, weight: Tensor | None, rstd: Tensor, size):
    """Both gradients of RMS normalization by one kernel."""
    return rms_kernels.rms_norm_backward(grad, input, weight, rstd, size)


@_rms_norm.gradients("input", "weight")
def _rms_norm_gradient(grad, input, size, weight, eps, out1, needs):
    if on_arrays(grad, input, weight, out1):
        arrays = arrays_of(grad, input, weight, out1)
        return tensors_of(rms_kernels.rms_norm_backward(*arrays, size, needs))
    if not mode.recording:
        return asked(_rms_norm_backward(grad, input, weight, out1, size), needs, input, weight)
    shape = tuple(input.shape)
    rows, grad = input.reshape(-1, size), grad.reshape(-1, size)
    rstd = ((rows * rows).mean(1, True) + eps).rsqrt()
    normal = rows * rstd
    scaled = grad if weight is None else grad * weight.reshape(-1)
    inner = scaled - normal * (scaled * normal).mean(1, True)
    return (inner * rstd).reshape(shape), (grad * normal).sum(0) if needs[1] else None


@in_aten(
    "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> "
    "Tensor"
)
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """The last dimensions (`normalized_shape`) divided by their root mean square, and scaled.

    `eps` is added to the mean square; None: that of the dtype computed in, float32 for what is
    narrower. (Zhang and Sennrich, 2019.)
    """
    if STATE.modes or type(input) not in EXACT:
        out = by_override(rms_norm, locals())
        if out is not NotImplemented:
            return out
    size = _normalized("rms_norm", input, normalized_shape, weight)
    dtype = input.dtype
    if dtype.category < FLOAT:
        raise NotImplementedError(f"rms_norm: not implemented for dtype {dtype}")
    if eps is None:
        eps = finfo(float32 if dtype.itemsize == 2 else dtype).eps
    if dtype.category == FLOAT and (
        weight is None or weight.dtype is dtype or weight.dtype is float32 and dtype.itemsize == 2
    ):
        weight = weight if weight is None or weight.dim() == 1 else weight.reshape(-1)
        return _rms_norm(input, size, weight, eps)[0]
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    dims = tuple(range(-count, 0))
    out = input * ((input * input).mean(dims, True) + eps).rsqrt()
    return out if weight is None else (out * weight).to(dtype)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """`input` divided by its norm of order `p` along `dim` (at least `eps`)."""
    if STATE.modes or type(input) not in EXACT:
        result = by_override(normalize, locals())
        if result is not NotImplemented:
            return result
    found = input / input.norm(p, dim, True).clamp(min=eps).expand_as(input)
    if out is None:
        return found
    out.resize_(tuple(found.shape)) if out.shape != found.shape else None
    return out.copy_(found)
