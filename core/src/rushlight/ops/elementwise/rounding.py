"""Rounding to whole numbers."""

from __future__ import annotations

from rushlight.compiler import xp
from rushlight.ops._table.domains import away_from
from rushlight.ops._table.node_names import numbered
from rushlight.ops._table.op import elementwise
from rushlight.ops._table.rules import real_same

_DOMAIN = away_from(-3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)


@elementwise(
    rule=real_same,
    domain=_DOMAIN,
    limited="unsigned",
    aten="default out Scalar",
    sparse="elements",
    sparse_slope=0,
    foreach="",
)
def floor(input):
    """The largest whole number not above each element."""
    return xp.floor(input)


@elementwise(
    rule=real_same,
    domain=_DOMAIN,
    limited="unsigned",
    aten="default out Scalar",
    sparse="elements",
    sparse_slope=0,
    foreach="",
)
def ceil(input):
    """The smallest whole number not below each element."""
    return xp.ceil(input)


@elementwise(
    rule=real_same,
    domain=_DOMAIN,
    aliases=("fix",),
    limited="unsigned",
    sparse="elements",
    sparse_slope=0,
    foreach="",
)
def trunc(input):
    """Each element without its fraction."""
    return xp.trunc(input)


@elementwise(
    node=numbered("Round", lambda values: int(bool(values[1]))),
    schemas=(
        "round(Tensor self) -> Tensor",
        "round.decimals(Tensor self, *, int decimals) -> Tensor",
    ),
    rule=real_same,
    domain=_DOMAIN,
    variants=({"decimals": 1},),
    static=("decimals",),
    limited="unsigned",
    aten="default decimals out decimals_out Scalar",
    aten_inplace="default decimals",
    sparse="elements",
    sparse_slope=0,
    foreach="",
)
def round(input, *, decimals=0):
    """The nearest whole number, halves to even; `decimals` keeps that many decimal places."""
    if decimals == 0:
        return xp.round(input)
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    return xp.round(input * scale) / scale if decimals > 0 else xp.round(input / scale) * scale


@elementwise(rule=real_same, domain=_DOMAIN, sparse="elements", sparse_slope=1, foreach="")
def frac(input):
    """The fraction of each element, with its sign."""
    return input - xp.trunc(input)


floor.gradient(input=lambda grad: grad * 0)
ceil.gradient(input=lambda grad: grad * 0)
trunc.gradient(input=lambda grad: grad * 0)
round.gradient(input=lambda grad: grad * 0)
frac.gradient(input=lambda grad: grad)
