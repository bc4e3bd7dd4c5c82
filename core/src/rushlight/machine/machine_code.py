"""Machine code: the LLVM engine, the disk cache, and the way from a kernel to its address.

This file, :mod:`kernel_compiler` and :mod:`microkernel` are the only ones that touch llvmlite. It
is imported at first kernel need. Code is kept on disk (:mod:`rushlight.machine.code_cache`), one
file per kernel and choice of parameters. It holds no address: C functions are resolved by name when
it is loaded.
"""

from __future__ import annotations

import importlib

import llvmlite.binding as llvm

from rushlight.machine import code_cache, llvm_passes
from rushlight.machine.forking import COMPILING
from rushlight.machine.language.emulated_instructions import TILES
from rushlight.machine.language.functions import External, NativeFunction
from rushlight.machine.object_code import object_code, target_machine, without_collection
from rushlight.machine.processors import processor


class _Engine:
    """One MCJIT engine for the life of the process: addresses are handed out freely."""

    def __init__(self):
        self.processor = processor()
        self.version = code_cache.version(self.processor)
        self.machine = target_machine(self.processor.name, self.processor.flags())
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.machine)

    def compile(self, module, passes=llvm_passes.optimise_kernels):
        """Object code of an ``llvmlite.ir`` module, or of IR text."""
        return object_code(str(module), passes, self.machine, self.processor)

    def load(self, data):
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self.engine.finalize_object()


_engine = None
_loaded: dict[str, int] = {}


def engine():
    """The engine, made at first need."""
    global _engine
    with COMPILING:
        if _engine is None:
            _engine = _Engine()
            if "amx-tile" in processor().emulated:
                _load_tiles()
    return _engine


def _load_tiles():
    """Make the functions that replace matrix units known to the modules that call them."""
    from rushlight.machine.language import emulated_tiles

    load_module(emulated_tiles.SYMBOL, emulated_tiles.text)
    for name in TILES.values():
        llvm.add_symbol(name, _engine.engine.get_function_address(name))


# ---- from kernels to addresses -------------------------------------------------------------------


def load_module(symbol, build, passes=llvm_passes.optimise_kernels):
    """Load the code stored under ``symbol``, or that of the IR module that ``build()`` returns,
    after the given passes (:mod:`rushlight.machine.llvm_passes`)."""
    with COMPILING:
        if symbol in _loaded:
            return _loaded[symbol]

        def make():
            with without_collection():
                return engine().compile(build(), passes)

        engine().load(code_cache.made(engine().version, symbol, make))
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
    with COMPILING:
        for needed in _dependencies(function):
            if isinstance(needed, External):
                needed.library()
            else:
                address_of(needed, {})

        def build():
            compiler = importlib.import_module("rushlight.machine.language.lowering")
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
