"""What machine this is: versions, properties, libraries, a first kernel."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from dataclasses import asdict

import numpy as np
from stage import Stage

PACKAGES = (
    "numpy", "ml-dtypes", "llvmlite", "cupy-cuda13x", "cupy-cuda12x", "cuda-pathfinder", "torch",
    "nvidia-cuda-nvrtc", "nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-cudnn-frontend", "pytest",
)  # fmt: skip
TEXT = """
extern "C" __global__ void first(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 2.0f * i;
}
"""


def versions() -> dict:
    """Versions of what matters, None where it is absent."""
    found = {"python": sys.version.split()[0], "machine": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def first_kernel(runtime) -> dict:
    """Compile, launch, copy back."""
    block = runtime.allocate(4000)
    kernel = runtime.load(TEXT).kernel("first")
    runtime.launch(kernel, (4, 1, 1), (256, 1, 1), 0, 0, (block.address, np.int32(1000)))
    out = np.empty(1000, np.float32)
    runtime.copy_out(out, block.address)
    np.testing.assert_array_equal(out, 2 * np.arange(1000, dtype=np.float32))
    return {"works": True}


def main() -> None:
    """All rows."""
    stage = Stage(__doc__)
    stage.row("versions", **versions())
    from rushlight.machine.cuda import runtime as seam
    from rushlight.machine.cuda.runtime import cublaslt, nvrtc

    stage.row("cuda", available=seam.available(), why_unavailable=seam.why_unavailable())
    stage.row(
        "libraries",
        nvrtc=nvrtc.version(),
        headers=list(nvrtc.header_folders()),
        cublaslt=cublaslt.open_library("cublasLt") is not None,
    )
    if seam.available():
        runtime = seam.current()
        for device in range(runtime.device_count()):
            stage.row("device", number=device, **asdict(runtime.properties(device)))
        stage.attempt("first kernel", lambda: first_kernel(runtime))
    else:
        stage.failed += 1
    stage.finish()


if __name__ == "__main__":
    main()
