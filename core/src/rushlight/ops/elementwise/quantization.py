"""Numbers as quantized ones would be: rounded to whole multiples of a scale, in a range.

(Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference", 2018.) Gradients pass where a number is inside of the range.
"""

from __future__ import annotations

from rushlight.compiler import xp
from rushlight.dtypes import FLOAT, bfloat16, float16, float32, int32
from rushlight.machine import np
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.op import composite, elementwise
from rushlight.ops._table.rules import real_floating
from rushlight.ops.creation.tensors import ones_like
from rushlight.ops.elementwise.comparison import where
from rushlight.tensor.dispatch import readable
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor

_NODES = (
    "FakeQuantizePerTensorAffineCachemask",
    "FakeQuantizePerTensorAffineCachemaskTensorQparams",
    "FakeQuantizePerChannelAffineCachemask",
)


def _level(input, inverse, zero_point, before):
    return xp.round(input * inverse + before) + (zero_point - before)


@elementwise(
    rule=real_floating,
    method=False,
    inplace=False,
    limited=False,
    tested_by="fake_quantize_per_tensor_affine",
    node=lambda node: _NODES[node.values[7]] + "Backward0",
    saves="",  # PyTorch's keeps a mask
    differs=("slope",),
    samples=lambda make: [
        (make(3, 4), 4.0, 0.25, 3, 0, 0, 15),
        (make(2, 3), 8.0, 0.125, 0.5, 0.5, -4, 3),
    ],
)
def _fake_quantized(input, inverse, scale, zero_point, before, quant_min=0, quant_max=255, form=0):
    """The multiple of `scale` next to `input`; the part `before` of the zero point is added before
    numbers are rounded; `form` says what the graph calls it."""
    level = _level(input, inverse, zero_point, before)
    level = xp.where(level >= quant_min, level, quant_min)  # NaN is the least number
    return (xp.minimum(level, quant_max) - zero_point) * scale


@elementwise(
    rule=real_floating,
    method=False,
    inplace=False,
    limited=False,
    differentiable=False,
    tested_by="fake_quantize_per_tensor_affine",
    samples=lambda make: [(make(3, 4), make(3, 4), 4.0, 3, 0, 0, 15)],
)
def _passed(grad, input, inverse, zero_point, before, quant_min=0, quant_max=255):
    """The gradient where a number is inside of the range."""
    level = _level(input, inverse, zero_point, before)
    return xp.where((level >= quant_min) & (level <= quant_max), grad, grad * 0)


_fake_quantized.gradient(
    input=lambda grad, input, inverse, zero_point, before, quant_min, quant_max: _passed(
        grad, input, inverse, zero_point, before, quant_min, quant_max
    )
)


def _quantized(name, input, factors, form, limits):
    """`factors`: the inverse scale, the scale, the zero point and what of it is added before
    numbers are rounded (all where it is no whole number); they are broadcast. Narrow floats are
    computed with in float32 and rounded once."""
    if input._dtype.category != FLOAT:
        raise NotImplementedError(f"{name}: not implemented for dtype {input._dtype}")
    if limits[0] > limits[1]:
        raise RuntimeError(f"{name}: quant_min must be at most quant_max, got {limits}")
    found = _fake_quantized(_wide(input, form), *factors, *limits, form)
    return found if found._dtype is input._dtype else found.to(input._dtype)


def _wide(input, form):
    """Narrow floats in float32 where factors are tensors, which would be rounded to their dtype."""
    return input.float() if form and input._dtype in (float16, bfloat16) else input


def _of_tensors(scale, zero_point):
    scale = scale.detach().to(float32)
    zero = zero_point.detach().to(float32)
    return scale.reciprocal(), scale, zero, zero if zero_point.is_floating_point() else 0


def _of_one(name, scale, zero_point, limits):
    """The factors of a whole tensor, and the form: numbers as float32 has them, or tensors."""
    if isinstance(scale, Tensor):
        for each in (scale, zero_point):
            if each.numel() != 1:
                raise RuntimeError(
                    f"{name}: scale and zero_point must have one element, got {each.numel()}"
                )
        return _of_tensors(scale.reshape(()), zero_point.reshape(()).to(int32)), 1
    if not isinstance(zero_point, int):
        raise TypeError(f"{name}: zero_point must be an int, got {type(zero_point).__name__}")
    if limits[0] <= limits[1] and not limits[0] <= zero_point <= limits[1]:
        raise RuntimeError(
            f"{name}: zero_point must be between quant_min and quant_max, got {zero_point} for "
            f"{limits[0]} to {limits[1]}"
        )
    with np.errstate(divide="ignore", over="ignore"):
        scale = np.float32(scale)
        return (float(np.float32(1) / scale), float(scale), zero_point, 0), 0


@composite(
    method=False,
    schemas=(
        "fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, "
        "int quant_max) -> Tensor",
        "fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, "
        "Tensor zero_point, int quant_min, int quant_max) -> Tensor",
    ),
    aten="default tensor_qparams",
    autocast="float32",
    samples=lambda make: [(make(3, 4), 0.13, 5, 0, 15), (make(2, 3), 0.5, 0, -4, 3)],
    differs=("slope",),  # the gradient is that of the clamp alone
)
def fake_quantize_per_tensor_affine(input: Tensor, scale, zero_point, quant_min, quant_max):
    """`input` rounded to what whole numbers of a range stand for::

        (clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale

    Args:
        input: a floating-point tensor of any shape.
        scale: a float, or a tensor of one element.
        zero_point: the number that stands for 0, an int in the range, or a tensor of one element,
            which is taken as a whole number.
        quant_min, quant_max: the range, both inclusive.

    Returns: a tensor like `input`; its gradient passes where the clamp does nothing.

    Raises: RuntimeError for a range or a zero point outside of it, NotImplementedError for whole
    numbers. (Jacob et al., 2018.)

    >>> x = rushlight.tensor([0.04, 0.26, 9.0])
    >>> rushlight.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 15)
    tensor([0.0000, 0.3000, 1.5000])
    """
    name, limits = "fake_quantize_per_tensor_affine", (quant_min, quant_max)
    return _quantized(name, input, *_of_one(name, scale, zero_point, limits), limits)


