"""The LLVM engine of the elementwise compiler: IR text to addresses, through the disk cache.

Imported at first need: llvmlite costs 50 to 150 ms. The engine lives as long as the process, since
addresses are handed out freely.
"""

from __future__ import annotations

import functools
import hashlib
import os
import struct

import llvmlite.binding as llvm

from rushlight.machine import code_cache
from rushlight.machine.forking import COMPILING
from rushlight.machine.object_code import object_code, target_machine
from rushlight.machine.processors import model, processor

_NOTE = struct.Struct("<q")


class Engine:
    """Compiles IR text for one CPU and links the result into the process.

    `cpu` names another processor than the process's (say ``"haswell"``), for tests.
    """

    def __init__(self, cpu=None):
        self.processor = processor() if cpu is None else model(cpu)
        self.vector_bits = 32 * self.processor.vector_length
        self.scalef = self.vector_bits == 512
        self.machine = target_machine(self.processor.name, self.processor.flags())
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.machine)
        self.version = code_cache.version(self.processor)
        self.loaded: dict[str, tuple[int, int]] = {}
        self.compiled = 0  # modules made, not found on disk
        with_libm = not llvm.address_of_symbol("lgammaf")
        if with_libm and os.name == "posix":  # the interpreter may be linked without it
            llvm.load_library_permanently("libm.so.6")

    def key(self, text: str) -> str:
        """Name of the code generated from a description."""
        return "r" + hashlib.sha256(f"{text}|{self.version}".encode()).hexdigest()[:31]

    def function(self, key: str, build) -> tuple[int, int]:
        """Address of the function named `key`, and the note stored with it.

        ``build()`` gives ``(IR text, note, passes)`` when the code is not on disk: `passes` is one
        of :mod:`rushlight.machine.llvm_passes`; generated kernels do without, by None.
        """
        found = self.loaded.get(key)
        if found is None:
            with COMPILING:
                found = self.loaded.get(key) or self._load(key, build)
        return found

    def _load(self, key, build):
        def make():
            text, note, passes = build()
            return _NOTE.pack(note) + self.compile(text, passes)

        stored = code_cache.made(self.version, key, make)
        (note,) = _NOTE.unpack_from(stored)
        self.link(stored[_NOTE.size :])
        address = self.symbol(key)
        self.loaded[key] = address, note
        return address, note

    def compile(self, text: str, passes) -> bytes:
        """Object code of a module."""
        self.compiled += 1
        return object_code(text, passes, self.machine, self.processor)

    def link(self, data: bytes) -> None:
        """Make an object file's functions callable."""
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self.engine.finalize_object()

    def symbol(self, name: str) -> int:
        """Address of a linked function."""
        address = self.engine.get_function_address(name)
        if not address:
            raise RuntimeError(f"machine code without the function {name}")
        return address

    def provide(self, name: str, address: int) -> None:
        """Resolve a C name in cached code, which must not hold addresses."""
        llvm.add_symbol(name, address)


@functools.cache
def _engine():
    with COMPILING:
        return Engine()


def engine() -> Engine:
    """The process's engine, made at first need."""
    with COMPILING:
        return _engine()
