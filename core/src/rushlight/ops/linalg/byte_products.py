"""Products with matrices of signed bytes."""

from __future__ import annotations

from rushlight.dtypes import float32, int8
from rushlight.errors import shape_text
from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.gemm import bytes as kernels
from rushlight.kernels.gemm import products
from rushlight.kernels.gemm.integer_products import LEAST
from rushlight.kernels.launch.execution import FLOAT32
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import arrays_of, tensor_of, unrecorded
from rushlight.ops._table.op import op
from rushlight.ops.creation.tensors import full_like
from rushlight.ops.linalg.products import linear
from rushlight.tensor.tensor import Tensor

__all__ = ["_int8_linear", "byte_matmul", "dequantized", "rounded_rows"]


def dequantized(weight: Tensor, scale: Tensor, dtype) -> Tensor:
    """``weight * scale[:, None]`` in floats."""
    return (weight * scale[:, None]).to(dtype)


def rounded_rows(input: Tensor) -> Tensor:
    """Each row as whole numbers from -127 to 127 times a scale, the largest magnitude over 127.

    Args:
        input: floating, (*, K).

    Returns:
        The same shape and dtype; a row with NaN or infinity is all NaN. The gradient passes as if
        nothing were rounded.

    >>> rushlight.nn.int8.rounded_rows(rushlight.tensor([[0.3, -127.0]]))
    tensor([[   0., -127.]])
    """
    wide = input.detach().to(float32)
    if not input.shape[-1]:
        return input
    largest = wide.abs().amax(-1, keepdim=True).clamp(min=LEAST)
    most = full_like(largest, 127.0)
    found = ((wide * (most / largest)).round() * (largest / most)).to(input.dtype)
    return found + (input - input.detach()) if input.requires_grad else found


def _by_steps(input, weight, scale, bias, dynamic):
    """The same by ops that PyTorch has, too."""
    if dynamic:
        input = rounded_rows(input)
    bias = None if bias is None else bias.to(input.dtype)
    return linear(input, dequantized(weight, scale, input.dtype), bias)


def _check(input, weight):
    if weight.ndim != 2 or not input.ndim or input.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"int8_linear: input and weight shapes cannot be multiplied: input has shape "
            f"{shape_text(input.shape)}, weight has shape {shape_text(weight.shape)}; expected "
            f"input (*, {weight.shape[-1]})"
        )


def _meta(input, weight, scale, bias, dynamic):
    _check(input, weight)
    return (*input.shape[:-1], weight.shape[0]), dtype_of(input)


def _samples(make):
    weight = make.integers(-127, 128, (3, 4)).to(int8)
    scale = make.integers(1, 9, (3,)).to(float32) / 256
    bias = make.integers(-3, 4, (3,)).to(float32)
    # A dynamic call's gradient is that of the one without rounding: no sweep can find it.
    return [(make(2, 5, 4), weight, scale, bias, False), (make(4), weight, scale, None, False)]


def _rounded(input):
    wide = cast(input, FLOAT32)
    if not wide.shape[-1]:
        return input
    with np.errstate(all="ignore"):  # rows with NaN or infinity
        largest = np.maximum(np.max(np.abs(wide), axis=-1, keepdims=True), FLOAT32.type(LEAST))
        most = FLOAT32.type(127)
        return cast(np.rint(wide * (most / largest)) * (largest / most), input.dtype)


@op(
    method=False,
    samples=_samples,
    meta=_meta,
    node="Int8Linear",
    captured=_by_steps,
    in_aten=False,
    batching="int8_linear",
    flops="product",
)
def _int8_linear(input: Tensor, weight: Tensor, scale: Tensor, bias: Tensor | None, dynamic: bool):
    """``input @ (weight * scale[:, None]).T + bias``.

    `input` (*, K) floating, `weight` (N, K) int8, `scale` and `bias` (N) float32. `dynamic`: each
    row of the input is rounded to bytes first.
    """
    _check(input, weight)
    matrix = cast(kernels.dequantized(weight, scale), input.dtype)
    if dynamic:
        input = _rounded(input)
    return products.linear(input, matrix, None if bias is None else cast(bias, input.dtype))


_general = _int8_linear.op.body


@_int8_linear.cpu
def _by_kernels(input, weight, scale, bias, dynamic):
    """By a kernel that reads the bytes, where there is one for these arrays."""
    multiply = kernels.rounded_product if dynamic else kernels.product
    found = multiply(input, weight, scale, bias)
    return _general(input, weight, scale, bias, dynamic) if found is None else found


_by_kernels.general = _general

_int8_linear.gradient(
    input=lambda grad, weight, scale: grad.matmul(dequantized(weight, scale, grad.dtype)),
    scale=lambda grad, input, weight, scale_shape: (
        (grad * input.matmul(weight.to(grad.dtype).t())).to(float32).sum_to_size(scale_shape)
    ),
    bias=lambda grad, bias_shape: grad.to(float32).sum_to_size(bias_shape),
)


def byte_matmul(input: Tensor, mat2: Tensor) -> Tensor | None:
    """``input @ mat2`` in int32 by a kernel, of int8 or uint8 with int8; None where the call is
    recorded or a mode is active, and on other devices."""
    if not unrecorded(input, mat2):
        return None
    return tensor_of(kernels.whole_product(*arrays_of(input, mat2)))
