"""Attention with dropout of its probabilities on GPUs: one kernel each way, no mask in memory.

The numbers are Philox's; what is kept for the gradient is where they began, from which the backward
kernels draw them again.
"""

from __future__ import annotations

import importlib

from rushlight.dtypes import float32, int64
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import on_gpu, tensor_of, tensors_of
from rushlight.ops._table.op import op
from rushlight.ops._table.rules import floating_only
from rushlight.ops.neural.attention import gradients_by_formula
from rushlight.ops.random.generators import generator_of
from rushlight.tensor.tensor import Tensor


def _kernels():
    return importlib.import_module("rushlight.kernels.attention.cuda")


def _meta(query, key, value, *_options):
    shape = (*query.shape[:3], value.shape[3])
    return [(shape, dtype_of(query)), (query.shape[:3], float32), ((2,), int64)]


@op(
    method=False,
    meta=_meta,
    samples=lambda make: [],
    tested_by="tests/cuda/test_functions.py",
    rule=floating_only,
    node="ScaledDotProductFlashAttention",
)
def attention_with_dropout(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal, scale, p
):
    """Attention over (B, H, L, E) with dropout of probability `p`; also each row's logarithm of the
    sum of exponentials, and seed and offset of the numbers drawn."""
    raise NotImplementedError("attention_with_dropout is for tensors on GPUs")


def _on_gpu(query, key, value, mask, causal, scale, p):
    random = importlib.import_module("rushlight.kernels.random.cuda")
    state = random.reserved(generator_of(query.home).engine.state(), 4 * key.shape[2])
    dropout = _kernels().Dropout(p, state)
    found = _kernels().attention_forward(query, key, value, mask, causal, scale, dropout=dropout)
    return [*found, state.view(np.dtype(np.int64))]


attention_with_dropout.cuda(_on_gpu)


@attention_with_dropout.gradients("query", "key", "value")
def _gradient(grad, query, key, value, mask, causal, scale, p, out0, out1, out2, needs):
    state = out2._array.view(np.dtype(np.uint64))
    dropout = _kernels().Dropout(p, state)
    if on_gpu(grad, query, key, value, mask):
        bias = None if mask is None else mask._array
        arrays = (query._array, key._array, value._array, bias, out0._array, out1._array)
        found = _kernels().attention_backward(grad._array, *arrays, causal, scale, dropout=dropout)
        return tensors_of(found)
    kept = tensor_of(_kernels().dropout_factors(query._array, key._array, dropout))
    return gradients_by_formula(grad, query, key, value, mask, causal, scale, kept.to(query.dtype))