@composite(
    method=False,
    schemas=(
        "fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, "
        "int quant_min, int quant_max) -> Tensor",
    ),
    aten="default",
    samples=lambda make: [
        (make(3, 4), make(3).detach().float().abs() + 0.1, make(3).detach().float() * 0, 0, -8, 7)
    ],
    differs=("slope",),  # the gradient is that of the clamp alone
)
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis, quant_min, quant_max
):
    """:func:`fake_quantize_per_tensor_affine` with a scale and a zero point for each index along
    dimension `axis`.

    Args:
        input: a floating-point tensor.
        scale, zero_point: one-dimensional, as long as `input` is along `axis`; `scale` is float32
            or bfloat16, `zero_point` int32, float32 or float16; one with a fraction is added before
            numbers are rounded.
        axis: the dimension, not negative.
        quant_min, quant_max: the range, both inclusive.

    >>> x = rushlight.tensor([[0.26, 0.26], [9.0, -1.0]])
    >>> scale = rushlight.tensor([0.1, 0.5])
    >>> rushlight.fake_quantize_per_channel_affine(x, scale, rushlight.zeros(2), 1, -8, 7)
    tensor([[ 0.3000,  0.5000],
            [ 0.7000, -1.0000]])
    """
    name, limits = "fake_quantize_per_channel_affine", (quant_min, quant_max)
    factors = _of_channels(name, input, scale, zero_point, axis, limits)
    return _quantized(name, input, *factors, limits)


def _of_channels(name, input, scale, zero_point, axis, limits):
    """The factors of each channel, and the form."""
    _check_channels(name, input, scale, zero_point, axis)
    if readable(zero_point):
        outside = (zero_point < limits[0]) | (zero_point > limits[1])
        if limits[0] <= limits[1] and bool(outside.any()):
            raise RuntimeError(
                f"{name}: zero_point must be between quant_min and quant_max, {limits[0]} and "
                f"{limits[1]}"
            )
    shape = [1] * axis + [-1] + [1] * (input.dim() - axis - 1)
    return _of_tensors(scale.reshape(shape), zero_point.reshape(shape)), 2


def _check_channels(name, input, scale, zero_point, axis):
    if scale._dtype not in (float32, bfloat16):
        raise RuntimeError(f"{name}: scale must be float32 or bfloat16, got {scale._dtype}")
    if zero_point._dtype not in (int32, float32, float16):
        raise RuntimeError(
            f"{name}: zero_point must be int32, float32 or float16, got {zero_point._dtype}"
        )
    if scale.dim() != 1 or scale.shape != zero_point.shape:
        raise RuntimeError(
            f"{name}: scale and zero_point must be one-dimensional and equally long, got "
            f"{list(scale.shape)} and {list(zero_point.shape)}"
        )
    if not 0 <= axis < input.dim():
        kind = IndexError if axis >= input.dim() else RuntimeError
        raise kind(f"{name}: axis must be from 0 to {input.dim() - 1}, got {axis}")
    if input.shape[axis] != len(scale):
        raise RuntimeError(
            f"{name}: input has {input.shape[axis]} channels along axis {axis}, scale has "
            f"{len(scale)}"
        )


def _with_mask(name, input, factors, form, limits):
    """What is quantized, and where its gradient passes."""
    (inverse, _, *zero), wide = factors, _wide(input, form)
    passed = _passed(ones_like(wide), wide, inverse, *zero, *limits)
    return _quantized(name, input, factors, form, limits), passed.bool()


@in_aten(
    "fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, "
    "int quant_min, int quant_max) -> (Tensor output, Tensor mask)"
)
@overridable(as_given=True)
def _per_tensor_with_mask(self, scale, zero_point, quant_min, quant_max):
    """:func:`fake_quantize_per_tensor_affine`, and where its gradient passes."""
    name, limits = fake_quantize_per_tensor_affine.op.name, (quant_min, quant_max)
    return _with_mask(name, self, *_of_one(name, scale, zero_point, limits), limits)


@in_aten(
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, "
    "Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) "
    "-> (Tensor output, Tensor mask)"
)
@overridable(as_given=True)
def _by_tensors_with_mask(self, scale, zero_point, fake_quant_enabled, quant_min, quant_max):
    """The same of a scale and a zero point in tensors; the input itself where it is not enabled."""
    enabled = fake_quant_enabled.bool()
    found, mask = _per_tensor_with_mask(self, scale, zero_point, quant_min, quant_max)
    return where(enabled, found, self), mask | ~enabled


@in_aten(
    "fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, "
    "int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)"
)
@overridable(as_given=True)
def _per_channel_with_mask(self, scale, zero_point, axis, quant_min, quant_max):
    """:func:`fake_quantize_per_channel_affine`, and where its gradient passes."""
    name, limits = fake_quantize_per_channel_affine.op.name, (quant_min, quant_max)
    factors = _of_channels(name, self, scale, zero_point, axis, limits)
    return _with_mask(name, self, *factors, limits)
