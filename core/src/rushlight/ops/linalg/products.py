"""Products of matrices and vectors."""

from __future__ import annotations

import math

from rushlight.dtypes import FLOAT, held
from rushlight.dtypes import bool_ as bool_dtype
from rushlight.errors import shape_text
from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.gemm import products as kernels
from rushlight.kernels.gemm import vectors
from rushlight.kernels.launch.execution import FLOAT32, is_low_precision
from rushlight.kernels.launch.prepared import by_layout, by_layouts, of_copies
from rushlight.kernels.reduction import totals
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import on_arrays, tensors_of
from rushlight.ops._table.domains import positive
from rushlight.ops._table.former_calls import orders_of_scaled_sum
from rushlight.ops._table.number_limits import OPERANDS, WIDE, check_factors
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.shape_rules import scalar
from rushlight.ops.creation.tensors import ones
from rushlight.ops.shape.complex_views import conj_of
from rushlight.ops.shape.views import broadcast_shapes, t
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor, add_methods


def _same_dtype(name, **tensors):
    found = list(tensors.items())
    first_name, first = found[0]
    for other_name, other in found[1:]:
        if other is not None and other.dtype != first.dtype:
            raise RuntimeError(
                f"{name}: expected {first_name} and {other_name} to have the same dtype, but got: "
                f"{first.dtype} != {other.dtype}"
            )


def _mm_samples(make):
    return [
        ((make(3, 4), make(4, 2)), {}),
        ((make(4, 3).t(), make(2, 4).t()), {}),
        ((make(0, 4), make(4, 2)), {}),
        ((make(3, 0), make(0, 2)), {}),
    ]


def _check_mm(input, mat2):
    if input.ndim != 2 or mat2.ndim != 2:
        which = "self" if input.ndim != 2 else "mat2"
        raise RuntimeError(
            f"mm: {which} must be a matrix; input has shape {shape_text(input.shape)}, mat2 has "
            f"shape {shape_text(mat2.shape)}"
        )
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mm: mat1 and mat2 shapes cannot be multiplied ({input.shape[0]}x{input.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})"
        )


def _check_bmm(input, mat2):
    if input.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError(
            f"bmm: batch1 and batch2 must be 3D tensors; got shapes {shape_text(input.shape)} and "
            f"{shape_text(mat2.shape)}"
        )
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"bmm: Expected size for first two dimensions of batch2 tensor to be: "
            f"[{input.shape[0]}, {input.shape[2]}] but got: [{mat2.shape[0]}, {mat2.shape[1]}]."
        )


def _check_dot(input, tensor):
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src "
            f"[{tensor.shape[0]}] to have the same number of elements"
        )


def _product_meta(check):
    """The shape of a product of matrices that passes a check."""

    def meta(input, mat2):
        check(input, mat2)
        return (*input.shape[:-1], mat2.shape[-1]), dtype_of(input)

    return meta


def _dot_meta(input, tensor):
    _check_dot(input, tensor)
    return scalar(input, tensor)


def _kept_of_product(node):
    """Strides are known of the matrices that are kept."""
    kept = (f"{('self', 'mat2')[i]}_sym_strides:" for i in node.plan.inputs)
    return " ".join(["mat2 mat2_sym_sizes self self_sym_sizes", *kept])


_STRIDES = {
    "self_sym_strides": lambda read: read("self").stride(),
    "mat2_sym_strides": lambda read: read("mat2").stride(),
}


@op(
    linear="*input,mat2",
    samples=_mm_samples,
    meta=_product_meta(_check_mm),
    autocast="lower",
    aten="default out dtype_out dtype",
    batching="mm",
    foreach="mat2: tensors",
    flops="product",
    runs_as="matmul",
    limited="eight",
    saves=_kept_of_product,
    saves_as=_STRIDES,
)
def mm(input: Tensor, mat2: Tensor):
    """The product of two matrices, ``(n, m) @ (m, p)``."""
    _check_mm(input, mat2)
    _same_dtype("mm", mat1=input, mat2=mat2)
    return kernels.matmul(input, mat2)


mm.cpu(by_layouts(vectors.small_product, mm.op.body))
mm.gradient(
    input=lambda grad, mat2: mm(grad, conj_of(mat2).t()),
    mat2=lambda grad, input: mm(conj_of(input).t(), grad),
)


