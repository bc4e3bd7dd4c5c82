"""Functions that PyTorch keeps for its own layers: programs reach them as ``torch._chunk_cat`` or
through ``torch.ops.aten``. Each is written with public ones."""

from __future__ import annotations

import math

from rushlight import dtypes
from rushlight.errors import shape_text
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.domains import positive
from rushlight.ops._table.op import TensorList, composite
from rushlight.ops._table.rules import refuse_complex
from rushlight.ops._table.second_order import zero_by
from rushlight.ops.creation.tensors import zeros
from rushlight.ops.elementwise.activation import gelu, relu
from rushlight.ops.linalg.byte_products import byte_matmul
from rushlight.ops.linalg.products import addmm
from rushlight.ops.neural.epilogues import epilogue_of, linear_then
from rushlight.ops.neural.interpolation import _maps, _resample, interpolate
from rushlight.ops.neural.native_norms import native_batch_norm
from rushlight.ops.neural.pooling import _max_unpool
from rushlight.ops.neural.segments import segment_reduce
from rushlight.ops.neural.softmax import _log_softmax_gradient, _softmax_gradient, softmax
from rushlight.ops.shape.joining import cat
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor

_segment_reduce = segment_reduce


# ------------------------------------------------------------------------------------- products
@composite(
    oracle="",
    samples=lambda make: [
        (make(4), make(3, 2), make(2, 4)),
        (make(3, 4), make(3, 2), make(2, 4), {"alpha": 2, "use_gelu": True}),
    ],
    exported=True,
)
def _addmm_activation(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta=1, alpha=1, use_gelu=False
):
    """``relu(beta * input + alpha * (mat1 @ mat2))``, or with `use_gelu` the exact GELU of that.

    For a row `input` of float32 that nothing records, ReLU runs on the sums before they are stored.
    """
    activation = gelu if use_gelu else relu
    if beta == 1 == alpha and input.dim() == 1 and mat1.dim() == mat2.dim() == 2:
        found = linear_then(mat1, mat2.t(), input, epilogue_of(activation))
        if found is not None:
            return found
    return activation(addmm(input, mat1, mat2, beta=beta, alpha=alpha))


_EIGHT_BITS = (
    dtypes.float8_e4m3fn, dtypes.float8_e4m3fnuz, dtypes.float8_e5m2, dtypes.float8_e5m2fnuz,
)  # fmt: skip


@composite(
    method=False,
    oracle="",
    samples=lambda make: [],
    exported=True,
    differentiable=False,
    schemas=(
        "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, "
        "Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> "
        "Tensor",
    ),
)
def _scaled_mm(
    input: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype=None,
    use_fast_accum=False,
):
    """``(input * scale_a) @ (mat2 * scale_b) + bias`` of eight-bit floats, computed in float32.

    Args: `input` (n, k) and `mat2` (k, m); `scale_a` and `scale_b` float32, one element each, or
    (n, 1) and (1, m); `bias` (m,); `out_dtype`, by default that of `input`, is saturated where it
    has eight bits. `use_fast_accum` is for GPUs.

    Example:
        >>> import rushlight
        >>> a = rushlight.ones(2, 3).to(rushlight.float8_e4m3fn)
        >>> scale = rushlight.tensor(0.5)
        >>> rushlight._scaled_mm(a, a.t(), scale, scale, out_dtype=rushlight.float32)
        tensor([[0.7500, 0.7500],
                [0.7500, 0.7500]])
    """
    _check_scaled(input, mat2, scale_a, scale_b)
    _check_rest_of_scaled(mat2, bias, scale_result)
    found = (input.float() * scale_a) @ (mat2.float() * scale_b)
    found = found if bias is None else found + bias.float()
    return _saturated(found, input.dtype if out_dtype is None else out_dtype)


def _saturated(values, dtype):
    """Values in a dtype; those of eight bits are at most its largest number."""
    if dtype in _EIGHT_BITS:
        limit = dtypes.finfo(dtype).max
        values = values.clamp(-limit, limit)
    return values.to(dtype)


