"""Covariance and correlation matrices."""

from __future__ import annotations

from rushlight.dtypes import BOOL, FLOAT, INTEGER, promote_types
from rushlight.errors import shape_text
from rushlight.ops._table.domains import positive
from rushlight.ops._table.op import composite
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.shape.complex_views import real
from rushlight.tensor.dispatch import readable
from rushlight.tensor.tensor import Tensor


def _check_weights(name, weights, count, category):
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights.dim()} dimensions"
        )
    if weights._dtype.category != category:
        kind = "integral" if category == INTEGER else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {weights._dtype}")
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input "
            f"but got {weights.numel()} != {count}"
        )
    if readable(weights) and weights.numel() and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@composite(
    domain=positive,
    samples=lambda make: [
        (make(5),),
        (make(3, 5),),
        (
            make(2, 4),
            {
                "correction": 0,
                "fweights": make.integers(1, 4, (4,)),
                "aweights": make(4).detach(),
            },
        ),
    ],
)
def cov(
    input: Tensor,
    *,
    correction=1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
):
    """The covariance matrix of variables in rows, observations in columns. The divisor is the
    weighted count minus `correction`; `fweights` repeats observations, `aweights` weighs them."""
    if input.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input of shape "
            f"{shape_text(input.shape)}"
        )
    if input._dtype.category == BOOL:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    values = input.reshape(1, -1) if input.dim() < 2 else input
    count, weights = values.shape[1], None
    if fweights is not None:
        _check_weights("fweights", fweights, count, INTEGER)
        weights = fweights.reshape(-1)
    if aweights is not None:
        _check_weights("aweights", aweights, count, FLOAT)
        # narrower weights are summed in the precision of what they weigh
        aweights = aweights.reshape(-1).to(promote_types(values._dtype, aweights._dtype).to_real())
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        total = count
        mean = (
            values.to((values * 1.0)._dtype).mean(1, True) if count else values.sum(1, True) / 0.0
        )
    else:
        total = weights.sum()
        if readable(total) and not bool(total != 0):
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        mean = (values * weights).sum(1, True) / total
    norm = _divisor(total, weights, aweights, correction)
    centred = values - mean
    scaled = centred if weights is None else centred * weights
    other = centred.mH if centred.is_complex() else centred.mT
    found = (scaled.to((scaled * other[:1, :1])._dtype if other.numel() else centred._dtype)) @ (
        other.to(scaled._dtype)
    )
    return (found / norm).squeeze()


def _divisor(total, weights, aweights, correction):
    if correction == 0:
        norm = total
    elif weights is None or aweights is None:
        norm = total - correction
    else:
        norm = total - correction * (weights * aweights).sum() / total
    if isinstance(norm, Tensor):
        return where(norm > 0, norm, 0)
    return float(max(norm, 0))


# Unsigned integers would wrap below zero to numbers that float32 cannot tell apart.
@composite(domain=positive, samples=lambda make: [(make(5),), (make(3, 5),)])
def corrcoef(input: Tensor):
    """Pearson's correlation coefficients of variables in rows, observations in columns."""
    if input.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input of shape "
            f"{shape_text(input.shape)}"
        )
    found = cov(input)
    if not found.dim():
        return found / found
    spread = real(found.diagonal()).sqrt()
    scaled = found / spread.unsqueeze(1) / spread
    if scaled.is_complex():
        from rushlight.ops.elementwise.complex_numbers import complex

        return complex(scaled.real.clamp(-1, 1), scaled.imag.clamp(-1, 1))
    return scaled.clamp(-1, 1)
