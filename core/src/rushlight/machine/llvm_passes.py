"""LLVM's passes over a module: a few for code that is written out, whole pipelines for loops."""

from __future__ import annotations

import llvmlite.binding as llvm


def simplify(module, machine) -> None:
    """What text written by hand needs: calls in place, slots to registers, fewer branches. The
    pipelines take twenty times as long and find nothing more where loops are not to become
    vectors."""
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    manager.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(1)))


def optimise(module, machine) -> None:
    """LLVM's pipeline for loops over elements, which become vectors."""
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def optimise_kernels(module, machine) -> None:
    """The same for kernels, with everything that makes long loops faster."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    tuning.loop_interleaving = tuning.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