def _check_rest_of_scaled(mat2, bias, scale_result):
    """Refuse what is optional in a scaled product and not as it has to be."""
    if scale_result is not None:
        raise NotImplementedError("_scaled_mm(): scale_result is not available; scale the result")
    if bias is not None and tuple(bias.shape) != (mat2.shape[1],):
        raise RuntimeError(
            f"_scaled_mm(): expected bias of size {mat2.shape[1]}, got {shape_text(bias.shape)}"
        )


def _check_scaled(input, mat2, scale_a, scale_b):
    """Refuse what no scaled product takes."""
    for name, matrix in (("self", input), ("mat2", mat2)):
        if matrix.dim() != 2:
            raise RuntimeError(
                f"_scaled_mm(): {name} must be a matrix, not of shape {shape_text(matrix.shape)}"
            )
        if matrix.dtype not in _EIGHT_BITS:
            raise ValueError(
                f"_scaled_mm(): {name} must be of an eight-bit float dtype, got {matrix.dtype}"
            )
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat_a and mat_b shapes cannot be multiplied ({input.shape[0]}x{input.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})"
        )
    rows, columns = (input.shape[0], 1), (1, mat2.shape[1])
    single = scale_a.numel() == 1 == scale_b.numel()
    by_row = tuple(scale_a.shape) == rows and tuple(scale_b.shape) == columns
    if not (single or by_row) or {scale_a.dtype, scale_b.dtype} != {dtypes.float32}:
        raise ValueError(
            "_scaled_mm(): scale_a and scale_b must be of float32 and have one element each, or "
            f"shapes {rows} and {columns}; got {scale_a.dtype} {shape_text(scale_a.shape)} and "
            f"{scale_b.dtype} {shape_text(scale_b.shape)}"
        )


@composite(
    method=False,
    oracle="",
    samples=lambda make: [],
    exported=True,
    differentiable=False,
    schemas=("_int_mm(Tensor self, Tensor mat2) -> Tensor",),
)
def _int_mm(input: Tensor, mat2: Tensor):
    """``input @ mat2`` of eight-bit integers, summed in int32, where large sums wrap around.

    Args: `input` (n, k) of int8 or uint8 and `mat2` (k, m) of int8; returns int32 (n, m). Raises
    RuntimeError for other shapes and dtypes.

    Example:
        >>> import rushlight
        >>> a = rushlight.tensor([[100, -100], [1, 2]], dtype=rushlight.int8)
        >>> rushlight._int_mm(a, a)
        tensor([[  9900, -10200],
                [   102,    -96]], dtype=rushlight.int32)
    """
    _check_integers(input, mat2)
    found = byte_matmul(input, mat2)
    if found is not None:
        return found
    # Products have 15 bits and a sign: sums in float64 are exact for every size that memory holds.
    return (input.double() @ mat2.double()).long().int()


def _check_integers(input, mat2):
    """Refuse what no product of eight-bit integers takes."""
    allowed = {"self": (dtypes.int8, dtypes.uint8), "mat2": (dtypes.int8,)}
    for name, matrix in (("self", input), ("mat2", mat2)):
        if matrix.dim() != 2:
            raise RuntimeError(
                f"_int_mm(): expected {name} to be of dimension 2 but got {matrix.dim()}"
            )
        if matrix.dtype not in allowed[name]:
            raise RuntimeError(
                f"_int_mm(): expected {name} to be of {' or '.join(map(str, allowed[name]))} but "
                f"got {matrix.dtype}"
            )
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"_int_mm(): self.size(1) needs to match mat2.size(0) but got {input.shape[1]} and "
            f"{mat2.shape[0]}"
        )


# -------------------------------------------------------------------------------------- joining
def _cut(tensor, dim, num_chunks):
    """A tensor with `dim` padded to whole chunks: (..., num_chunks, elements of a chunk)."""
    missing = -tensor.shape[dim] % num_chunks
    if missing:
        shape = list(tensor.shape)
        shape[dim] = missing
        tensor = cat([tensor, zeros(shape, dtype=tensor.dtype, device=tensor.device)], dim)
    return tensor.reshape(*tensor.shape[:dim], num_chunks, -1)


