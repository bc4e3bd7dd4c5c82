"""Products of groups of rows or columns with a matrix each, as mixtures of experts compute them,
and products of scaled eight-bit floats."""

from __future__ import annotations

import enum

from rushlight import dtypes
from rushlight.errors import shape_text
from rushlight.ops._table.op import composite
from rushlight.ops.creation.tensors import zeros
from rushlight.ops.linalg.products import bmm, mm
from rushlight.ops.shape.joining import cat, stack
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor

_GROUPED = (dtypes.float32, dtypes.bfloat16, dtypes.float16)
_LINE = 16  # bytes that rows or columns start at multiples of


@composite(
    method=False,
    oracle="",
    samples=lambda make: [],  # none of float64, which it refuses
    exported=True,
    schemas=(
        "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
        "ScalarType? out_dtype=None) -> Tensor",
    ),
)
def _grouped_mm(
    input: Tensor, mat2: Tensor, offs: Tensor | None = None, bias: Tensor | None = None,
    out_dtype=None,
):  # fmt: skip
    """:func:`rushlight.nn.functional.grouped_mm`."""
    _check_grouped(input, mat2, offs, bias, out_dtype)
    if offs is None:
        return bmm(input, mat2)
    if input.dim() == mat2.dim():
        sizes = _sizes(offs, input.shape[1])
        pairs = zip(input.split(sizes, 1)[:-1], mat2.split(sizes)[:-1], strict=True)
        return stack([mm(a, b) for a, b in pairs])
    sizes = _sizes(offs, input.shape[0] if input.dim() == 2 else mat2.shape[1])
    if input.dim() == 2:
        parts = [mm(a, b) for a, b in zip(input.split(sizes), mat2.unbind(), strict=False)]
        rest, dim = (sizes[-1], mat2.shape[2]), 0
    else:
        parts = [mm(a, b) for a, b in zip(input.unbind(), mat2.split(sizes, 1), strict=False)]
        rest, dim = (input.shape[1], sizes[-1]), 1
    if sizes[-1]:
        parts.append(zeros(rest, dtype=input.dtype, device=input.device))
    return cat(parts, dim)


def _sizes(offs, whole):
    """How many rows or columns each group has, and how many are in none."""
    ends = offs.tolist()
    sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    if ends and (min(sizes) < 0 or ends[-1] > whole):
        raise RuntimeError(f"grouped_mm: offs must not decrease nor exceed {whole}; got {ends}")
    return [*sizes, whole - (ends[-1] if ends else 0)]


def _check_grouped(input, mat2, offs, bias, out_dtype):
    for name, matrix in (("mat_a", input), ("mat_b", mat2)):
        if matrix.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d, got shape {shape_text(matrix.shape)}")
        if name == "mat_a" and matrix.dtype not in _GROUPED:
            raise RuntimeError(
                f"Expected mat_a to be Float32, BFloat16 or Float16 matrix, got {matrix.dtype}"
            )
    if input.dtype is not mat2.dtype:
        raise RuntimeError(
            "grouped_mm: expected mat_a and mat_b to have the same dtype, but got "
            f"{input.dtype} != {mat2.dtype}"
        )
    if (offs is None) != (input.dim() == mat2.dim() == 3):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if input.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            "contraction dimension of mat_a and mat_b must match, got shapes "
            f"{shape_text(input.shape)} and {shape_text(mat2.shape)}"
        )
    if input.dim() == mat2.dim() == 3 and input.shape[0] != mat2.shape[0]:
        raise RuntimeError("batched dimension has to match")
    _check_offsets(input, mat2, offs)
    _check_lines(input)
    _check_lines(mat2)
    _check_result(input, bias, out_dtype)


def _check_result(input, bias, out_dtype):
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not input.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


def _check_offsets(input, mat2, offs):
    if offs is None:
        return
    if offs.dim() != 1:
        raise RuntimeError(f"offs has to be 1D, got shape {shape_text(offs.shape)}")
    if offs.dtype is not dtypes.int32:
        raise RuntimeError(f"Offsets have to be int32, got {offs.dtype}")
    groups = input if input.dim() == 3 else mat2
    if groups.dim() == 3 and groups.shape[0] != offs.shape[0]:
        raise RuntimeError("matrix batch sizes have to match: one end for each matrix of the batch")


def _check_lines(matrix):
    """Rows or columns are dense, and begin at multiples of a line."""
    rows, columns = matrix.shape[-2:]
    row, column = matrix.stride()[-2:]
    if not (row == 1 and column >= max(1, rows) or column == 1 and row >= max(1, columns)):
        raise RuntimeError(
            f"Invalid strides/sizes, got {list(matrix.stride())} for strides and "
            f"{list(matrix.shape)} for sizes"
        )
    if (row if column == 1 and row >= max(1, columns) else column) * matrix.itemsize % _LINE:
        raise RuntimeError(f"strides should be multiple of {_LINE} bytes, got {matrix.stride()}")


