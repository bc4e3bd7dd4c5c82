"""Attention by cuDNN's graphs: what is asked, and the graph of one node that computes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rushlight.machine.cuda.runtime.cudnn_graphs import (
    DATA_TYPES,
    Matter,
    begun,
    launcher,
    prepared,
    returned,
)


@dataclass(frozen=True)
class Attention:
    """What is asked, over arrays (B, H, L, E) of float16 or bfloat16.

    ``forward`` of (query, key, value) gives (out, sums); ``backward`` of (query, key, value, out,
    gradient, sums) gives their three gradients. `sums` are the logarithms of each row's sum of
    exponentials (B, H, L, 1), float32. With `causal` row i sees the first i + 1 keys.
    """

    kind: str
    dtype: np.dtype
    matters: tuple[Matter, ...]
    causal: bool
    scale: float
    deterministic: bool = False

    def plan(self, cudnn, handle):
        """The graph, built."""
        return _Plan(cudnn, handle, self)


def _forward(graph, inputs, asked):
    query, key, value = inputs
    return graph.sdpa(
        name="attention", q=query, k=key, v=value, generate_stats=True, attn_scale=asked.scale,
        use_causal_mask=asked.causal,
    )  # fmt: skip


def _backward(graph, inputs, asked):
    query, key, value, out, gradient, sums = inputs
    return graph.sdpa_backward(
        name="attention_backward", q=query, k=key, v=value, o=out, dO=gradient, stats=sums,
        attn_scale=asked.scale, use_causal_mask=asked.causal,
        use_deterministic_algorithm=asked.deterministic,
    )  # fmt: skip


class _Plan:
    """One graph, with its operands in the order of `Attention` and the bytes of workspace."""

    def __init__(self, cudnn, handle, asked):
        kind = getattr(cudnn.data_type, DATA_TYPES[asked.dtype])
        node, count = (_forward, 3) if asked.kind == "forward" else (_backward, 6)
        kinds = [kind] * len(asked.matters)
        kinds[4 if count == 3 else 5] = cudnn.data_type.FLOAT
        self.graph = graph = begun(cudnn, kind, handle)
        given = list(zip(asked.matters, kinds, strict=True))
        self.operands = [
            graph.tensor(name=f"x{i}", dim=list(m.shape), stride=list(m.strides), data_type=k)
            for i, (m, k) in enumerate(given[:count])
        ]
        results = node(graph, self.operands, asked)
        for result, (m, k) in zip(results, given[count:], strict=True):
            returned(result, m, k)
        self.operands += results
        self.workspace = prepared(cudnn, graph, [])
        self.launch = launcher(graph, self.operands, handle)