@composite(
    method=False,
    oracle="",
    samples=lambda make: [([make(3, 2), make(2, 1)], 0, 2), ([make(2, 3), make(2, 4)], 1, 2)],
    exported=True,
)
def _chunk_cat(tensors: TensorList, dim, num_chunks):
    """Every tensor cut into `num_chunks` chunks along `dim`, padded with zeros where they do not
    come out even; the chunks of one number joined, flat: (..., num_chunks, all their elements)."""
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat expects positive num_chunks, got {num_chunks}")
    for tensor in tensors:
        if not tensor.numel():
            raise RuntimeError("_chunk_cat expects non-empty tensors")
        if tensor.dtype is not tensors[0].dtype:
            raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
    if dim < 0 and len({t.dim() for t in tensors}) > 1:
        raise RuntimeError(
            "_chunk_cat expects non-negative dim when input tensors have different ndims, got "
            f"{dim}"
        )
    dim = wrap_dim(dim, tensors[0].dim())
    for tensor in tensors:
        if dim >= tensor.dim() or tensor.shape[:dim] != tensors[0].shape[:dim]:
            raise RuntimeError(
                "_chunk_cat expects same sizes of 0,...,dim-1 dimensions: dim is "
                f"{dim}, shapes are {shape_text(tensors[0].shape)} and {shape_text(tensor.shape)}"
            )
    return cat([_cut(tensor, dim, num_chunks) for tensor in tensors], dim + 1)


# -------------------------------------------------------------------------------------- softmax
def _wide(tensor):
    """Low precision in float32, so that the result is rounded once."""
    return tensor.float() if tensor.dtype.itemsize == 2 else tensor


@composite(
    method=False,
    oracle="",
    samples=lambda make: [(make(3, 4), make(3, 4), 1, make.dtype)],
    exported=True,
)
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim, input_dtype):
    """The gradient of softmax's input, from that of its `output`."""
    return _softmax_gradient(_wide(grad_output), _wide(output), dim).to(input_dtype)


@composite(
    method=False,
    oracle="",
    samples=lambda make: [(make(3, 4), make(3, 4), 1, make.dtype)],
    exported=True,
)
def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim, input_dtype):
    """The gradient of log-softmax's input, from that of its `output`."""
    return _log_softmax_gradient(_wide(grad_output), _wide(output), dim).to(input_dtype)


@composite(method=False, oracle="", samples=[(1,), (0,)], exported=True)
def _safe_softmax(input: Tensor, dim, dtype=None):
    """Softmax in which rows that are -inf throughout give zeros instead of nan."""
    masked = (input == -math.inf).all(dim, True)
    return softmax(input.masked_fill(masked, 0.0), dim, dtype=dtype).masked_fill(masked, 0.0)


# ------------------------------------------------------------------------------------- indexing
def _within(indices, shape):
    """Indices moved to the nearest valid position."""
    return tuple(
        slice(None) if index is None else index.clamp(-size, size - 1)
        for index, size in zip(indices, shape, strict=False)
    )


@composite(
    method=False,
    oracle="",
    samples=lambda make: [
        (make(3, 4), make.mask(2), [make.integers(0, 3, (2,)), make.integers(0, 4, (2,))], 0.5)
    ],
    exported=True,
)
def _unsafe_masked_index(input: Tensor, mask: Tensor, indices, fill):
    """``input[indices]`` where `mask` is true, `fill` elsewhere; positions beyond the end do no
    harm there."""
    return input[_within(indices, input.shape)].masked_fill(~mask, fill)


@composite(
    method=False,
    oracle="",
    samples=lambda make: [
        (make(3, 4), make.mask(2), [make.integers(0, 3, (2,)), make.integers(0, 4, (2,))], make(2))
    ],
    exported=True,
)
def _unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices, values: Tensor):
    """A copy of `input` with `values` added at `indices` where `mask` is true."""
    places = _within(indices, input.shape)
    if input.dtype is dtypes.bool_:
        return input.index_put(places, values & mask, accumulate=True)
    return input.index_put(places, values.masked_fill(~mask, 0), accumulate=True)


