"""Bandwidth of memory-bound kernels beside that of a copy, and of convolution and attention."""

from __future__ import annotations

import numpy as np
from stage import Stage, seconds_each

import rushlight
from rushlight.compiler.cuda.device_array import empty
from rushlight.kernels.attention import cuda as attention
from rushlight.kernels.convolution import cuda as convolution
from rushlight.kernels.indexing import cuda_embedding as embedding
from rushlight.kernels.losses import cuda as losses
from rushlight.kernels.normalization import cuda as normalization
from rushlight.kernels.optimizers import cuda_foreach as foreach
from rushlight.kernels.pooling import cuda as pooling
from rushlight.kernels.random import cuda as random
from rushlight.kernels.random.philox import PhiloxEngine
from rushlight.kernels.reduction import cuda as reduction
from rushlight.kernels.reduction import cuda_softmax as softmax
from rushlight.kernels.scan_sort import cuda_scan as scan
from rushlight.kernels.scan_sort import cuda_sort as sorting
from rushlight.machine.cuda import runtime as seam

BFLOAT16 = np.dtype(rushlight.machine.ml_dtypes.bfloat16)
FLOAT32, INT64 = np.dtype(np.float32), np.dtype(np.int64)


def filled(shape, dtype, philox):
    """Normal numbers on the device."""
    return random.normal_(empty(shape, dtype), 0.0, 1.0, philox)


def memory_cases(rows, columns, dtype, philox):
    """Name -> (call, bytes moved at least)."""
    x, g = filled((rows, columns), dtype, philox), filled((rows, columns), dtype, philox)
    weight, bias = filled((columns,), dtype, philox), filled((columns,), dtype, philox)
    y, mean, rstd = normalization.layer_norm_forward(x, columns, weight, bias, 1e-5)
    target = random.integers_(empty((rows,), INT64), 0, columns, philox)
    _, sums, _ = losses.cross_entropy_forward(x, target, None, -100, 0.0)
    grads = filled((rows,), dtype, philox)
    dropped, mask = random.dropout_forward(x, 0.1, philox)
    size = x.nbytes
    out = empty((rows, columns), dtype)
    current = seam.current()
    return {
        "copy": (lambda: current.copy_within(out.address, x.address, size), 2 * size),
        "fill": (lambda: current.fill_bytes(out.address, 0, size), size),
        "uniform": (lambda: random.uniform_(out, 0.0, 1.0, philox), size),
        "softmax": (lambda: softmax.softmax_forward(x, 1), 2 * size),
        "softmax backward": (lambda: softmax.softmax_backward(g, y, 1), 3 * size),
        "layer norm": (
            lambda: normalization.layer_norm_forward(x, columns, weight, bias, 1e-5), 2 * size
        ),
        "layer norm backward": (
            lambda: normalization.layer_norm_backward(g, x, weight, mean, rstd, columns), 5 * size
        ),
        "cross entropy": (
            lambda: losses.cross_entropy_forward(x, target, None, -100, 0.0), size
        ),
        "cross entropy backward": (
            lambda: losses.cross_entropy_backward(grads, x, target, None, -100, 0.0, sums),
            2 * size,
        ),
        "dropout": (lambda: random.dropout_forward(x, 0.1, philox), 2 * size + x.size),
        "dropout backward": (lambda: random.dropout_backward(g, mask, 1.1), 2 * size + x.size),
        "sum of rows": (lambda: reduction.reduced(x, (1,), False, "sum"), size),
        "sum of columns": (lambda: reduction.reduced(x, (0,), False, "sum"), size),
        "sum of all": (lambda: reduction.reduced(x, None, False, "sum"), size),
        "argmax of rows": (lambda: reduction.argreduced(x, 1, False, True), size),
        "cumsum of rows": (lambda: scan.scanned(x, 1, False), 2 * size),
        "sort of rows": (lambda: sorting.sorted_along(x, 1), 2 * size + 8 * x.size),
    }  # fmt: skip