def _bmm_samples(make):
    return [((make(2, 3, 4), make(2, 4, 5)), {}), ((make(0, 3, 4), make(0, 4, 5)), {})]


@op(
    linear="*input,mat2",
    samples=_bmm_samples,
    meta=_product_meta(_check_bmm),
    autocast="lower",
    aten="default out dtype_out dtype",
    batching="bmm",
    flops="product",
    runs_as="matmul",
    limited="eight",
)
def bmm(input: Tensor, mat2: Tensor):
    """Products of two batches of matrices, ``(b, n, m) @ (b, m, p)``."""
    _check_bmm(input, mat2)
    _same_dtype("bmm", batch1=input, batch2=mat2)
    return kernels.matmul(input, mat2)


bmm.cpu(by_layouts(vectors.small_products, bmm.op.body))
bmm.gradient(
    input=lambda grad, mat2: bmm(grad, conj_of(mat2).transpose(1, 2)),
    mat2=lambda grad, input: bmm(conj_of(input).transpose(1, 2), grad),
)


@op(
    aten_call=lambda input, vec: ("mv", {"self": input, "vec": vec}),
    linear="*input,vec",
    method=False,
    node="Mv",
    tested_by="tests/kernels/gemm/test_vectors.py",
    samples=lambda make: [],
    meta=lambda input, vec: (input.shape[:1], dtype_of(input)),
)
def _mv(input: Tensor, vec: Tensor):
    """The product of a matrix and a vector of its columns' number."""
    _same_dtype("mv", mat=input, vec=vec)
    return kernels.matmul(input, vec[:, None])[:, 0]


_mv.cpu(by_layouts(vectors.product, _mv.op.body))
_mv.gradient(
    input=lambda grad, vec: grad.unsqueeze(1) * conj_of(vec),
    vec=lambda grad, input: mv(conj_of(input).t(), grad),
)


