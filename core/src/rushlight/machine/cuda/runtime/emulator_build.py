"""g++ for the emulator: kernel text to shared objects, kept on disk.

The files are where compiled kernels of the CPU are (see :mod:`rushlight.machine.code_cache`), in
a folder of their own per version of compiler and emulator.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from rushlight.machine import code_cache, compile_lock, owned_folders

HERE = pathlib.Path(__file__).parent / "emulator"
FLAGS = (
    "-std=c++17",
    "-O1",
    "-w",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-Wl,-Bsymbolic",  # a kernel may be called like a function of the C library
)
NO_COMPILER = (
    "RUSHLIGHT_CUDA=emu runs CUDA's text on the CPU and needs the compiler g++, which was not "
    "found; install it (on Debian and Ubuntu: apt-get install g++)"
)

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_BOUNDS = r"__launch_bounds__\s*\(\s*([^),]*)[^)]*\)"
_KERNEL = re.compile(
    rf"__global__\s+void\s+(?:{_BOUNDS}\s*)?(\w+)\s*\(|__global__\s+{_BOUNDS}\s*void\s+(\w+)\s*\("
)
_DYNAMIC = re.compile(
    r"extern\s+__shared__\s+(?:__align__\s*\([^)]*\)\s*)?([\w: ]+?)\s+(\w+)\s*\[\s*\]\s*;"
)


_SHARED = re.compile(r"(?<!extern )__shared__\s+([^;]+);")
_DECLARED = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:,|$)")


def _shared_variables(match):
    """A declaration of shared memory, which is garbage when a block starts."""
    names = _DECLARED.findall(re.sub(r"__align__\s*\([^)]*\)", "", match[1]))
    return match[0] + "".join(f" emu::start_shared(&{name}, sizeof {name});" for name in names)


def compiler() -> str | None:
    """The path of g++ (or of ``RUSHLIGHT_EMULATOR_CXX``), None where there is none."""
    return shutil.which(os.environ.get("RUSHLIGHT_EMULATOR_CXX", "g++"))


def why_unavailable() -> str | None:
    """Why the emulator cannot run; None when it can."""
    return None if compiler() else NO_COMPILER


@functools.cache
def _version():
    """Compiler and emulator in one word; a change of either starts a new folder."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    digest.update(subprocess.run([compiler(), "--version"], capture_output=True).stdout)
    for path in sorted(HERE.iterdir()):
        digest.update(path.read_bytes())
    return "emulated-" + digest.hexdigest()[:16]


@functools.cache
def _scratch():
    """A folder of this process, where nothing can be kept; removed at its end."""
    return tempfile.TemporaryDirectory(prefix="rushlight-")


def _compile(text, key, link=()):
    """The shared object of a text, compiled unless it is on disk."""
    folder = code_cache.folder(_version()) or pathlib.Path(_scratch().name)
    path = folder / f"{key}.so"
    if not _is_built(path):
        with compile_lock.alone(path):
            if not _is_built(path):
                _run_compiler(text, path, link)
    return path


def _is_built(path):
    return path.is_file() and owned_folders.is_mine(path.lstat())


def _run_compiler(text, path, link):
    """Compile a text into a file, which appears whole."""
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        source = pathlib.Path(scratch) / "kernel.cpp"
        source.write_text(text)
        made = pathlib.Path(scratch) / "kernel.so"
        command = [compiler(), *FLAGS, f"-I{HERE}", str(source), "-o", str(made), *link]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            lines = run.stderr.replace(str(source), "kernel.cu").splitlines()
            raise RuntimeError("the emulator's g++ refused kernel text:\n" + "\n".join(lines[:40]))
        os.replace(made, path)


@functools.cache
def scheduler() -> ctypes.CDLL:
    """The library of fibers and barriers that all kernels use."""
    text = (HERE / "cuda_emulator.cpp").read_text()
    library = ctypes.CDLL(str(_compile(text, "scheduler")), mode=ctypes.RTLD_GLOBAL)
    library.emu_message.restype = ctypes.c_char_p
    return library


def kernels_of(source: str) -> dict[str, int]:
    """Names of the kernels in a text and the largest block each allows (1024 if it says none)."""
    found = {}
    for match in _KERNEL.finditer(_COMMENT.sub(" ", source)):
        bound = (match[1] or match[3] or "").strip()
        found[match[2] or match[4]] = int(bound) if bound.isdigit() else 1024
    return found


def _for_the_cpu(source, names):
    entries = [
        f'extern "C" int emu_run_{name}(void** arguments, const emu::Launch* launch) '
        f"{{ return emu::run(&{name}, arguments, launch); }}\n"
        f'extern "C" int emu_parameters_{name}(int* sizes, char* kinds) '
        f"{{ return emu::parameters(&{name}, sizes, kinds); }}\n"
        for name in names
    ]
    body = _DYNAMIC.sub(r"\1* \2 = reinterpret_cast<\1*>(emu::shared_bytes);", source)
    body = _SHARED.sub(_shared_variables, body)
    return "\n".join(('#include "cuda_emulator.h"', '#line 1 "kernel.cu"', body, *entries))


def _macros(options):
    """``-DNAME=VALUE`` as preprocessor lines; other options concern NVRTC only."""
    lines = []
    for option in options:
        if option.startswith("-D"):
            name, _, value = option[2:].partition("=")
            lines.append(f"#define {name} {value or 1}\n")
    return "".join(lines)


def build(source: str, options=()) -> tuple[ctypes.CDLL, dict[str, int]]:
    """The library of a kernel text, and its kernels with their launch bounds."""
    scheduler()
    names = kernels_of(source)
    text = _macros(options) + _for_the_cpu(source, names)
    key = hashlib.sha256(text.encode()).hexdigest()[:32]
    path = _compile(text, key)
    try:
        return ctypes.CDLL(str(path)), names
    except OSError:  # damaged on disk
        with contextlib.suppress(OSError):
            path.unlink()
        return ctypes.CDLL(str(_compile(text, key))), names