@overridable
def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None,
    out_dtype: dtypes.dtype | None = None,
) -> Tensor:  # fmt: skip
    """Products of groups: of rows of a matrix with a matrix each, as of tokens with their experts.

    Args: `offs` (G,) of int32, where each group ends; left out where both are batches. With
    `mat_a` (M, K) and `mat_b` (G, K, N) rows are grouped, and the result is (M, N), 0 in rows that
    are in no group; with (G, M, K) and (K, N) columns are, and it is (M, N); with (M, K) and (K, N)
    what is summed over, and it is (G, M, N); with (G, M, K) and (G, K, N) it is their `bmm`.
    Both of float32, bfloat16 or float16, with rows or columns that begin at multiples of 16 bytes.
    There is no `bias` yet, and `out_dtype` is that of `mat_a`. Raises RuntimeError for all else.

    Example:
        >>> import rushlight
        >>> tokens, experts = rushlight.ones(3, 4), rushlight.ones(2, 4, 4)
        >>> ends = rushlight.tensor([1, 3], dtype=rushlight.int32)
        >>> rushlight.nn.functional.grouped_mm(tokens, experts, offs=ends).shape
        torch.Size([3, 4])
    """
    return _grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


# --------------------------------------------------------------------------------- eight-bit floats
class ScalingType(enum.Enum):
    """What a scale of a low-precision product is of."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.Enum):
    """How the scales of blocks are laid out in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def _alone(value):
    """A value, or the only one of a list; None of a longer one."""
    if not isinstance(value, (list, tuple)):
        return value
    return value[0] if len(value) == 1 else None


@overridable
def scaled_mm(
    mat_a: Tensor, mat_b: Tensor, scale_a, scale_recipe_a, scale_b, scale_recipe_b,
    swizzle_a=None, swizzle_b=None, bias: Tensor | None = None,
    output_dtype: dtypes.dtype | None = dtypes.bfloat16, contraction_dim=(),
    use_fast_accum: bool = False,
) -> Tensor:  # fmt: skip
    """The product of two matrices of eight-bit floats and their scales, computed in float32.

    Args: `mat_a` (M, K) and `mat_b` (K, N); scales of float32, of :class:`ScalingType` TensorWise
    with one element each, or RowWise with shapes (M, 1) and (1, N); `bias` (N,). Each scale and
    recipe may be a list of one. The result (M, N) has `output_dtype`. Swizzles and
    `use_fast_accum` are for GPUs. Raises ValueError for scales of blocks, which GPUs take.

    Example:
        >>> import rushlight
        >>> F = rushlight.nn.functional
        >>> a, scale = rushlight.ones(2, 3).to(rushlight.float8_e4m3fn), rushlight.tensor(0.5)
        >>> each = F.ScalingType.TensorWise
        >>> F.scaled_mm(a, a.t(), scale, each, scale, each, output_dtype=rushlight.float32)
        tensor([[0.7500, 0.7500],
                [0.7500, 0.7500]])
    """
    from rushlight.ops.former.private_names import _scaled_mm

    recipes = _alone(scale_recipe_a), _alone(scale_recipe_b)
    known = (ScalingType.TensorWise,) * 2, (ScalingType.RowWise,) * 2
    if recipes not in known or _alone(scale_a) is None or _alone(scale_b) is None:
        raise ValueError(
            "Invalid scaling configuration: scales are TensorWise or RowWise, one for each matrix; "
            f"got {scale_recipe_a} and {scale_recipe_b}"
        )
    if tuple(contraction_dim):
        raise NotImplementedError("scaled_mm: contraction_dim is not available; transpose instead")
    return _scaled_mm(
        mat_a, mat_b, _alone(scale_a), _alone(scale_b), bias, None, output_dtype, use_fast_accum
    )


def scaled_grouped_mm(
    mat_a: Tensor, mat_b: Tensor, scale_a, scale_recipe_a, scale_b, scale_recipe_b,
    swizzle_a=None, swizzle_b=None, bias: Tensor | None = None, offs: Tensor | None = None,
    output_dtype: dtypes.dtype | None = dtypes.bfloat16, contraction_dim=(),
    use_fast_accum: bool = False,
) -> Tensor:  # fmt: skip
    """Refuse: grouped products of eight-bit floats are for GPUs, in PyTorch too. Multiply what
    :func:`grouped_mm` takes, the matrices in bfloat16 times their scales. Raises
    NotImplementedError."""
    raise NotImplementedError(
        "scaled_grouped_mm is not available for the CPU; use grouped_mm of matrices in bfloat16, "
        "multiplied by their scales"
    )
