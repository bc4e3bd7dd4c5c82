"""Products of matrices: accuracy against float64, and FLOP/s of twelve shapes."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
from stage import Stage, seconds_each

from rushlight.machine.cuda import runtime as seam
from rushlight.machine.cuda.runtime.products import EPILOGUES, Product, compute

DTYPES = {
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
TOLERANCES = {"float32": 2e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}
# batch, m, n, k: square, skinny, batched.
SHAPES = [
    (1, 8192, 8192, 8192), (1, 4096, 4096, 4096), (1, 2048, 2048, 2048), (1, 1024, 1024, 1024),
    (1, 512, 512, 512), (1, 8192, 768, 3072), (1, 8192, 3072, 768), (1, 8192, 50304, 768),
    (1, 16, 4096, 4096), (1, 1, 4096, 4096), (192, 1024, 1024, 64), (192, 1024, 64, 1024),
]  # fmt: skip


class Arrays:
    """Blocks of device memory that hold host arrays."""

    def __init__(self, runtime):
        self.runtime, self.blocks = runtime, []

    def place(self, array):
        """Copy an array; its address."""
        block = self.runtime.allocate(array.nbytes)
        self.runtime.copy_in(block.address, np.ascontiguousarray(array))
        self.blocks.append(block)
        return block.address


def accuracy(runtime, dtype, turned, epilogue, tf32=False) -> dict:
    """Largest error relative to the largest result."""
    generator, (batch, m, n, k) = np.random.default_rng(0), (3, 65, 130, 97)

    def matrix(rows, columns, is_turned):
        long, short = (columns, rows) if is_turned else (rows, columns)
        memory = generator.standard_normal((batch, long, short)).astype(dtype)
        view = memory.swapaxes(1, 2) if is_turned else memory
        return memory, view, (1, short) if is_turned else (short, 1)

    (a, at, sa), (b, bt, sb) = matrix(m, k, turned[0]), matrix(k, n, turned[1])
    out, bias = (generator.standard_normal(s).astype(dtype) for s in ((batch, m, n), n))
    product = Product(dtype, m, n, k, sa, sb, (n, 1), batch, (m * k, k * n, m * n), 0.5, 1.0,
                      epilogue, None, tf32)  # fmt: skip
    wide = Product(np.dtype(np.float64), m, n, k, sa, sb, (n, 1), batch, alpha=0.5, beta=1.0,
                   epilogue=epilogue)  # fmt: skip
    expected = out.astype(np.float64)
    compute(wide, at.astype(np.float64), bt.astype(np.float64), expected, bias.astype(np.float64))
    arrays = Arrays(runtime)
    places = [arrays.place(array) for array in (a, b, out)]
    row = arrays.place(bias) if epilogue != "none" else 0
    runtime.gemm(product, *places, row, 0)
    runtime.copy_out(out, places[2])
    error = float(np.abs(out.astype(np.float64) - expected).max() / np.abs(expected).max())
    limit = 2e-3 if tf32 else TOLERANCES[dtype.name]
    if not error < limit:
        raise ValueError(f"error {error:.3g} of the largest result; {limit} is allowed")
    return {"error": error}


def speed(runtime, dtype, shape, tf32, smoke) -> dict:
    """FLOP/s of one shape."""
    batch, m, n, k = (min(s, 32) for s in shape) if smoke else shape
    blocks = [runtime.allocate(batch * s * dtype.itemsize) for s in (m * k, k * n, m * n)]
    for block in blocks:
        runtime.fill_bytes(block.address, 0, block.nbytes)
    product = Product(dtype, m, n, k, (k, 1), (n, 1), (n, 1), batch, (m * k, k * n, m * n),
                      tf32=tf32)  # fmt: skip
    places = [block.address for block in blocks]
    seconds = seconds_each(
        lambda: runtime.gemm(product, *places), lambda: runtime.synchronize(0), smoke
    )
    return {"seconds": seconds, "tflops": 2 * batch * m * n * k / seconds / 1e12}


def main() -> None:
    """All rows."""
    stage, runtime = Stage(__doc__), seam.current()
    for name, dtype in DTYPES.items():
        for turned in itertools.product((False, True), repeat=2):
            for epilogue in EPILOGUES:
                stage.attempt(
                    "accuracy", lambda d=dtype, t=turned, e=epilogue: accuracy(runtime, d, t, e),
                    dtype=name, turned=turned, epilogue=epilogue,
                )  # fmt: skip
    stage.attempt(
        "accuracy", lambda: accuracy(runtime, DTYPES["float32"], (False, True), "none", True),
        dtype="tf32",
    )  # fmt: skip
    for shape in SHAPES[-2:] if stage.smoke else SHAPES:
        for name, dtype in DTYPES.items():
            for tf32 in (False, True) if name == "float32" else (False,):
                stage.attempt(
                    "speed",
                    lambda d=dtype, s=shape, t=tf32: speed(runtime, d, s, t, stage.smoke),
                    dtype="tf32" if tf32 else name,
                    shape=shape,
                )
    stage.finish()


if __name__ == "__main__":
    main()