@composite(
    schemas=("matmul(Tensor self, Tensor other) -> Tensor",),
    operators=("__matmul__",),
    samples=lambda make: [
        (make(3), make(3)),
        (make(2, 1, 3, 2), make(3, 2, 2)),
        (make(3, 2), make(2, 4)),
    ],
    autocast="lower",
    flops="product",
)
def matmul(input: Tensor, other: Tensor):
    """The matrix product with NumPy's broadcasting over leading dimensions; vectors are promoted.

    >>> rushlight.matmul(rushlight.ones(2, 3), rushlight.ones(3, 4)).shape
    rushlight.Size([2, 4])
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"matmul(): argument 'other' must be Tensor, not {type(other).__name__}")
    left, right = input._array.shape, other._array.shape
    a, b = len(left), len(right)
    if a == 2 and b == 2:
        return mm(input, other)
    if not a or not b:
        raise RuntimeError(
            f"matmul: both arguments to matmul need to be at least 1D, but they are {a}D and {b}D"
        )
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 1:
        return matmul(input.unsqueeze(0), other).squeeze(-2)
    if b == 1:
        if a == 2 and not STATE.levels and left[1] == right[0]:
            return _mv(input, other)
        return matmul(input, other.unsqueeze(-1)).squeeze(-1)
    if b == 2 and a > 2:
        rows = input.reshape(math.prod(input._array.shape[:-1]), input.shape[-1])
        return mm(rows, other).reshape(*input.shape[:-1], other.shape[-1])
    return _batched(input, other)


def _batched(input, other):
    n, m = input.shape[-2:]
    k, p = other.shape[-2:]
    if m != k:
        raise RuntimeError(
            f"matmul: shapes cannot be multiplied: input has shape {shape_text(input.shape)}, "
            f"other has shape {shape_text(other.shape)}"
        )
    left, right = input._array.shape[:-2], other._array.shape[:-2]
    if left == right:
        if len(left) == 1:
            return bmm(input, other)
        count = math.prod(left)
        found = bmm(input.reshape(count, n, m), other.reshape(count, k, p))
        return found.reshape(*left, n, p)
    batch = broadcast_shapes(tuple(left), tuple(right))
    left = input.expand(*batch, n, m).reshape(batch.numel(), n, m)
    right = other.expand(*batch, k, p).reshape(batch.numel(), k, p)
    return bmm(left, right).reshape(*batch, n, p)


add_methods(__rmatmul__=lambda self, other: matmul(other, self))


@op(
    linear="*input,tensor",
    meta=_dot_meta,
    samples=lambda make: [((make(4), make(4)), {}), ((make(0), make(0)), {})],
    autocast="as_given",
    batching="dot",
    flops="vector product",
    limited="eight",
)
def dot(input: Tensor, tensor: Tensor):
    """The inner product of two vectors."""
    _check_dot(input, tensor)
    _same_dtype("dot", self=input, tensor=tensor)
    return np.asarray(kernels.matmul(input[None], tensor[:, None])).reshape(())


dot.cpu(by_layouts(vectors.product, dot.op.body))

dot.gradient(
    input=lambda grad, tensor: grad * conj_of(tensor),
    tensor=lambda grad, input: grad * conj_of(input),
)


@composite(
    samples=lambda make: [(make(0, 2), make(2)), (make(3, 2), make(2))],
    autocast="as_given",
    flops="vector product",
)
def mv(input: Tensor, vec: Tensor):
    """The product of a matrix and a vector."""
    rows, columns = input._array.shape, vec._array.shape
    if len(rows) != 2 or len(columns) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.dim()}, {vec.dim()}")
    if not STATE.levels and rows[1] == columns[0]:
        return _mv(input, vec)
    return mm(input, vec.unsqueeze(1)).squeeze(1)


@composite(
    aliases=("ger",),
    samples=lambda make: [(make(0), make(2)), (make(3), make(2))],
    autocast="as_given",
)
def outer(input: Tensor, vec2: Tensor):
    """The outer product of two vectors."""
    if input.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(
            f"outer: Expected 1-D arguments, but got {input.dim()}-D and {vec2.dim()}-D"
        )
    return input.unsqueeze(1) * vec2


@composite(
    former=orders_of_scaled_sum("mat1 mat2"),
    samples=lambda make: [
        (make(3, 4), make(3, 2), make(2, 4)),
        (make(4), make(3, 2), make(2, 4), {"beta": 2, "alpha": 3}),
    ],
    autocast="lower",
    aten="default out dtype_out dtype",
    flops="added product",
)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta=1, alpha=1):
    """``beta * input + alpha * (mat1 @ mat2)``."""
    _check_input("addmm", input, mat1, 2)
    if beta == 1 == alpha and mat1._dtype.category >= FLOAT and mat1._dtype.itemsize > 2:
        return input + mm(mat1, mat2)
    if _is_biased(input, mat1, mat2, beta, alpha):
        return linear(mat1, mat2.t(), input)
    return _scaled_sum("addmm", input, mm, mat1, mat2, beta, alpha)


@composite(
    former=orders_of_scaled_sum("mat vec"),
    samples=lambda make: [
        (make(3), make(3, 2), make(2)),
        (make(3), make(3, 2), make(2), {"beta": 2, "alpha": 3}),
    ],
    autocast="as_given",
)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta=1, alpha=1):
    """``beta * input + alpha * (mat @ vec)``."""
    check_factors("addmv", OPERANDS, mat._dtype, beta=beta, alpha=alpha)
    return _scaled_sum("addmv", input, mv, mat, vec, beta, alpha)


# PyTorch rounds every product of a batch to bfloat16, which shows where terms cancel.
@composite(
    domain=positive,
    former=orders_of_scaled_sum("batch1 batch2"),
    samples=lambda make: [
        (make(3, 2), make(2, 3, 2), make(2, 2, 2)),
        (make(2), make(2, 3, 2), make(2, 2, 2), {"beta": 2, "alpha": 3}),
    ],
    autocast="lower",
    flops="summed products",
)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta=1, alpha=1):
    """``beta * input + alpha * sum_i batch1[i] @ batch2[i]``, as one product."""
    if batch1.dim() != 3 or batch2.dim() != 3 or batch1.shape[::2] != batch2.shape[:2]:
        bmm(batch1, batch2)  # says what is wrong
    count, n, m = batch1.shape
    left = batch1.transpose(0, 1).reshape(n, count * m)
    right = batch2.reshape(count * m, batch2.shape[2])
    return _scaled_sum("addbmm", input, mm, left, right, beta, alpha)


@composite(
    former=orders_of_scaled_sum("batch1 batch2"),
    samples=lambda make: [
        (make(2, 3, 2), make(2, 3, 2), make(2, 2, 2)),
        (make(2), make(2, 3, 2), make(2, 2, 2), {"beta": 2, "alpha": 3}),
    ],
    autocast="lower",
    aten="default out dtype_out dtype",
    flops="added product",
)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta=1, alpha=1):
    """``beta * input + alpha * (batch1 @ batch2)``."""
    return _scaled_sum("baddbmm", input, bmm, batch1, batch2, beta, alpha)


def _is_biased(input, mat1, mat2, beta, alpha):
    """Whether a sum of low precision is what a linear layer does in one kernel."""
    low = mat1._dtype.category == FLOAT and mat1._dtype.itemsize == 2
    fits = mat2.dim() == 2 and input.shape == mat2.shape[1:] and input._dtype is mat1._dtype
    return low and fits and beta == 1 == alpha


def _scaled_sum(name, input, multiply, left, right, beta, alpha):
    """``beta * input + alpha * multiply(left, right)``; low precision is rounded once, at the end,
    as PyTorch does."""
    dtype = left._dtype
    _check_input(name, input, left, {mv: 1, mm: 2}.get(multiply, 3))
    check_factors(name, WIDE, dtype, beta=beta, alpha=alpha)
    if dtype.category == FLOAT and dtype.itemsize <= 2 and input._dtype is right._dtype is dtype:
        wide = (t.float() for t in (left, right))
        return _weighted_sum(input.float(), multiply(*wide), beta, alpha).to(dtype)
    return _weighted_sum(input, multiply(left, right), beta, alpha)


def _check_input(name, input, left, most):
    """What is added is of the product's dtype, and has no more dimensions."""
    if input._dtype is not left._dtype:
        raise RuntimeError(
            f"{name}: self and mat2 must have the same dtype, but got {input._dtype} and "
            f"{left._dtype}"
        )
    if input.dim() > most:
        raise RuntimeError(
            f"{name}: input of shape {shape_text(input.shape)} cannot be expanded to the "
            f"{most} dimensions of the product"
        )


