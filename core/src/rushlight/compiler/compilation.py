"""The two entries: a body to a compiled kernel, or to one that NumPy evaluates."""

from __future__ import annotations

from rushlight.compiler.graph import topological, trace
from rushlight.compiler.kernel import Kernel, ReferenceKernel
from rushlight.compiler.storage import COMPLEX, check
from rushlight.machine.processors import fuses_vectors
from rushlight.settings import kernels_mode

_KINDS = ("i64", "f64")


def _trace(body, inputs, operands, scalars, static, outputs):
    for name, dtype in (*inputs.items(), *operands.items()):
        check(dtype, f"compile_kernel(): argument {name!r}")
    for dtype in outputs:
        check(dtype, "compile_kernel(): outputs")
    for name, kind in scalars.items():
        if kind not in _KINDS:
            raise TypeError(
                f"compile_kernel(): scalar {name!r} must be 'i64' or 'f64', got {kind!r}"
            )
    return trace(body, inputs, operands, scalars, static, outputs)


def compile_kernel(body, inputs, operands, scalars, static, outputs):
    """A kernel for ``body(**named)``, which returns one traced value or a tuple.

    - `inputs`: name -> storage dtype of each array argument, in call order.
    - `operands`: name -> the dtype an input is cast to before the body sees it; integers of
      `scalars` that are named here wrap around in theirs.
    - `scalars`: name -> ``"i64"`` or ``"f64"``, numbers given at run time after the arrays; they
      are weak, and a new value compiles nothing.
    - `static`: name -> value known now (strings, bools, None, tuples).
    - `outputs`: storage dtype of each result; values are cast to it, rounding once.

    Tracing happens here, machine code is made at the first call. Programs with complex numbers,
    processors without AVX2 and ``RUSHLIGHT_KERNELS=reference`` give what :func:`reference` gives.
    """
    program = _trace(body, inputs, operands, scalars, static, outputs)
    # without vectors of fused multiply-adds each of those would be a library call for every lane
    if kernels_mode() == "reference" or not fuses_vectors() or not _is_emitted(program):
        return ReferenceKernel(program)
    return Kernel(program)


def _is_emitted(program):
    """Whether every node has machine code: complex numbers have none, nor float16 neighbours."""
    return not any(
        e.dtype in COMPLEX or e.op == "nextafter" and e.value == "f16"
        for e in topological([e for e, _ in program.outputs])
    )


def reference(body, inputs, operands, scalars, static, outputs):
    """Like :func:`compile_kernel`, evaluated by NumPy: what kernels are tested against."""
    return ReferenceKernel(_trace(body, inputs, operands, scalars, static, outputs))
