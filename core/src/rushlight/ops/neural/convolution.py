"""Convolutions of one to three spatial dimensions, and their transposes."""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.errors import shape_text
from rushlight.kernels.convolution import choice as kernels
from rushlight.kernels.launch.execution import is_low_precision
from rushlight.kernels.launch.prepared import Remembered
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import on_arrays, on_cpu, tensor_of
from rushlight.ops._table.aten_schemas import conv_schemas, conv_transpose_schemas
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.recording import note
from rushlight.ops._table.second_order import with_history
from rushlight.ops._table.shape_rules import shaped
from rushlight.ops.neural import saved_values
from rushlight.ops.shape.copying import in_format_of
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.tensor import EXACT, Tensor


def _samples(make):
    ones, zeros = (1, 1), (0, 0)
    x = make(2, 4, 6, 5)
    return [
        ((x, make(3, 4, 3, 3), make(3), ones, ones, ones, 1), {}),
        ((x, make(4, 2, 2, 3), None, (2, 1), zeros, ones, 2), {}),
        ((make(2, 4, 7), make(3, 4, 3), make(3), (2,), (1,), (2,), 1), {}),
        ((make(1, 2, 4, 4, 3), make(2, 2, 2, 2, 2), None, (1, 2, 1), (0, 1, 0), (1, 1, 1), 1), {}),
    ]


def _meta(input, weight, bias, stride, padding, dilation, groups):
    spatial = kernels.output_size(input.shape[2:], weight.shape[2:], stride, padding, dilation)
    return (input.shape[0], weight.shape[0], *spatial), dtype_of(input)


@op(
    second_none=("input", "weight"),
    linear="*input,weight",
    method=False,
    samples=_samples,
    meta=_meta,
    node="Convolution",
    keeps_format=(4, 5),
    formats_of=2,
    autocast="lower",
    batching="convolution",
    flops="convolution",
    runs_as="conv2d convolution conv1d conv3d",
    limited="eight",
    **saved_values.CONVOLUTION,
)
def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride, padding, dilation, groups
):
    """Cross-correlation of (N, C, ...) with (O, C / groups, ...)."""
    return kernels.convolution_forward(input, weight, bias, stride, padding, dilation, groups)


@op(
    node="Convolution",
    second_none=("output", "weight"),
    linear="*output,weight",
    meta=shaped(2),
    method=False,
    samples=lambda make: [
        ((make(2, 3, 4, 4), make(3, 4, 3, 3), (2, 4, 4, 4), (1, 1), (1, 1), (1, 1), 1), {}),
        ((make(2, 4, 3), make(4, 2, 3), (2, 4, 7), (2,), (0,), (1,), 2), {}),
    ],
    batching="convolution_input",
    **saved_values.TRANSPOSED,
)
def _convolution_input(
    output: Tensor,
    weight: Tensor,
    shape,
    stride,
    padding,
    dilation,
    groups,
    bias: Tensor | None = None,
):
    """The gradient of a convolution's input; also the transposed convolution, with a bias."""
    if bias is not None:
        return kernels.transposed_convolution(
            output, weight, bias, tuple(shape), stride, padding, dilation, groups
        )
    return kernels.convolution_input_gradient(
        output, weight, tuple(shape), stride, padding, dilation, groups
    )


@op(
    linear="*output,input",
    meta=shaped(2),
    method=False,
    samples=lambda make: [
        ((make(2, 3, 4, 4), make(2, 4, 4, 4), (3, 4, 3, 3), (1, 1), (1, 1), (1, 1), 1), {}),
        ((make(2, 4, 3), make(2, 4, 7), (4, 2, 3), (2,), (0,), (1,), 2), {}),
    ],
    batching="convolution_weight",
)
def _convolution_weight(output: Tensor, input: Tensor, shape, stride, padding, dilation, groups):
    """The gradient of a convolution's weight."""
    return kernels.convolution_weight_gradient(
        output, input, tuple(shape), stride, padding, dilation, groups
    )


def _by_arrays(function):
    """An op of two tensors, shape and settings as a matter of arrays."""
    kernel = function.op.cpu_kernel
    return lambda a, b, *rest: tensor_of(kernel(a._array, b._array, *rest))


_gradient_of_input = _by_arrays(_convolution_input)
_gradient_of_weight = _by_arrays(_convolution_weight)


@_convolution.gradients("input", "weight", "bias")
def _convolution_gradient(grad, input, weight, stride, padding, dilation, groups, needs):
    settings = stride, padding, dilation, groups
    grad_input = grad_weight = grad_bias = None
    if on_arrays(grad, input, weight):
        of_input, of_weight = _gradient_of_input, _gradient_of_weight
        shapes = input._array.shape, weight._array.shape
    else:
        of_input, of_weight = _convolution_input, _convolution_weight
        shapes = tuple(input.shape), tuple(weight.shape)
    if needs[0]:
        grad_input = of_input(grad, weight, shapes[0], *settings)
    if needs[1]:
        grad_weight = of_weight(grad, input, shapes[1], *settings)
    if needs[2]:
        grad_bias = grad.sum((0, *range(2, grad.dim())))
    return grad_input, grad_weight, grad_bias


