"""How kernel functions run: compiled or by their reference text, and in which dtype."""

from __future__ import annotations

import os

from rushlight.machine import np
from rushlight.machine.arrays import bfloat16

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
COMPILED_DTYPES = (FLOAT32, FLOAT64)
HALF_DTYPES = (np.dtype(np.float16), np.dtype(bfloat16))
# What the kernel language calls the dtypes whose order it knows.
ORDERED_TYPES = {"f4": "f32", "i4": "i32", "f8": "f64", "i8": "i64"}


def _read_mode():
    try:
        from rushlight.settings import kernels_mode
    except ImportError:
        return os.environ.get("RUSHLIGHT_KERNELS", "compiled")
    return kernels_mode()


REFERENCE = _read_mode() == "reference"


def referenced_by(reference):
    """Decorator: with ``RUSHLIGHT_KERNELS=reference`` the reference replaces the function.

    It is as quiet as what it stands for: nothing is said of infinities and NaN.
    """

    def choose(compiled):
        chosen = np.errstate(all="ignore")(reference) if REFERENCE else compiled
        for name in ("__doc__", "__name__", "__qualname__"):  # processes find it by its name
            setattr(chosen, name, getattr(compiled, name))
        chosen.reference, chosen.compiled = chosen if REFERENCE else reference, compiled
        return chosen

    return choose


def is_low_precision(dtype):
    """float16 and bfloat16: computed in float32 and rounded once."""
    return dtype.itemsize == 2 and dtype.kind not in "iub"


def holds_low_precision(array):
    """Whether an array of the CPU is one of those: what is combined is then rounded at the end."""
    return type(array) is np.ndarray and is_low_precision(array.dtype)


def compute_dtype(dtype):
    """The dtype kernels compute in: float32 for float32 and below, else float64."""
    return FLOAT32 if dtype == FLOAT32 or is_low_precision(dtype) else FLOAT64


def compute_array(array):
    """The array as the kernels take it: dense rows of float32 or float64."""
    if array.dtype not in COMPILED_DTYPES:
        from rushlight.kernels.copying.conversion import cast

        array = cast(array, compute_dtype(array.dtype))
    if array.flags.c_contiguous:
        return array
    from rushlight.kernels.copying.assignment import by_rows

    return by_rows(array)


def language_type(dtype):
    """The kernel language's name of float32 or float64. A kernel made for one of them would read
    and write past the end of narrower elements, so others are refused here."""
    from rushlight.machine.language.functions import f32, f64

    if dtype == FLOAT32:
        return f32
    if dtype == FLOAT64:
        return f64
    raise RuntimeError(f"kernels of this op take float32 and float64, got {dtype}")


def floating_types(dtype):
    """Parameters of kernels whose arrays may be of half width: the type of their arithmetic, and
    what they hold."""
    from rushlight.machine.language.functions import bf16, f16

    real = language_type(compute_dtype(dtype))
    if not is_low_precision(dtype):
        return {"real": real, "stored": real}
    return {"real": real, "stored": f16 if dtype.kind == "f" else bf16}


def is_floating(dtype):
    """float16, bfloat16, float32 and float64: what such kernels take."""
    return dtype in COMPILED_DTYPES or dtype in HALF_DTYPES


def chunk(items, work_per_item, target=32_768):
    """Grain for :func:`threads.launch`: about ``target`` units of work, at least one item."""
    return max(1, min(items, -(-target // max(1, work_per_item))))
