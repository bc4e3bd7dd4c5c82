"""Emit what ``python -m rushlight.warmup`` compiles for AArch64 too, with vectors of four lanes.

python ci/neon_check.py

The models of the warm-up run here, with the code for this processor; every module on its way is
also optimised and emitted for AArch64 in a second pass. Shown: that nothing in the kernels needs
another processor, and that products and elementwise code become NEON instructions. Not shown: that
they run, which needs such a machine. Exits with 1 if a module is refused or no kernel has vectors.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile

import llvmlite.binding as llvm

TRIPLE = "aarch64-unknown-linux-gnu"
VECTOR = re.compile(r"\b(fmla|fmls|fadd|fmul|fsub)(\.[24][sd])?\s+v\d+\.?[24]?[sd]?")
PAUSE = {
    'declare void @"llvm.x86.sse2.pause"()': 'declare void @"llvm.aarch64.hint"(i32)',
    'call void @"llvm.x86.sse2.pause"()': 'call void @"llvm.aarch64.hint"(i32 1)',
}


class Emission:
    """An AArch64 machine, and what it made of the modules it was shown."""

    def __init__(self):
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple(TRIPLE)
        self.machine = target.create_target_machine(cpu="neoverse-n1", opt=3, reloc="static")
        self.modules, self.refused, self.with_vectors, self.instructions = 0, [], 0, 0

    def show(self, text, optimise):
        """Emit a module; the pause of a waiting thread is the one instruction of its own."""
        for old, new in PAUSE.items():
            text = text.replace(old, new)
        self.modules += 1
        try:
            module = llvm.parse_assembly(text)
            module.triple = TRIPLE
            module.verify()
            if optimise:
                options = llvm.create_pipeline_tuning_options(speed_level=3)
                options.loop_vectorization = options.slp_vectorization = True
                builder = llvm.create_pass_builder(self.machine, options)
                builder.getModulePassManager().run(module, builder)
            assembly = self.machine.emit_assembly(module)
        except RuntimeError as error:
            self.refused.append(f"{text.splitlines()[0]}: {error}")
            return
        found = len(VECTOR.findall(assembly))
        self.with_vectors += found > 0
        self.instructions += found


def watched(engine, emission, is_text):
    """Show a kind of engine's modules to the other machine before it compiles them."""
    own = engine.compile

    def compile_both(self, module, optimise=True):
        emission.show(str(module), optimise)
        return own(self, module, optimise) if is_text else own(self, module)

    engine.compile = compile_both


def emitted(cache):
    """The emission of all that the warm-up compiles."""
    os.environ["RUSHLIGHT_CACHE_DIR"] = cache
    from rushlight.machine import processors as cpu

    # None of the names that kernels ask for, as on AArch64: vectors of 128 bits.
    plain = cpu.Processor(llvm.get_host_cpu_name(), {})
    cpu.processor = lambda: plain
    from rushlight import warmup
    from rushlight.machine import elementwise_engine as elementwise
    from rushlight.machine import machine_code

    emission = Emission()
    watched(machine_code._Engine, emission, False)
    watched(elementwise.Engine, emission, True)
    warmup.main()
    return emission


def main():
    with tempfile.TemporaryDirectory() as cache:
        emission = emitted(cache)
    for line in emission.refused:
        print("refused:", line)
    print(
        f"{emission.modules} modules for {TRIPLE}, {len(emission.refused)} refused; "
        f"{emission.with_vectors} with {emission.instructions} vector instructions"
    )
    return 1 if emission.refused or not emission.with_vectors else 0


if __name__ == "__main__":
    sys.exit(main())
