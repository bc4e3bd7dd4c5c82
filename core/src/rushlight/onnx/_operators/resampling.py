"""Resize, in all its modes, as products with matrices of weights."""

from __future__ import annotations

import math
from typing import NamedTuple

import rushlight as rl
from rushlight.onnx._operators.registry import ints, operator


@operator("Resize", "Upsample")
def Resize(
    x, roi=None, scales=None, sizes=None, antialias=0, axes=None,
    coordinate_transformation_mode="half_pixel", cubic_coeff_a=-0.75, exclude_outside=0,
    extrapolation_value=0.0, keep_aspect_ratio_policy="stretch", mode="nearest",
    nearest_mode="round_prefer_floor", opset=19, **attributes,
):  # fmt: skip
    if "scales" in attributes or (opset < 10 or sizes is None and scales is None):
        scales, roi = attributes.get("scales", roi), None  # Upsample
        coordinate_transformation_mode, nearest_mode = "asymmetric", "floor"
    dims = [d % x.ndim for d in axes] if axes is not None else list(range(x.ndim))
    factors = _floats(scales)
    wanted = (
        ints(sizes) if sizes is not None and (not rl.is_tensor(sizes) or sizes.numel()) else None
    )
    wanted, factors = _targets(x, dims, factors, wanted, keep_aspect_ratio_policy)
    regions = _floats(roi)
    manner = _Manner(mode, nearest_mode, coordinate_transformation_mode, cubic_coeff_a,
                     exclude_outside, antialias)  # fmt: skip
    for n, dim in enumerate(dims):
        region = (regions[n], regions[n + len(dims)]) if regions else (0.0, 1.0)
        if (
            wanted[n] == x.shape[dim]
            and factors[n] == 1
            and coordinate_transformation_mode != "tf_crop_and_resize"
        ):
            continue
        weights, outside = _weights(x.shape[dim], wanted[n], factors[n], region, manner)
        x = _applied(x, dim, weights)
        if outside.any():
            shape = [-1 if d == dim else 1 for d in range(x.ndim)]
            x = x.masked_fill(outside.reshape(shape), extrapolation_value)
    return x


def _floats(values):
    if values is None or rl.is_tensor(values) and not values.numel():
        return None
    return [float(v) for v in (values.tolist() if rl.is_tensor(values) else values)]


def _targets(x, dims, factors, wanted, policy):
    """Sizes and factors of each dimension."""
    lengths = [x.shape[d] for d in dims]
    if wanted is None:
        return [math.floor(n * f) for n, f in zip(lengths, factors, strict=True)], factors
    factors = [w / n for w, n in zip(wanted, lengths, strict=True)]
    if policy != "stretch":
        one = (min if policy == "not_larger" else max)(factors)
        factors = [one] * len(dims)
        wanted = [math.floor(n * one + 0.5) for n in lengths]
    return wanted, factors


def _applied(x, dim, weights):
    """A product with a matrix along one dimension; whole numbers are rounded towards zero."""
    kind = x.dtype
    values = x if kind.is_floating_point else x.double()
    found = (values.movedim(dim, -1) @ weights.to(values.dtype).t()).movedim(-1, dim)
    return found.to(kind)


def _places(size, count, factor, region, how):
    """Where each result comes from."""
    out = rl.arange(count, dtype=rl.float64)
    if how == "align_corners":
        # the whole length, as ONNX Runtime and PyTorch have it; the reference takes size * factor
        return out * (size - 1) / (count - 1) if count != 1 else out * 0
    if how == "asymmetric":
        return out / factor
    if how == "tf_crop_and_resize":
        start, end = region
        if count > 1:
            return start * (size - 1) + out * (end - start) * (size - 1) / (count - 1)
        return out * 0 + 0.5 * (start + end) * (size - 1)
    if how == "pytorch_half_pixel":
        return (out + 0.5) / factor - 0.5 if count > 1 else out * 0
    if how == "half_pixel_symmetric":
        whole = size * factor
        shift = size / 2 * (1 - count / whole)
        return shift + (out + 0.5) / factor - 0.5
    return (out + 0.5) / factor - 0.5


class _Manner(NamedTuple):
    """How results come about: attributes of Resize."""

    mode: str
    nearest: str
    coordinates: str
    a: float
    exclude: int
    antialias: int


def _weights(size, count, factor, region, manner):
    """The share of each element in each result, (count, size), and which results are outside."""
    mode, nearest_mode, how, a, exclude, antialias = manner
    places = _places(size, count, factor, region, how)
    outside = rl.zeros(count, dtype=rl.bool)
    if how == "tf_crop_and_resize":
        outside = (places < 0) | (places > size - 1)
    if mode == "nearest":
        return _nearest(places, size, nearest_mode), outside
    stretch = min(1.0, factor) if antialias else 1.0
    reach = (1.0 if mode == "linear" else 2.0) / stretch
    found = rl.zeros(count, size, dtype=rl.float64)
    for row, place in enumerate(places.tolist()):
        low = math.floor(place) - math.ceil(reach) + 1 - (1 if antialias else 0)
        shares = {}
        for k in range(low, low + 2 * math.ceil(reach) + (2 if antialias else 0)):
            share = _share((k - place) * stretch, mode, a)
            if share and not (exclude and not 0 <= k < size):
                shares[k] = share
        total = sum(shares.values()) if exclude or antialias else 1.0
        for k, share in shares.items():
            found[row, min(max(k, 0), size - 1)] += share / total
    return found, outside


def _share(distance, mode, a):
    distance = abs(distance)
    if mode == "linear":
        return max(0.0, 1 - distance)
    if distance <= 1:
        return (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    if distance < 2:
        return a * distance**3 - 5 * a * distance**2 + 8 * a * distance - 4 * a
    return 0.0


def _nearest(places, size, how):
    rounded = {
        "round_prefer_floor": (places - 0.5).ceil(),
        "round_prefer_ceil": (places + 0.5).floor(),
        "floor": places.floor(),
        "ceil": places.ceil(),
    }[how]
    chosen = rounded.clamp(0, size - 1).long()
    return rl.nn.functional.one_hot(chosen, size).to(rl.float64)
