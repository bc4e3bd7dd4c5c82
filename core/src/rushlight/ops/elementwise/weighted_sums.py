"""Sums of an input and scaled products, quotients or differences."""

from __future__ import annotations

from rushlight.dtypes import BOOL, COMPLEX, FLOAT
from rushlight.ops._table.domains import nonzero
from rushlight.ops._table.node_names import by_operand
from rushlight.ops._table.number_limits import WIDE
from rushlight.ops._table.op import elementwise
from rushlight.ops._table.rules import floating_only
from rushlight.ops.elementwise.arithmetic import category_of
from rushlight.ops.shape.complex_views import conj_of
from rushlight.tensor.tensor import Tensor


def _one_dtype(input, end, weight):
    """The operands of lerp do not promote; a number as weight fits any of them but a real one."""
    dtype = input._dtype if isinstance(input, Tensor) else None
    if dtype is not None and dtype.category < FLOAT:
        raise NotImplementedError(f"lerp: not implemented for dtype {dtype}")
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, Tensor) and dtype is not None and value._dtype is not dtype:
            number = name == "weight" and not value.dim() and input.dim()
            if number and value._dtype.category <= FLOAT:
                continue  # a weight without dimensions is a number
            raise RuntimeError(f"lerp: expected dtype {dtype} for `{name}` but got {value._dtype}")
    if isinstance(weight, complex) and dtype is not None and dtype.category != COMPLEX:
        raise RuntimeError(f"lerp: a complex weight ({weight}) needs complex operands, got {dtype}")


@elementwise(
    schemas=(
        "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
        "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    ),
    node=by_operand("Lerp", 2),
    rule=floating_only,
    check=_one_dtype,
    fits={"weight": WIDE},
    aten="Scalar Tensor Scalar_out Tensor_out",
    aten_inplace="Scalar Tensor",
    foreach="tensors1: tensors, weight: number | tensors1: tensors, weight: numbers"
    " | tensors1: tensors, weights: tensors",
    saves=lambda node: "weight" if node.name() == "LerpBackward0" else "end self weight",
)
def lerp(input, end, weight):
    """Linear interpolation ``input + weight * (end - input)``."""
    return input + weight * (end - input)


lerp.gradient(
    input=lambda grad, weight: grad * conj_of(1 - weight),
    end=lambda grad, weight: grad * conj_of(weight),
    weight=lambda grad, input, end: grad * conj_of(end - input),
)


def _real_factor(input, tensor1, tensor2, value=1):
    if not isinstance(value, complex):
        return
    if max(category_of(x) for x in (input, tensor1, tensor2)) != COMPLEX:
        raise RuntimeError(f"a complex value ({value}) needs complex operands")


def _no_bool_products(promoted):
    if promoted.category == BOOL:
        raise NotImplementedError(f"not implemented for dtype {promoted}; use logical_and")
    return promoted, promoted


_FORMER = ("input value tensor1 tensor2",)


@elementwise(
    rule=_no_bool_products, check=_real_factor, former=_FORMER,
    fits={"value": WIDE},
 limited="complex", foreach="added")  # fmt: skip
def addcmul(input, tensor1, tensor2, *, value=1):
    """``input + value * tensor1 * tensor2``."""
    return input + value * tensor1 * tensor2


addcmul.gradient(
    input=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conj_of(tensor2 * value),
    tensor2=lambda grad, tensor1, value: grad * conj_of(tensor1 * value),
)


def _no_integers(input, tensor1, tensor2, value=1):
    _real_factor(input, tensor1, tensor2, value)
    if all_integer(tensor1, tensor2):
        raise RuntimeError(
            "addcdiv: integer division is not supported; use div with rounding_mode, or convert "
            f"tensor1 ({tensor1.dtype}) and tensor2 ({tensor2.dtype}) to a floating-point dtype"
        )


def all_integer(*values):
    """Whether every operand is an integer or a bool."""
    return max(category_of(v) for v in values) < FLOAT


@elementwise(
    promotes=("value",),
    domain=nonzero,
    check=_no_integers,
    former=_FORMER,
    fits={"value": WIDE},
    foreach="added",
)
def addcdiv(input, tensor1, tensor2, *, value=1):
    """``input + value * tensor1 / tensor2``."""
    return input + value * (tensor1 / tensor2)


addcdiv.gradient(
    input=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conj_of(value / tensor2),
    tensor2=lambda grad, tensor1, tensor2, value: (
        -grad * conj_of(value * tensor1 / (tensor2 * tensor2))
    ),
)
