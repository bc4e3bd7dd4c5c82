"""Machine code: the LLVM engine, the disk cache, and the way from a kernel to its address.

This file, :mod:`kernel_compiler` and :mod:`microkernel` are the only ones that touch llvmlite. It
is imported at first kernel need. Code is cached as object files, one per kernel and choice of
parameters, in a folder named after everything that shaped them: Python, llvmlite, the CPU and the
text of the kernel sources, safe from concurrent processes and torn files
(:mod:`rushlight.backends.object_files`). Where the folder cannot be written a private temporary one
is used. Cached code holds no address: C functions are resolved by name when it is loaded.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time

import llvmlite
import llvmlite.binding as llvm

from rushlight.backends import llvm_passes, np, object_files
from rushlight.backends.cpu import processor
from rushlight.backends.emulated_instructions import TILES, replaced
from rushlight.backends.kernel_language import External, NativeFunction

_lock = threading.RLock()
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)
_SOURCES = ("backends", "kernels")


class _Engine:
    """One MCJIT engine for the life of the process: addresses are handed out freely."""

    def __init__(self):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.processor = processor()
        self.machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=self.processor.name,
            features=self.processor.flags(),
            opt=3,
            jit=True,
            codemodel="large",  # sections of an object may be linked more than 2 GB apart
            reloc="static",
        )
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.machine)

    def compile(self, module, passes=llvm_passes.optimise_kernels):
        """Object code of an ``llvmlite.ir`` module, or of IR text."""
        parsed = llvm.parse_assembly(replaced(str(module), self.processor.emulated))
        parsed.verify()
        passes(parsed, self.machine)
        return self.machine.emit_object(parsed)

    def load(self, data):
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self.engine.finalize_object()


_engine = None
_loaded: dict[str, int] = {}


def engine():
    """The engine, made at first need."""
    global _engine
    with _lock:
        if _engine is None:
            _engine = _Engine()
            if "amx-tile" in processor().emulated:
                _load_tiles()
    return _engine


def _load_tiles():
    """Make the functions that replace matrix units known to the modules that call them."""
    from rushlight.backends import emulated_tiles

    load_module(emulated_tiles.SYMBOL, emulated_tiles.text)
    for name in TILES.values():
        llvm.add_symbol(name, _engine.engine.get_function_address(name))


# ---- the disk cache ----------------------------------------------------------------------------


def _fingerprint():
    """Whatever, when changed, makes stored code wrong."""
    digest = hashlib.sha256()
    for part in (
        sys.version.split()[0],
        llvmlite.__version__,
        np.__version__,
        processor().fingerprint(),
    ):
        digest.update(part.encode() + b"\0")
    root = pathlib.Path(__file__).parents[1]
    for folder in _SOURCES:
        for path in sorted((root / folder).glob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:24]


_folder = None


def cache_folder():
    """The folder of this build's object files, created at first need."""
    global _folder
    with _lock:
        if _folder is None:
            chosen = os.environ.get("RUSHLIGHT_CACHE_DIR")
            root = pathlib.Path(chosen) if chosen else _home() / ".cache" / "rushlight"
            folder = root / _fingerprint()
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder):
                    pass
                os.utime(folder)
                _forget_old_builds(root)
            except OSError:
                folder = pathlib.Path(tempfile.mkdtemp(prefix="rushlight-"))
            _folder = folder
    return _folder


def _forget_old_builds(root):
    """Remove folders of builds that no process has started with for 60 days."""
    limit = time.time() - 60 * 86400
    for folder in root.iterdir():
        is_build = len(folder.name) == 24 and not set(folder.name) - set("0123456789abcdef")
        if is_build and folder.is_dir() and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)


def _home():
    try:
        return pathlib.Path.home()
    except RuntimeError:
        return pathlib.Path(tempfile.gettempdir())


# ---- from kernels to addresses -------------------------------------------------------------------


@contextlib.contextmanager
def _without_collection():
    """A module's instructions are many objects, none of which dies before it is compiled:
    collecting meanwhile took a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def load_module(symbol, build, passes=llvm_passes.optimise_kernels):
    """Load the code stored under ``symbol``, or that of the IR module that ``build()`` returns,
    after the given passes (:mod:`rushlight.backends.llvm_passes`)."""
    with _lock:
        if symbol in _loaded:
            return _loaded[symbol]
        path = cache_folder() / (symbol + ".o")
        data = object_files.read(path)
        if data is None:
            with _without_collection():
                data = engine().compile(build(), passes)
            object_files.write(path, data)
        engine().load(data)
        address = engine().engine.get_function_address(symbol)
        if not address:
            raise RuntimeError(f"kernel {symbol}: the loaded code has no such symbol")
        llvm.add_symbol(symbol, address)
        _loaded[symbol] = address
        return address


def address_of(function, parameters):
    """Address of a kernel; what it calls is loaded first."""
    symbol = function.symbol(parameters)
    found = _loaded.get(symbol)
    if found is not None:
        return found
    with _lock:
        for needed in _dependencies(function):
            if isinstance(needed, External):
                needed.library()
            else:
                address_of(needed, {})

        def build():
            compiler = importlib.import_module("rushlight.backends.kernel_compiler")
            return compiler.lower_module(function, parameters, symbol)

        return load_module(symbol, build)


def _dependencies(function, seen=None):
    """Shared functions and C libraries that the text of a kernel names, directly or not."""
    seen = set() if seen is None else seen
    scope = function.definition.__globals__
    for name in function.definition.__code__.co_names:
        used = scope.get(name)
        if not isinstance(used, External | NativeFunction) or used in seen:
            continue
        seen.add(used)
        if isinstance(used, External):
            if used.library is not None:
                yield used
        elif used.kind == "shared":
            yield used
        else:
            yield from _dependencies(used, seen)


def compiled_symbols():
    """Names of the kernels this process has loaded, for tests and ``warmup`` reports."""
    return sorted(_loaded)