_convolution_input.gradient(
    output=lambda grad, weight, stride, padding, dilation, groups: _convolution(
        grad, weight, None, stride, padding, dilation, groups
    ),
    weight=lambda grad, output, weight_shape, stride, padding, dilation, groups: (
        _convolution_weight(output, grad, weight_shape, stride, padding, dilation, groups)
    ),
    bias=lambda grad: grad.sum((0, *range(2, grad.dim()))),
)
_convolution_weight.gradient(
    output=lambda grad, input, stride, padding, dilation, groups: _convolution(
        input, grad, None, stride, padding, dilation, groups
    ),
    input=lambda grad, output, input_shape, stride, padding, dilation, groups: _convolution_input(
        output, grad, input_shape, stride, padding, dilation, groups
    ),
)


def spatial(value, count, name, op_name):
    """An int or a sequence as a tuple with one entry per spatial dimension."""
    if isinstance(value, int):
        return (value,) * count
    value = tuple(value)
    if len(value) == 1:
        return value * count
    if len(value) != count:
        raise RuntimeError(
            f"{op_name}: expected {name} to be a single integer value or a list of {count} values "
            f"to match the convolution dimensions, but got {name}={list(value)}"
        )
    return value


def _check_weight(name, weight, groups, transposed):
    """Refuse a weight without channels, of windows without elements, or of uneven groups."""
    shape = tuple(weight.shape)
    if groups < 1:
        raise RuntimeError(f"{name}: non-positive groups is not supported, got groups={groups}")
    for position, least in ((0, groups), (1, 1 if transposed else 0)):
        if shape[position] < least:
            raise RuntimeError(
                f"{name}: Given groups={groups}, expected weight to be at least {least} at "
                f"dimension {position}, but got weight of size {shape_text(shape)} instead"
            )
    if 0 in shape[2:]:
        raise RuntimeError(
            f"{name}: kernel size should be greater than zero, got weight of size "
            f"{shape_text(shape)}"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"{name}: Given groups={groups}, expected weight to be divisible by {groups} at "
            f"dimension 0, but got weight of size {shape_text(shape)} instead"
        )


def _check(name, count, input, weight, bias, groups, transposed=False):
    if weight.dim() != count + 2:
        raise RuntimeError(
            f"{name}: Expected {count + 2}-dimensional weight, but got weight of size "
            f"{shape_text(weight.shape)}"
        )
    if input.dim() not in (count + 1, count + 2):
        raise RuntimeError(
            f"{name}: Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {name}, "
            f"but got input of size: {shape_text(input.shape)}"
        )
    _check_weight(name, weight, groups, transposed)
    channels = input.shape[-count - 1]
    expected = weight.shape[0] if transposed else weight.shape[1] * groups
    if channels != expected:
        raise RuntimeError(
            f"{name}: Given groups={groups}, weight of size {shape_text(weight.shape)}, expected "
            f"input{shape_text(input.shape)} to have {expected} channels, but got {channels} "
            "channels instead"
        )
    outputs = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise RuntimeError(
            f"{name}: expected bias to be 1-dimensional with {outputs} elements, but got bias of "
            f"size {shape_text(bias.shape)}"
        )
    for other_name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other._dtype is not input._dtype:
            raise RuntimeError(
                f"{name}: Input type ({input._dtype}) and {other_name} type ({other._dtype}) "
                "should be the same"
            )


def _not_negative(name, padding):
    if any(p < 0 for p in padding):
        raise RuntimeError(f"{name}: negative padding is not supported, got {padding}")


