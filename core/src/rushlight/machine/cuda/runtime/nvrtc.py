"""NVRTC by ctypes: CUDA C++ text to a cubin of one architecture. Needs no device and no driver."""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib.util
import os
import re
from dataclasses import dataclass

FLAGS = ("-std=c++17", "--fmad=true", "-default-device", "--ptxas-options=-v")
NOT_FOUND = (
    "NVRTC was not found: it comes with `pip install rushlight[cuda13]` (or cuda12), or alone with "
    "`pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl`"
)


class CompileError(RuntimeError):
    """NVRTC refused a text; the message holds its log."""


@dataclass(frozen=True)
class Usage:
    """What ptxas says of one kernel: bytes of local memory, and resources."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int


def _wheel_folders():
    """Folders of NVIDIA's wheels, installed beside any package."""
    spec = importlib.util.find_spec("nvidia")
    found = []
    for root in spec.submodule_search_locations if spec else ():
        found += sorted(glob.glob(os.path.join(root, "*")), reverse=True)
    return found


def library_path(stem: str) -> str | None:
    """The newest library of a stem (``nvrtc``, ``cublasLt``) among NVIDIA's wheels."""
    for folder in _wheel_folders():
        for part in ("lib", "lib64", "bin"):
            found = sorted(glob.glob(os.path.join(folder, part, f"lib{stem}.so.*[0-9]")))
            if found:
                return found[-1]
    return None


def open_library(stem: str, versions=(13, 12)) -> ctypes.CDLL | None:
    """A CUDA library: the one that the process already has, a wheel's, or the system's."""
    for version in versions:  # what another framework has loaded is shared
        try:
            return ctypes.CDLL(f"lib{stem}.so.{version}", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        except OSError:
            continue
    for name in (library_path(stem), *[f"lib{stem}.so.{v}" for v in versions]):
        try:
            if name:
                return ctypes.CDLL(name)
        except OSError:
            continue
    return None


@functools.cache
def header_folders() -> tuple[str, ...]:
    """Folders with ``cuda_fp16.h`` and what it includes."""
    home = os.environ.get("CUDA_PATH") or os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    places = [os.path.join(folder, "include") for folder in _wheel_folders()]
    places.append(os.path.join(home, "include"))
    chosen = [place for place in places if os.path.isfile(os.path.join(place, "cuda_fp16.h"))][:1]
    for place in places:  # <nv/target>, which cuda_fp16.h includes, has moved between versions
        for folder in (place, os.path.join(place, "cccl")):
            if os.path.isfile(os.path.join(folder, "nv", "target")) and len(chosen) < 2:
                chosen.append(folder)
    return tuple(dict.fromkeys(chosen))


@functools.cache
def library() -> ctypes.CDLL | None:
    """NVRTC, or None where it is not installed."""
    found = open_library("nvrtc")
    if found is not None:
        found.nvrtcGetErrorString.restype = ctypes.c_char_p
    return found


def version() -> tuple[int, int] | None:
    """NVRTC's version, or None."""
    nvrtc = library()
    if nvrtc is None:
        return None
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def _text_of(nvrtc, program, what):
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.raw


def compile_text(source: str, architecture: str, options=()) -> tuple[bytes, str]:
    """The cubin for an architecture (``sm_90``) and the log; CompileError if refused."""
    nvrtc = library()
    if nvrtc is None:
        raise RuntimeError(NOT_FOUND)
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    words = [*FLAGS, f"-arch={architecture}", *options]
    words += [f"-I{folder}" for folder in header_folders()]
    array = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
    try:
        code = nvrtc.nvrtcCompileProgram(program, len(words), array)
        log = _text_of(nvrtc, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if code:
            reason = nvrtc.nvrtcGetErrorString(code).decode()
            raise CompileError(f"NVRTC for {architecture}: {reason}\n{log}")
        return _text_of(nvrtc, program, "CUBIN"), log
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


_FUNCTION = re.compile(r"(?:Function properties for|Compiling entry function '?)\s*'?([\w$]+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")


def usage(log: str) -> dict[str, Usage]:
    """What ptxas reported of each kernel in a log."""
    found: dict[str, Usage] = {}
    name, stack = "", (0, 0, 0)
    for line in log.splitlines():
        if match := _FUNCTION.search(line):
            name = match[1]
        if match := _STACK.search(line):
            stack = int(match[1]), int(match[2]), int(match[3])
        if name and (match := _REGISTERS.search(line)):
            found[name] = Usage(int(match[1]), *stack)
            stack = (0, 0, 0)
    return found