def _weighted_sum(input, product, beta, alpha):
    if product._dtype.category < FLOAT:  # PyTorch takes the factors in the operands' dtype
        beta, alpha = (held(factor, product._dtype) for factor in (beta, alpha))
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        product = product.expand(broadcast_shapes(input.shape, product.shape))
        if not input.requires_grad:
            return product
        nothing = ones((), dtype=bool_dtype, device=input._device)  # NaN is ignored too
        return product + input.masked_fill(nothing, 0)
    return (input if beta == 1 else input * beta) + product


def _inplace(function):
    """``x.function_(...)``, written into `x`."""

    @overridable(as_given=True)
    def call(self, *args, **kwargs):
        return self.copy_(function(self, *args, **kwargs))

    call.__name__ = call.__qualname__ = function.__name__ + "_"
    call.__doc__ = f"In-place version of :func:`rushlight.{function.__name__}`."
    return call


add_methods(addmm_=_inplace(addmm), addmv_=_inplace(addmv))
add_methods(addbmm_=_inplace(addbmm), baddbmm_=_inplace(baddbmm))


def _linear_samples(make):
    return [
        ((make(3, 4), make(2, 4), make(2)), {}),
        ((make(2, 3, 4), make(5, 4)), {}),
        ((make(4), make(2, 4), make(2)), {}),
    ]


def _check_linear(input, weight, bias):
    if weight.ndim != 2 or input.ndim < 1 or input.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"linear: input and weight shapes cannot be multiplied: input has shape "
            f"{shape_text(input.shape)}, weight has shape {shape_text(weight.shape)}; expected "
            f"input (*, {weight.shape[-1]})"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(
            f"linear: bias has shape {shape_text(bias.shape)}, expected "
            f"{shape_text(weight.shape[:1])}"
        )


def _linear_meta(input, weight, bias=None):
    _check_linear(input, weight, bias)
    return (*input.shape[:-1], *weight.shape[:-1]), dtype_of(input)


def _linear_name(node):
    """As of the product that PyTorch records for matrices; here one node stands for all inputs."""
    return "MmBackward0" if _has_no_bias(node) else "AddmmBackward0"


def _has_no_bias(node):
    return node.shapes is not None and node.shapes[2] is None


def _arranged_linear(node):
    """PyTorch's product takes the bias first, and the transpose of the weight."""
    product = (0, None), (1, t)
    return product if _has_no_bias(node) else ((2, None), *product)