def _padding(name, padding, count, weight, stride, dilation, input):
    """Numbers of padded elements per dimension; ``"same"`` may pad the input itself first."""
    if not isinstance(padding, str):
        return spatial(padding, count, "padding", name), input
    if padding == "valid":
        return (0,) * count, input
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    if all(t % 2 == 0 for t in totals):
        return tuple(t // 2 for t in totals), input
    from rushlight.ops.neural.padding import pad

    return tuple(t // 2 for t in totals), pad(
        input, [v for t in reversed(totals) for v in (0, t % 2)]
    )


def _parts(function, input, weight, bias, *settings):
    """A convolution of complex numbers by real ones of their parts."""
    from rushlight.ops.elementwise.complex_numbers import complex

    real, imaginary = input.real, input.imag
    a, b = weight.real, weight.imag
    out = complex(
        function(real, a, None, *settings) - function(imaginary, b, None, *settings),
        function(real, b, None, *settings) + function(imaginary, a, None, *settings),
    )
    if bias is None:
        return out
    return out + with_history(bias, input, weight).reshape(-1, *(1,) * (weight.dim() - 2))


def _positive(name, **settings):
    for what, values in settings.items():
        if any(v <= 0 for v in values):
            raise RuntimeError(f"{name}: {what} should be greater than zero, got {values}")


_checked = Remembered()  # the settings of calls that were found in order


_LASTING = frozenset((int, tuple, str))  # types of settings whose equals are as good


def _key(count, input, weight, bias, *settings):
    """What it depends on whether a call is in order, or None where that is not remembered."""
    shapes, code = [], input._dtype.code
    for tensor in (input, weight, bias):
        if tensor is None:
            shapes.append(None)
        elif type(tensor) not in EXACT or tensor._dtype.code != code:
            return None
        else:
            shapes.append(tensor._array.shape)
    for value in settings:
        if type(value) not in _LASTING:
            return None
    return count, code, *shapes, *settings


def settings_in_order(count, input, weight, bias, *settings):
    """Stride, padding, dilation and groups of a convolution that was found in order before, a tuple
    each but for the groups; None for any other."""
    return _checked.get(_key(count, input, weight, bias, *settings))


def _known(input, weight, bias, *settings):
    """A convolution that is in order, by the shortest way."""
    arrays = input._array, weight._array, None if bias is None else bias._array
    kinds = [type(array) for array in arrays if array is not None]
    if not on_cpu(input) or kinds.count(kinds[0]) < len(kinds):
        return _convolution(input, weight, bias, *settings)
    out = tensor_of(_convolution.op.cpu_kernel(*arrays, *settings))
    if mode.recording:
        nodes = input._node, weight._node, None if bias is None else bias._node
        if nodes != _NO_NODES:
            note(_convolution.op, (input, weight, bias), [None, None, None, *settings], (out,))
    return out


_NO_NODES = None, None, None


def _convolve(count, input, weight, bias, stride, padding, dilation, groups):
    key = _key(count, input, weight, bias, stride, padding, dilation, groups)
    known = _checked.get(key)
    if known is not None:
        return _known(input, weight, bias, *known)
    name = f"conv{count}d"
    _check(name, count, input, weight, bias, groups)
    stride = spatial(stride, count, "stride", name)
    dilation = spatial(dilation, count, "dilation", name)
    _positive(name, stride=stride, dilation=dilation)
    if input.is_complex():
        settings = stride, padding, dilation, groups
        return _parts(lambda *a: _convolve(count, *a), input, weight, bias, *settings)
    batched = input if input.dim() == count + 2 else input.unsqueeze(0)
    padding, batched = _padding(name, padding, count, weight, stride, dilation, batched)
    _not_negative(name, padding)
    sizes = batched.shape[2:]
    for n, k, p, d in zip(sizes, weight.shape[2:], padding, dilation, strict=True):
        if n + 2 * p < d * (k - 1) + 1:
            raise RuntimeError(
                f"{name}: Calculated padded input size per channel: "
                f"{[m + 2 * q for m, q in zip(sizes, padding, strict=True)]}. Kernel size: "
                f"{[e * (j - 1) + 1 for j, e in zip(weight.shape[2:], dilation, strict=True)]}. "
                "Kernel size can't be greater than actual input size"
            )
    if key is not None and batched is input:
        _checked.keep(key, (stride, padding, dilation, groups))
    out = _convolution(batched, weight, bias, stride, padding, dilation, groups)
    return out if batched.dim() == input.dim() else out.squeeze(0)


@composite(
    schemas=conv_schemas(1),
    method=False,
    samples=lambda make: [
        (make(1, 2, 5), make(3, 2, 2)),
        (make(2, 6), make(2, 1, 3), make(2), 2, 1, 1, 2),
    ],
    autocast="lower",
    aten="default padding",
    flops="convolution",
)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
):
    """Cross-correlation of (N, C, L) or (C, L) with weight (O, C / groups, K)."""
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@composite(
    schemas=conv_schemas(2),
    method=False,
    samples=lambda make: [
        (make(1, 2, 4, 3), make(2, 2, 2, 2)),
        (make(2, 5, 4), make(2, 1, 3, 2), make(2), (2, 1), 1, 1, 2),
        (make(1, 1, 4, 4), make(1, 1, 3, 3), None, 1, "same"),
    ],
    autocast="lower",
    aten="default padding",
    flops="convolution",
)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
):
    """Cross-correlation of (N, C, H, W) or (C, H, W) with weight (O, C / groups, KH, KW)."""
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@composite(
    schemas=conv_schemas(3),
    method=False,
    samples=lambda make: [
        (make(1, 1, 3, 2, 3), make(2, 1, 2, 2, 2)),
        (make(1, 2, 3, 3, 3), make(2, 1, 2, 1, 2), make(2), 2, 1, 1, 2),
    ],
    autocast="lower",
    aten="default padding",
    flops="convolution",
)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
):
    """Cross-correlation of (N, C, D, H, W) with weight (O, C / groups, KD, KH, KW)."""
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


