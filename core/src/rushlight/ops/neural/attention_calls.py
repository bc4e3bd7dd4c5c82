"""Calls of attention that nothing records: their arrays go to the kernel at once."""

from __future__ import annotations

import math

from rushlight.dtypes import float32
from rushlight.kernels.attention import products as kernels
from rushlight.ops._calls.direct import tensor_of


def of_arrays(query, key, value, mask, causal, scale, shares):
    """Attention that nothing records over (B, H, L, E), as when tokens are generated one by one;
    None for what has to be checked or cast first."""
    if not query._dtype is key._dtype is value._dtype is float32:
        return None
    q, k, v, bias = query._array, key._array, value._array, None
    if not q.ndim == k.ndim == v.ndim == 4 or v.shape[:3] != k.shape[:3]:
        return None
    (batch, heads, length, width), (owners, shared, keys, depth) = q.shape, k.shape
    if (owners, depth) != (batch, width) or not width or not keys:
        return None
    if heads != shared and (not shares or not shared or heads % shared):
        return None
    if mask is not None:
        bias = mask._array
        wanted = zip(bias.shape, (batch, heads, length, keys), strict=False)
        if mask._dtype is not float32 or bias.ndim != 4 or causal:
            return None
        if not all(have in (1, want) for have, want in wanted):
            return None
    scale = 1 / math.sqrt(width) if scale is None else float(scale)
    return tensor_of(kernels.attention_forward(q, k, v, bias, bool(causal), scale)[0])
