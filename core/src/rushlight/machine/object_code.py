"""IR text to object code: from the package where it was compiled before it was shipped
(:mod:`rushlight.machine.prebuilt`), else by LLVM, here and now.

Compiling that takes long says so once: a first step that is silent looks like one that hangs.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time

import llvmlite.binding as llvm

from rushlight.machine import prebuilt
from rushlight.machine.language.emulated_instructions import replaced

TOLD_AFTER = 2.0  # seconds of compiling in this process
_spent = 0.0


def target_machine(cpu, flags):
    """LLVM's code generator for a processor, by its names of it and of what kernels may use."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu,
        features=flags,
        opt=3,
        jit=True,
        codemodel="large",  # sections of an object may be linked more than 2 GB apart
        reloc="static",
    )


def object_code(text, passes, machine, processor):
    """Object code of a module's text after some passes (:mod:`rushlight.machine.llvm_passes`, or
    None), for a processor that `machine` generates code for."""
    found = prebuilt.find(text, passes, processor)
    return found or compiled(replaced(text, processor.emulated), passes, machine)


def compiled(text, passes, machine):
    """The same by LLVM."""
    begun = time.perf_counter()
    module = llvm.parse_assembly(text)
    if passes is not None:
        module.verify()
        passes(module, machine)
    made = machine.emit_object(module)
    _count(time.perf_counter() - begun)
    return made


def _count(seconds):
    """Say once that this process compiles; what it makes is on disk for the next."""
    global _spent
    before, _spent = _spent, _spent + seconds
    if before < TOLD_AFTER <= _spent and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # closed
            print(
                "rushlight: compiling kernels for this processor; the next run finds them ready",
                file=sys.stderr,
                flush=True,
            )


@contextlib.contextmanager
def without_collection():
    """A module's instructions are many objects, none of which dies before it is compiled:
    collecting meanwhile took a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
