"""Check the bindings of cuBLASLt and cuDNN against the libraries themselves, without a GPU.

cuBLASLt: descriptions of products are made and their attributes read back. cuDNN: every graph of a
list of convolutions gets an execution plan for an H200, described by its properties; the driver's
library is replaced by one whose every function reports "no device". By hand, not in CI: the
libraries are 1 GB.

Usage: python ci/vendor_check.py SITE
SITE: a folder into which these were installed with `pip install --no-deps --target SITE
nvidia-cublas "nvidia-cudnn-cu13<10" "nvidia-cudnn-frontend<1.29"`. Needs g++ and nm.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUBJECTS = (
    "Get Init Driver Device Ctx Mem Module Launch Func Stream Event Library Kernel Link Graph "
    "Tensor Pointer Occupancy Green Multicast"
)
DRIVER = re.compile(rb"\bcu(?:%s)\w*" % SUBJECTS.replace(" ", "|").encode())
H200 = {
    "deviceName": "NVIDIA H200", "cudaDeviceId": 0, "deviceVer": 900, "driverVer": 13000,
    "multiProcessorCount": 132, "maxGridSize": [2147483647, 65535, 65535],
    "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "smClockRateKHz": 1980000,
    "memClockRateKHz": 3201000, "memoryBusWidth": 6144, "l2CacheSize": 62914560, "warpSize": 32,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
    "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "pciDeviceId": 0,
    "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "isTccDriver": 0,
    "supportCoopLaunch": 1, "oversizedSharedMemoryPerBlock": 0, "totalGlobalMem": 150000000000,
    "targetSMcount": 132, "smCountOrigin": 0, "mpcVersion": 0,
}  # fmt: skip
# Image, weight, stride, padding, dilation.
CONVOLUTIONS = [
    ((32, 64, 56, 56), (128, 64, 3, 3), (1, 1), (1, 1), (1, 1)),
    ((32, 3, 224, 224), (64, 3, 7, 7), (2, 2), (3, 3), (1, 1)),
    ((32, 64, 56, 56), (64, 1, 3, 3), (1, 1), (1, 1), (1, 1)),
    ((32, 64, 56, 56), (256, 64, 1, 1), (1, 1), (0, 0), (1, 1)),
    ((8, 16, 100), (32, 16, 5), (2,), (2,), (1,)),
    ((2, 8, 16, 16, 16), (16, 8, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    ((4, 32, 20, 20), (32, 16, 3, 3), (1, 1), (2, 2), (2, 2)),
]


def make_driver(site: Path, folder: Path) -> None:
    """A ``libcuda.so.1`` that has every function that cuDNN looks for."""
    names: set[bytes] = set()
    for library in site.glob("nvidia/*/lib/libcudnn*.so.*"):
        names.update(DRIVER.findall(library.read_bytes()))
        undefined = ["nm", "-D", "--undefined-only", str(library)]
        listed = subprocess.run(undefined, capture_output=True).stdout
        names.update(re.findall(rb"\b(cu[A-Z]\w*)$", listed, re.MULTILINE))
    text = "".join(f"int {name.decode()}() {{ return 100; }}\n" for name in sorted(names))
    (folder / "driver.c").write_text(text)
    words = ["gcc", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "driver.c"]
    subprocess.run([*words, "-o", "libcuda.so.1"], cwd=folder, check=True)


def check_products(site: Path) -> int:
    """Descriptions whose attributes are what was set."""
    from rushlight.machine.cuda.runtime import cublaslt
    from rushlight.machine.cuda.runtime.products import EPILOGUES, Product

    path = next(site.glob("nvidia/*/lib/libcublasLt.so.*"))
    library = ctypes.CDLL(str(path))
    cublaslt.open_library = lambda stem: library
    found, count = cublaslt.Library(), 0

    def read(kind, what, attribute, number):
        value, written = number(), ctypes.c_size_t()
        found.check(f"cublasLt{kind}GetAttribute", what, ctypes.c_int(attribute),
                    ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)),
                    ctypes.byref(written))  # fmt: skip
        return value.value

    for dtype in cublaslt.DATA_TYPES:
        for epilogue in EPILOGUES:
            for batch in (1, 3):
                product = Product(dtype, 64, 96, 32, (32, 1), (1, 32), (96, 1), batch,
                                  (64 * 32, 0, 64 * 96), epilogue=epilogue)  # fmt: skip
                plan, count = cublaslt.Plan(found, product), count + 1
                first = plan.arrangement.first
                compute = cublaslt.compute_types(product)[0]
                expected = [
                    ("MatmulDesc", plan.operation, 0, ctypes.c_int32, compute),
                    ("MatmulDesc", plan.operation, 3, ctypes.c_int32, int(first.turned)),
                    ("MatmulDesc", plan.operation, 7, ctypes.c_uint32,
                     cublaslt.EPILOGUES[epilogue]),
                    ("MatrixLayout", plan.layouts[0], 2, ctypes.c_uint64, first.rows),
                    ("MatrixLayout", plan.layouts[0], 4, ctypes.c_int64, first.leading),
                    ("MatrixLayout", plan.layouts[2], 5, ctypes.c_int32, batch),
                ]  # fmt: skip
                for kind, what, attribute, number, value in expected:
                    given = read(kind, what, attribute, number)
                    if given != value:
                        raise ValueError(f"{kind} attribute {attribute}: {given}, not {value}")
    return count


def matter(shape, channels_last):
    """Shape and strides of dense memory."""
    from rushlight.machine.cuda.runtime.cudnn_graphs import Matter

    order = [0, *range(2, len(shape)), 1] if channels_last else list(range(len(shape)))
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim], step = step, step * shape[dim]
    return Matter(tuple(shape), tuple(strides))


def described(cudnn):
    """The package, but its graphs are for a device that is only described."""
    properties = cudnn.create_device_properties(json.dumps(H200))

    class WithoutDevice:
        def __getattr__(self, name):
            return getattr(cudnn, name)

        def pygraph(self, handle=None, **words):
            return cudnn.pygraph(device_property=properties, sm_version=90, **words)

    return WithoutDevice()


def check_convolutions(site: Path) -> int:
    """Execution plans for all of CONVOLUTIONS, dtypes, layouts and directions."""
    import cudnn

    from rushlight.machine.cuda.runtime import cudnn_graphs

    count = 0
    for image, weight, stride, padding, dilation in CONVOLUTIONS:
        dims = zip(image[2:], weight[2:], stride, padding, dilation, strict=True)
        out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in dims]
        result = (image[0], weight[0], *out)
        kinds = {
            "forward": (image, weight, result),
            "input": (result, weight, image),
            "weight": (result, image, weight),
        }
        for dtype in cudnn_graphs.DATA_TYPES:
            for last in (False, True):
                for kind, shapes in kinds.items():
                    matters = [matter(shape, last) for shape in shapes]
                    asked = cudnn_graphs.Convolution(kind, dtype, *matters, stride, padding,
                                                     dilation, False, False)  # fmt: skip
                    asked.plan(described(cudnn), None)
                    count += 1
    return count


def check_attention() -> int:
    """Attention, forward and backward, of both dtypes and layouts: cuDNN compiles its engines."""
    import cudnn

    from rushlight.machine.cuda.runtime import cudnn_graphs
    from rushlight.machine.cuda.runtime.cudnn_attention import Attention

    count, sums = 0, matter((8, 12, 1024, 1), False)
    for side_by_side, dtype in itertools.product((False, True), list(cudnn_graphs.DATA_TYPES)[1:]):
        heads = matter((8, 12, 1024, 64), False)
        if side_by_side:
            heads = cudnn_graphs.Matter((8, 12, 1024, 64), (1024 * 768, 64, 768, 1))
        operands = {"forward": (heads,) * 4 + (sums,), "backward": (heads,) * 5 + (sums,)}
        operands["backward"] += (heads,) * 3
        for kind, causal in itertools.product(operands, (False, True)):
            asked = Attention(kind, dtype, operands[kind], causal, 0.125)
            try:
                asked.plan(described(cudnn), None)
            except cudnn.cudnnGraphNotSupportedError as error:
                if "cuLibraryLoadData" not in str(error):  # compiled, and no driver takes it
                    raise
            count += 1
    return count


def main() -> int:
    """Prepare the environment and start again in it, or check."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    site = Path(sys.argv[1]).resolve()
    if "RUSHLIGHT_VENDOR_CHECK" in os.environ:
        print(f"cuBLASLt: {check_products(site)} descriptions read back")
        print(f"cuDNN: {check_convolutions(site)} execution plans for convolutions")
        print(f"cuDNN: {check_attention()} graphs of attention compiled")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        make_driver(site, Path(folder))
        libraries = [folder, *map(str, site.glob("nvidia/*/lib"))]
        environment = dict(os.environ, RUSHLIGHT_VENDOR_CHECK="1")
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "core" / "src"), str(site)])
        words = [sys.executable, __file__, str(site)]
        return subprocess.run(words, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
