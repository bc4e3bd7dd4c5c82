"""Attention by cuDNN where the runtime has it: float16 and bfloat16, no mask but the causal one."""

from __future__ import annotations

from rushlight.backends import cuda as switches
from rushlight.backends import cudnn
from rushlight.machine import determinism
from rushlight.machine.cuda import runtime
from rushlight.machine.cuda.runtime.cudnn_attention import Attention
from rushlight.machine.cuda.runtime.cudnn_graphs import Matter

__all__ = ["serves", "taken_back", "written"]

FEWEST = 128  # queries and keys from which its tiles are full; a graph is built for every shape
MOST_SHAPES = 64  # a program whose lengths never repeat is not to build graphs for ever
_seen: set = set()


def serves(query, key, value, mask, dropout) -> bool:
    """Whether cuDNN is there, allowed, and has this."""
    current = runtime.current()
    if mask is not None or dropout is not None or query.dtype.itemsize != 2:
        return False
    if not (cudnn.enabled and switches.cudnn_sdp_enabled() and current.has_cudnn()):
        return False
    if min(query.shape[2], key.shape[2]) < FEWEST or query.shape[1] % key.shape[1]:
        return False
    if any(a.shape[3] % 8 or not 0 < a.shape[3] <= 128 for a in (query, key, value)):
        return False
    shapes = (query.shape, key.shape, value.shape)
    if shapes not in _seen and len(_seen) >= MOST_SHAPES:
        return False
    _seen.add(shapes)
    return current.properties(query.device).capability >= (8, 0)


def _matter(array):
    found = Matter.of(array)
    if array.ndim == 3:  # sums: (B, H, L) as (B, H, L, 1)
        return Matter((*found.shape, 1), (*found.strides, 1))
    return found


def _run(kind, arrays, causal, scale) -> bool:
    asked = Attention(
        kind, arrays[0].dtype, tuple(map(_matter, arrays)), bool(causal), float(scale),
        cudnn.deterministic or determinism.asked[0],
    )  # fmt: skip
    stream = runtime.streams.current(arrays[0].device)
    return runtime.current().run_cudnn(asked, [a.address for a in arrays], stream)


def written(query, key, value, causal, scale, out, sums) -> bool:
    """Attention into `out`, and the logarithms of each row's sum of exponentials into `sums`;
    False where cuDNN refuses."""
    return _run("forward", (query, key, value, out, sums), causal, scale)


def taken_back(grad, inputs, causal, scale, out, sums, found) -> bool:
    """The gradients of the inputs (query, key, value) into `found`; False where cuDNN refuses."""
    return _run("backward", (*inputs, out, grad, sums, *found), causal, scale)