def optimizer_cases(count, dtype, philox):
    """AdamW over lists like a transformer's."""
    shapes = [(768, 3072), (3072, 768), (768,), (3072,)] * count
    lists = [[filled(shape, dtype, philox) for shape in shapes] for _ in range(3)]
    squares = [random.uniform_(empty(shape, dtype), 0.0, 1.0, philox) for shape in shapes]
    nbytes = sum(array.nbytes for array in lists[0])
    step = 3

    def adamw():
        foreach.adam(*lists, squares, None, [step] * len(shapes), 1e-3, 0.9, 0.999, 1e-8, 0.01,
                     False, True)  # fmt: skip

    return {
        "AdamW": (adamw, 7 * nbytes),
        "norm of gradients": (lambda: foreach.total_norm(lists[1], 2.0), nbytes),
    }


def compute_cases(smoke, dtype, philox):
    """Name -> (call, floating-point operations)."""
    n, size = (2, 8) if smoke else (64, 56)
    x, w = filled((n, 64, size, size), dtype, philox), filled((128, 64, 3, 3), dtype, philox)
    g = filled((n, 128, size, size), dtype, philox)
    rest = ((1, 1), (1, 1), (1, 1), 1)
    flops = 2 * n * 128 * 64 * 9 * size * size
    heads, length = (2, 16) if smoke else (12, 1024)
    batch = 1 if smoke else 8
    q, k, v, dy = (filled((batch, heads, length, 64), dtype, philox) for _ in range(4))
    out, sums = attention.attention_forward(q, k, v, None, True, 0.125)
    products = 2 * 2 * batch * heads * length * length * 64 // 2
    table = filled((1000 if smoke else 50304, 768), dtype, philox)
    words = random.integers_(empty((batch, length), INT64), 0, table.shape[0], philox)
    rows = filled((batch, length, 768), dtype, philox)
    return {
        "convolution": (lambda: convolution.convolution_forward(x, w, None, *rest), flops),
        "convolution, input": (
            lambda: convolution.convolution_input_gradient(g, w, x.shape, *rest), flops
        ),
        "convolution, weight": (
            lambda: convolution.convolution_weight_gradient(g, x, w.shape, *rest), flops
        ),
        "batch norm": (lambda: normalization.batch_norm_train_forward(x, None, None, 1e-5), 0),
        "max pool": (
            lambda: pooling.max_pool_forward(x, (2, 2), (2, 2), (0, 0), (1, 1), False), 0
        ),
        "attention": (lambda: attention.attention_forward(q, k, v, None, True, 0.125), products),
        "attention backward": (
            lambda: attention.attention_backward(dy, q, k, v, None, out, sums, True, 0.125),
            products * 5 // 2,
        ),
        "embedding": (lambda: embedding.embedding_forward(table, words), 0),
        "embedding backward": (
            lambda: embedding.embedding_backward(rows, words, table.shape[0], -1, False), 0
        ),
    }  # fmt: skip


def main() -> None:
    """All rows."""
    stage, current = Stage(__doc__), seam.current()
    philox = PhiloxEngine(0, 0).state()
    rows, columns = (8, 64) if stage.smoke else (16384, 4096)
    wait = lambda: current.synchronize(0)  # noqa: E731
    for dtype in (FLOAT32, BFLOAT16):
        cases = memory_cases(rows, columns, dtype, philox)
        cases.update(optimizer_cases(1 if stage.smoke else 24, dtype, philox))
        for name, (call, nbytes) in cases.items():

            def measured(call=call, nbytes=nbytes):
                seconds = seconds_each(call, wait, stage.smoke)
                return {"seconds": seconds, "gigabytes_per_second": nbytes / seconds / 1e9}

            stage.attempt(name, measured, dtype=dtype.name, kind="memory")
        del cases
        for name, (call, flops) in compute_cases(stage.smoke, dtype, philox).items():

            def counted(call=call, flops=flops):
                seconds = seconds_each(call, wait, stage.smoke)
                return {"seconds": seconds, "tflops": flops / seconds / 1e12}

            stage.attempt(name, counted, dtype=dtype.name, kind="compute")
    stage.finish()


if __name__ == "__main__":
    main()
