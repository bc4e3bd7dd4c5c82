"""The private OpenBLAS (``scipy-openblas64``), kept at one thread: our pool supplies the others."""

from __future__ import annotations

import ctypes
import functools
import glob
import os

from rushlight.machine.forking import COMPILING
from rushlight.machine.language.functions import External, f32, f64, i32, i64

ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE = 101, 111, 112


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded library; its symbols are visible to compiled kernels from then on."""
    import llvmlite.binding as llvm
    import scipy_openblas64

    folder = scipy_openblas64.get_lib_dir()
    found = glob.glob(os.path.join(folder, "libscipy_openblas64_.*"))
    if not found:
        raise ImportError(f"scipy-openblas64 has no library in {folder}")
    with COMPILING:  # a fork waits for it: llvmlite and the loader have locks of their own
        llvm.load_library_permanently(found[0])
        loaded = ctypes.CDLL(found[0])
    loaded.scipy_openblas_set_num_threads64_(ctypes.c_int(1))
    return loaded


def _gemm(letter, kind):
    arguments = (i32, i32, i32, i64, i64, i64, kind, i64, i64, i64, i64, kind, i64, i64)
    return External(f"scipy_cblas_{letter}gemm64_", None, arguments, library)


sgemm, dgemm = _gemm("s", f32), _gemm("d", f64)