def _rounds_once(input):
    """Whether a bias must be added before half-width sums are rounded; on GPUs and inside of
    transforms it is added to the result."""
    plain = not STATE.levels and type(input._array) is np.ndarray
    return plain and is_low_precision(input._array.dtype)


def _transpose(name, count, input, weight, bias, stride, padding, output_padding, groups, dilation):
    _check(name, count, input, weight, bias, groups, transposed=True)
    stride = spatial(stride, count, "stride", name)
    padding = spatial(padding, count, "padding", name)
    _not_negative(name, padding)
    dilation = spatial(dilation, count, "dilation", name)
    extra = spatial(output_padding, count, "output_padding", name)
    for e, s, d in zip(extra, stride, dilation, strict=True):
        if e >= max(s, d):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding={list(extra)}, stride={list(stride)}, dilation={list(dilation)}"
            )
    _positive(name, stride=stride, dilation=dilation)
    if input.is_complex():
        settings = stride, padding, output_padding, groups, dilation
        return _parts(lambda *a: _transpose(name, count, *a), input, weight, bias, *settings)
    batched = input if input.dim() == count + 2 else input.unsqueeze(0)
    # an output that grows by a stride or more is that of zeros behind the input
    more = [e // s for e, s in zip(extra, stride, strict=True)]
    if any(more):
        from rushlight.ops.neural.padding import pad

        batched = pad(batched, [v for m in reversed(more) for v in (0, m)])
        extra = tuple(e % s for e, s in zip(extra, stride, strict=True))
    sizes = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(
            batched.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True
        )
    )
    shape = (batched.shape[0], weight.shape[1] * groups, *sizes)
    settings = shape, stride, padding, dilation, groups
    if bias is not None and _rounds_once(batched):
        out = _convolution_input(batched, weight, *settings, bias)
    else:
        out = _convolution_input(batched, weight, *settings)
        if bias is not None:
            out = out + with_history(bias, input, weight).reshape(-1, *(1,) * count)
    out = in_format_of(batched, out) if count == 2 else out
    return out if batched.dim() == input.dim() else out.squeeze(0)


@composite(
    schemas=conv_transpose_schemas(1),
    method=False,
    samples=lambda make: [
        (make(1, 2, 3), make(2, 3, 2)),
        (make(2, 3), make(2, 1, 3), make(2), 2, 1, 1, 2),
    ],
    autocast="lower",
    flops="transposed convolution",
)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
):
    """The transpose of :func:`conv1d`; weight (C, O / groups, K)."""
    return _transpose(
        "conv_transpose1d",
        1,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


@composite(
    schemas=conv_transpose_schemas(2),
    method=False,
    samples=lambda make: [
        (make(1, 2, 2, 3), make(2, 2, 2, 2)),
        (make(2, 3, 2), make(2, 1, 3, 2), make(2), (2, 1), 1, (1, 0), 2),
    ],
    autocast="lower",
    aten="input",
    flops="transposed convolution",
)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
):
    """The transpose of :func:`conv2d`; weight (C, O / groups, KH, KW)."""
    return _transpose(
        "conv_transpose2d",
        2,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


@composite(
    schemas=conv_transpose_schemas(3),
    method=False,
    samples=lambda make: [
        (make(1, 1, 2, 2, 2), make(1, 2, 2, 2, 2)),
        (make(1, 2, 2, 2, 2), make(2, 1, 2, 1, 2), make(2), 2, 0, 1, 2),
    ],
    autocast="lower",
    aten="input",
    flops="transposed convolution",
)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
):
    """The transpose of :func:`conv3d`; weight (C, O / groups, KD, KH, KW)."""
    return _transpose(
        "conv_transpose3d",
        3,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


@composite(
    samples=lambda make: [
        (make(5, 2, 3), make(2, 3, 4), make(4)),
        (make(4, 1, 2), make(3, 2, 1), make(1), 1),
    ],
    autocast="lower",
)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad=0):
    """:func:`conv1d` of (T, B, C) with weight (K, C, O): (T', B, O)."""
    if input.dim() != 3 or weight.dim() != 3 or bias.dim() != 1:
        raise RuntimeError(
            "conv_tbc: expected input (T, B, C), weight (K, C, O) and bias (O), got "
            f"{shape_text(input.shape)}, {shape_text(weight.shape)} and {shape_text(bias.shape)}"
        )
    out = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return out.permute(2, 0, 1)