# -------------------------------------------------------------------------------- normalization
def _native_batch_norm_legit(input: Tensor, weight=None, bias=None, *args, **options):
    """:func:`native_batch_norm`, with or without ``running_mean, running_var`` before
    ``training, momentum, eps``."""
    names = ("running_mean", "running_var", "training", "momentum", "eps")
    if len(args) + len(options) == 3:
        options.update(running_mean=None, running_var=None)
        names = names[2:]
    given = dict(zip(names, args, strict=False))
    return native_batch_norm(input, weight, bias, **given, **options)


@composite(
    domain=positive,
    method=False,
    oracle="",
    samples=lambda make: [
        (make(4, 3), make(3), make(3), make(3).detach(), make(3).detach(), 0.1, 1e-5)
    ],
    aten="default out",
)
def _batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum,
    eps,
):
    """:func:`native_batch_norm` in training, and the memory that a GPU library would reserve:
    none."""
    found = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*found, zeros(0, dtype=dtypes.uint8, device=input.device))


# ------------------------------------------------------------------------------------ resampling
def _upsample_bilinear2d_aa(
    input: Tensor, output_size, align_corners, scales_h=None, scales_w=None, *, scale_factors=None
):
    """``interpolate(mode="bilinear", antialias=True)`` to a size, with the scales that positions
    are computed with; or, with `scale_factors` in their place, by factors."""
    return _smoothed("bilinear", input, output_size, align_corners, scales_h, scales_w,
                     scale_factors)  # fmt: skip


def _upsample_bicubic2d_aa(input, output_size, align_corners, *scales, scale_factors=None):
    """The same with ``mode="bicubic"``."""
    scales_h, scales_w = (*scales, None, None)[:2]
    return _smoothed("bicubic", input, output_size, align_corners, scales_h, scales_w,
                     scale_factors)  # fmt: skip


def _smoothed(mode, input, output_size, align_corners, scales_h, scales_w, scale_factors):
    if isinstance(scales_h, (tuple, list)):
        scales_h, scale_factors = None, scales_h
    if scales_h is scales_w is None:  # the public function, which programs have whole
        by_size = scale_factors is None
        size, factors = (tuple(output_size), None) if by_size else (None, tuple(scale_factors))
        return interpolate(input, size, factors, mode, align_corners, antialias=True)
    factors = (scales_h, scales_w)
    maps = _maps(input, tuple(output_size), factors, mode, align_corners, True)
    return _resample(input, maps, (mode, True, align_corners, factors))


@composite(
    schemas=(
        "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] "
        "kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, "
        "Tensor indices) -> Tensor",
    ),
    method=False,
    oracle="_C._nn",
    samples=lambda make: [
        (make(1, 2, 2, 2), make(1, 2, 4, 4), 2, 2, 0, 1, False, make.integers(0, 16, (1, 2, 2, 2)))
    ],
    aten="default grad_input",
)
def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    input: Tensor,
    kernel_size,
    stride,
    padding,
    dilation,
    ceil_mode,
    indices: Tensor,
):
    """The gradient of :func:`nn.functional.max_pool2d`'s input: that of the output, at the
    positions that the `indices` name."""
    refuse_complex("max_pool2d_backward", grad_output._array)
    if input.dim() == 3:
        shape = (1, *input.shape)
        found = _max_unpool(grad_output.unsqueeze(0), indices.unsqueeze(0), shape).squeeze(0)
    else:
        found = _max_unpool(grad_output, indices, tuple(input.shape))
    return zero_by(found, input)


@in_aten(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
    "SymInt step=1) -> Tensor(a)",
    call=lambda input, dim=0, start=None, end=None, step=1: (
        "slice", {"self": input, "dim": dim, "start": start, "end": end, "step": step},
    ),
)  # fmt: skip
def sliced(input: Tensor, dim=0, start=None, end=None, step=1):
    """The view ``input[start:end:step]`` along `dim`."""
    whole = (slice(None),) * wrap_dim(dim, input.dim())
    return input[(*whole, slice(start, end, step))]
