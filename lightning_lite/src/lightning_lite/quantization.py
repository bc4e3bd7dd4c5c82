"""Numbers of 4 and 8 bits in place of weights: codes, blocks with their largest value, rows.

NF4 and its double quantization: Dettmers et al., QLoRA, 2023, section 3 and appendix E. The dynamic
code of 8 bits: Dettmers, 8-Bit Approximations for Parallelism, 2016. Rows of int8 with outliers:
Dettmers et al., LLM.int8(), 2022.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import rushlight as rl

BLOCK = 64  # weights that share a largest value
BLOCK_OF_STATISTICS = 256  # largest values that share one of theirs
OUTLIER = 6.0  # inputs from here on are not brought to int8
_STEPS = 127.0
_TINY = 1e-38

# Quantiles of the normal distribution, 16 of them with an exact 0.
_NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
    0.7229568362236023, 1.0,
)  # fmt: skip
# One sign bit, two of the exponent, one of the fraction, by bit pattern; over 12.
_FP4 = (0.0, 0.0625, 8.0, 12.0, 4.0, 6.0, 2.0, 3.0)


@functools.cache
def code_of(kind: str) -> Any:
    """The values of a code by their bit patterns: "nf4", "fp4" or "dynamic"."""
    if kind == "nf4":
        return rl.tensor(_NF4)
    if kind == "fp4":
        half = rl.tensor(_FP4) / 12
        return rl.cat([half, -half])
    values = [0.0, 1.0]
    for decade in range(7):  # the larger a value, the finer are its bins
        ends = rl.linspace(0.1, 1, 2**decade + 1)
        middles = ((ends[:-1] + ends[1:]) / 2 * 10.0 ** (decade - 6)).tolist()
        values += middles + [-each for each in middles]
    return rl.tensor(sorted(values))


@functools.cache
def _bounds(kind: str) -> tuple[Any, Any]:
    """Where the nearest value of a code changes, and the bit patterns in order of values."""
    code = code_of(kind)
    order = rl.argsort(code, stable=True)
    ordered = code[order]
    return (ordered[:-1] + ordered[1:]) / 2, order


class Blocks(NamedTuple):
    """Numbers in blocks: bit patterns `(n,)` in uint8, and each block's largest value."""

    patterns: Any
    largest: Any


def to_blocks(values: Any, kind: str, size: int) -> Blocks:
    """The nearest values of a code, block by block."""
    flat = values.reshape(-1).float()
    count = flat.numel()
    rows = rl.nn.functional.pad(flat, (0, -count % size)).reshape(-1, size)
    largest = rows.abs().amax(1)
    scaled = (rows * (1 / largest.clamp(min=_TINY))[:, None]).clamp(-1, 1).reshape(-1)[:count]
    bounds, order = (each.to(flat.device) for each in _bounds(kind))
    return Blocks(order[rl.bucketize(scaled, bounds)].to(rl.uint8), largest)


def from_blocks(blocks: Blocks, kind: str, size: int) -> Any:
    """The values `(n,)` in float32."""
    found = code_of(kind).to(blocks.largest.device)[blocks.patterns.long()]
    count = found.numel()
    rows = rl.nn.functional.pad(found, (0, -count % size)).reshape(-1, size)
    return (rows * blocks.largest[:, None]).reshape(-1)[:count]


def packed(patterns: Any) -> Any:
    """Two patterns of 4 bits in each byte `(n / 2, 1)`, the first in the upper half."""
    pairs = rl.nn.functional.pad(patterns, (0, patterns.numel() % 2)).reshape(-1, 2).int()
    return (pairs[:, :1] * 16 + pairs[:, 1:]).to(rl.uint8)


def unpacked(pairs: Any, count: int) -> Any:
    """The first `count` patterns of 4 bits."""
    wide = pairs.reshape(-1, 1).int()
    return rl.cat([wide // 16, wide % 16], 1).reshape(-1)[:count].to(rl.uint8)


def to_rows(values: Any) -> tuple[Any, Any]:
    """Rows in int8, and the largest value of each in float32."""
    largest = values.abs().amax(1).float()
    scaled = values.float() * (_STEPS / largest.clamp(min=_TINY))[:, None]
    return scaled.round().to(rl.int8), largest


def from_rows(rows: Any, largest: Any) -> Any:
    """The values in float32."""
    return rows.float() * (largest / _STEPS)[:, None]


def product_of_rows(x: Any, rows: Any, largest: Any) -> Any:
    """`x` times the transposed rows, with both in int8 except for the columns of `x` that hold
    outliers: `(N, K)` in float16 and `(M, K)` give `(N, M)` in float32."""
    outliers = x.abs() >= OUTLIER
    columns = outliers.any(0)
    inner, scales = to_rows(x.masked_fill(outliers, 0))
    inner = inner.float().masked_fill(columns[None, :], 0)
    found = inner @ rows.float().T * (scales[:, None] * largest[None, :]) / _STEPS**2
    if bool(columns.any()):
        apart = from_rows(rows[:, columns], largest)
        found = found + x[:, columns].float() @ apart.T
    return found


def product_of_columns(grad: Any, x: Any) -> Any:
    """The transposed `grad` times `x`, with the columns of both in int8 except for the columns of
    `x` that hold outliers: `(N, M)` and `(N, K)` in float16 give `(M, K)` in float32."""
    columns = (x.abs() >= OUTLIER).any(0)
    first, scales = to_rows(grad.T)
    second, others = to_rows(x.masked_fill(columns, 0).T)
    found = first.float() @ second.float().T * (scales[:, None] * others[None, :]) / _STEPS**2
    if bool(columns.any()):
        found[:, columns] = grad.float().T @ x[:, columns].float()
    return found
