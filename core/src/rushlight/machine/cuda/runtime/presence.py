"""Whether CUDA can be used here; every answer is a reason with what to install."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util

DISTRIBUTIONS = ("cupy-cuda13x", "cupy-cuda12x", "cupy-rocm-7-0", "cupy")
NO_DRIVER = (
    "no NVIDIA driver was found (libcuda.so.1 cannot be loaded); install the driver of your GPU, "
    "then `pip install rushlight[cuda13]` (driver 580 or newer) or `rushlight[cuda12]`"
)
NO_CUPY = (
    "CuPy is not installed; `pip install rushlight[cuda13]` (NVIDIA driver 580 or newer) or "
    "`pip install rushlight[cuda12]` (driver 525 or newer)"
)


NO_ROCM = (
    "CuPy for ROCm is installed, but ROCm's libamdhip64.so cannot be loaded; install ROCm 7, or "
    "for an NVIDIA GPU `pip install rushlight[cuda13]`"
)


def _has_rocm():
    for name in ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


def cupy_version() -> tuple[str, str] | None:
    """The installed CuPy: name of its distribution and version; None without one."""
    for name in DISTRIBUTIONS:
        try:
            return name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _driver():
    """The driver's CUDA version as an int (13000 for 13.0); None without a driver."""
    for name in ("libcuda.so.1", "libcuda.so"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        version = ctypes.c_int()
        if library.cuDriverGetVersion(ctypes.byref(version)) == 0:
            return version.value
    return None


def why_unavailable() -> str | None:
    """Why the real runtime cannot work; None when it should. Never raises, imports no CuPy."""
    found = cupy_version()
    if found is not None:
        name, version = found
        if int(version.split(".")[0]) != 14:
            return (
                f"{name} {version} is installed; CuPy 14.2 or newer, below 15, is needed: "
                "`pip install rushlight[cuda13]` or `rushlight[cuda12]`"
            )
    if found is not None and found[0].startswith("cupy-rocm"):
        return None if _has_rocm() else NO_ROCM
    driver = _driver()
    if driver is None:
        return NO_DRIVER
    if found is None or importlib.util.find_spec("cupy") is None:
        return NO_CUPY
    if name == "cupy-cuda13x" and driver < 13000:
        return (
            f"the driver serves CUDA {driver // 1000}.{driver % 1000 // 10}, but {name} needs "
            "13.0; update the driver (580 or newer) or `pip install rushlight[cuda12]` instead"
        )
    return None