def _kept_of_linear(node):
    words = "{0}:input {0}_sym_sizes:input_sym_sizes {0}_sym_strides: mat2: mat2_sym_sizes: "
    words += "mat2_sym_strides:"
    if _has_no_bias(node):
        return words.format("self")
    return "alpha: beta: " + words.format("mat1")


def _transposed_weight(read):
    """The second factor, which a gradient of the first asks for."""
    return None if read.node.edges[0] is None else read("weight").t()


_PARTS_OF_LINEAR = {
    "alpha": 1,
    "beta": 1,
    "mat2": _transposed_weight,
    "mat2_sym_sizes": lambda read: read("weight_sym_sizes")[::-1],
    "mat1_sym_strides": lambda read: read("input").stride(),
    "self_sym_strides": lambda read: read("input").stride(),
    "mat2_sym_strides": lambda read: read("weight").stride()[::-1],
}


@op(
    node=_linear_name,
    arranged=_arranged_linear,
    schemas=("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",),
    samples=_linear_samples,
    oracle="nn.functional",
    method=False,
    meta=_linear_meta,
    autocast="lower",
    aten="default out",
    batching="linear",
    flops="product",
    runs_as="mm addmm",
    limited="eight",
    saves=_kept_of_linear,
    saves_as=_PARTS_OF_LINEAR,
)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None):
    """``input @ weight.T + bias``; `input` (*, in), `weight` (out, in), `bias` (out)."""
    found = kernels.planned_linear(input, weight, bias)
    if found is not None:
        return found
    _check_linear(input, weight, bias)
    if weight.dtype is not input.dtype or bias is not None and bias.dtype is not input.dtype:
        _same_dtype("linear", input=input, weight=weight, bias=bias)
    return kernels.linear(input, weight, bias)


def _numpys_row_sum(rows):
    if is_low_precision(rows.dtype):
        return cast(np.add.reduce(cast(rows, FLOAT32), 0), rows.dtype)
    return np.add.reduce(rows, 0)


def _prepared_row_sum(rows):
    return totals.totalled("sum", rows, (0,), False, rows.dtype)


# The sum of all rows, numbers of low precision added in float32 and rounded once.
_row_sum = by_layout(of_copies(_prepared_row_sum), _numpys_row_sum)


def _linear_backward(grad, input, weight, needs):
    """The gradients of a linear layer's arguments that are needed, computed on arrays."""
    rows, flat = kernels.rows_of(grad), kernels.rows_of(input)
    if grad.dtype.kind == "c":
        weight, flat = np.conj(weight), np.conj(flat)
    back = None
    if needs[0]:
        back = kernels.matmul(rows, weight)
        back = back if flat is input else back.reshape(input.shape)
    products = kernels.matmul(rows.T, flat) if needs[1] else None
    return tensors_of((back, products, _row_sum(rows) if needs[2] else None))


@linear.gradients("input", "weight", "bias")
def linear_gradient(grad, input, weight, input_shape, needs):
    """The three products of the backward pass of a linear layer."""
    if on_arrays(grad, input, weight):
        return _linear_backward(grad._array, input._array, weight._array, needs)
    rows = kernels.rows_of(grad)
    grad_input = grad_weight = grad_bias = None
    if needs[0]:
        grad_input = mm(rows, conj_of(weight)).reshape(input_shape)
    if needs[1]:
        grad_weight = mm(rows.t(), conj_of(kernels.rows_of(input)))
    if needs[2]:
        grad_bias = rows.sum(0)
    return grad_input, grad_weight, grad_bias


@composite(
    method=False,
    samples=lambda make: [
        (make(3, 2), make(3, 3), make(4, 2, 3)),
        (make(2, 2), make(2, 3), make(4, 2, 3), make(4)),
    ],
    autocast="as_given",
    flops="two-sided product",
)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None):
    """``input1 @ weight[k] @ input2`` for every output k, plus `bias`."""
    lead = input1.shape[:-1]
    a, b, outputs = kernels.rows_of(input1), kernels.rows_of(input2), weight.shape[0]
    left = mm(a, weight.permute(1, 0, 2).reshape(a.shape[1], outputs * weight.shape[2]))
    left = left.reshape(a.shape[0], outputs, b.shape[1])
    out = bmm(left, b.unsqueeze(-1)).squeeze(-1).reshape(*lead, outputs)
    return out if bias is None else out + bias
