"""Bodies to kernels for GPUs: generated CUDA C++, or the graph evaluated as array code."""

from __future__ import annotations

from rushlight.compiler.compilation import _trace
from rushlight.compiler.cuda.kernel import DeviceKernel
from rushlight.compiler.cuda.text import is_printable
from rushlight.compiler.cuda.translation import on_device
from rushlight.compiler.evaluation import evaluate
from rushlight.compiler.storage import COMPUTE, NUMPY
from rushlight.machine import np
from rushlight.settings import kernels_mode


def compile_for_device(body, inputs, operands, scalars, static, outputs):
    """A kernel for device arrays; arguments as of :func:`rushlight.compiler.compile_kernel`."""
    program = _trace(body, inputs, operands, scalars, static, outputs)
    if kernels_mode() == "reference" or not is_printable(program):
        return DeviceReference(program)
    return DeviceKernel(program)


class DeviceReference:
    """A program evaluated node by node as array code: complex numbers have no generated kernel."""

    fast = fast_into = short = short_into = None

    def __init__(self, program):
        self.program = program

    def _results(self, args):
        count = len(self.program.inputs)
        loaded = [
            x.astype(NUMPY[COMPUTE[d]], copy=False)
            for x, (_, d) in zip(args[:count], self.program.inputs, strict=True)
        ]
        roots, dtypes = zip(*self.program.outputs, strict=True)
        shape = np.broadcast_shapes(*[x.shape for x in args[:count]])
        results = on_device(evaluate)(roots, loaded, args[count:])
        return shape, [r.astype(NUMPY[d], copy=False) for r, d in zip(results, dtypes, strict=True)]

    def __call__(self, *args):
        """New outputs for arrays, then numbers; a tuple when the program has several."""
        shape, results = self._results(args)
        outs = [r if r.shape == shape else np.broadcast_to(r, shape).copy() for r in results]
        outs = [r.copy() if any(r is a for a in args) else r for r in outs]
        return outs[0] if len(outs) == 1 else tuple(outs)

    def into(self, outs, *args):
        """Write the outputs into given arrays."""
        _, results = self._results(args)
        for out, result in zip(outs, results, strict=True):
            out[...] = result
