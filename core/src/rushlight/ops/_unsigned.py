"""Which ops take ``uint16``, ``uint32`` and ``uint64``, and how elementwise ones run on them.

PyTorch has kernels of few ops for these dtypes: those that move elements, compare them for
equality, multiply or join them bit by bit. None of these asks for the sign of a number, so an
elementwise op runs the kernel of the signed integers of that width on the same bits. Where an op
computes in another dtype (floats above all), its operands are converted first.
"""

from __future__ import annotations

from rushlight.backends.arrays import BY_CODE
from rushlight.dtypes import (
    FIRST_UNSIGNED,
    bool_,
    held,
    int16,
    int32,
    int64,
    uint16,
    uint32,
    uint64,
)
from rushlight.tensor.tensor import Tensor, make_tensor

SIGNED = {uint16: int16, uint32: int32, uint64: int64}

# Ops of the table that compute in these dtypes; views, and what is written with other ops, follow.
TAKEN = frozenset(
    "mul eq ne bitwise_and bitwise_or bitwise_xor _where _conj isnan isinf isfinite "
    "isposinf isneginf signbit floor ceil trunc round "
    "cat stack clone repeat roll sort diag_embed _cast _transfer _copy _fill sum_to_size "
    "view_scatter _index _index_rows index_select _embedding _constant_pad flip sum prod all any "
    "cumsum cumprod count_nonzero _log_sum_exp".split()
)
# Ops that PyTorch refuses before it looks for a kernel, as no floats.
FLOATS_ONLY = frozenset(
    "mean _variance linalg_vector_norm _linalg_svd linalg_solve_ex linalg_matrix_exp frexp "
    "_embedding_bag _sddmm nanmean linalg_vecdot".split()
)


def takes_unsigned(op):
    """Whether an op computes in these dtypes, or passes them on to ops that say so."""
    return op.kind in ("view", "composite") or op.name in TAKEN


def refuse(op, dtype):
    """The error for an op that has no kernel for a dtype."""
    kind = RuntimeError if op.name in FLOATS_ONLY else NotImplementedError
    raise kind(
        f'"{op.name.strip("_")}" not implemented for dtype {dtype}: convert the tensor first, for '
        "example to int64 or float32"
    )


def check(op, *found):
    """Refuse dtypes of tensors for which an op has no kernel."""
    if takes_unsigned(op):
        return
    for dtype in found:
        if dtype.code >= FIRST_UNSIGNED and dtype is found[0]:
            refuse(op, dtype)
        if dtype.code >= FIRST_UNSIGNED:  # an index, or beside a tensor of another dtype
            raise RuntimeError(f"{op.name}(): {dtype} does not go with a tensor of {found[0]}")


def with_signed_operands(call):
    """Make a call of an elementwise op one on dtypes that kernels have: operands in the dtype that
    the op computes in, and unsigned ones as the signed numbers of the same bits."""
    op, operand = call.op, call.operand
    if op.name == "signbit":  # the one answer that hangs on the sign: no number here has one
        operand = call.operand = bool_
    signed = SIGNED.get(operand)
    if (signed is not None and op.name not in TAKEN) or op.options.get("unsigned") is False:
        refuse(op, operand)
    aside = op.options.get("aside", ())
    for i, position in enumerate(op.tensor_positions):
        value = call.values[position]
        if position in aside:
            continue
        if isinstance(value, Tensor):
            if signed is not None or value._dtype in SIGNED:
                call.tensors[i] = call.values[position] = _converted(value, operand, signed)
        elif signed is not None and isinstance(value, int) and not isinstance(value, bool):
            value = held(value, operand) if op.name == "_where" else value
            call.values[position] = _wrapped(value, operand.itemsize)
    call.operand = signed or operand
    call.kernel_dtypes = tuple([SIGNED.get(d, d) for d in call.dtypes])


def _converted(tensor, operand, signed):
    if tensor._dtype is not operand:
        tensor = tensor.to(operand)
    if signed is None:
        return tensor
    return make_tensor(tensor._array.view(BY_CODE[signed.code]), signed, tensor._device)


def _wrapped(number, size):
    """A number as the signed integer of so many bytes with the same low bits."""
    if not -(1 << 64) < number < 1 << 64:
        raise OverflowError("int too big to convert")
    half = 1 << (8 * size - 1)
    return (number + half) % (2 * half) - half


def restored(array, dtype):
    """What a kernel of signed integers gave, as an array of the dtype it stands for."""
    return array.view(BY_CODE[dtype.code]) if dtype in SIGNED else array
