"""float32 products on matrix units with weights that were split and packed before: those of frozen
layers, on the plans of :mod:`rushlight.kernels.gemm.split`. Import at first need."""

from __future__ import annotations

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.precision import planes_of_float32
from rushlight.kernels.gemm.split import BYTES, SplitProduct
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

__all__ = ["SplitWeight"]


class _Kept(SplitProduct):
    """A product whose B is packed once, for all calls."""

    __slots__ = ()

    @staticmethod
    def packs_with_items(m, n, k):
        """No: the launches that pack B are of their own."""
        return False


class SplitWeight:
    """A float32 (N, K) weight, split and packed for inputs of `rows` dense rows.

    Rows that cannot be split (see :mod:`~rushlight.kernels.gemm.split`) are multiplied with the
    array given, which has to hold the same values as long as this is used.
    """

    __slots__ = ("outputs", "planes", "rows", "steps", "weight")
    packed = None  # runs are planned at each call, by the precision: nobody may keep their arrays

    def __init__(self, weight, rows):
        self.weight, self.rows, self.outputs = weight, rows, weight.shape[0]
        self._pack(planes_of_float32())

    def _pack(self, planes):
        """The launches of a product, each with its steps of k of the weight and their peaks."""
        n, k = self.weight.shape
        a, b = (4 * k, False), (4 * k, True)
        plan = _Kept(self.rows, n, k, a, b, mk.START_BIAS, planes)
        self.planes, self.steps = planes, []
        for _, packing, product in plan.steps:
            packed, peaks = empty((plan.bytes_b,), BYTES), np.zeros(plan.peaks, np.int64)
            threads.run(packing, self.weight, packed, peaks)
            self.steps.append((product, packed, peaks))

    def run(self, a, bias, epilogue=None):
        """``a @ weight.T`` plus a bias (or None) for dense rows `a`, an
        :class:`~rushlight.kernels.gemm.epilogues.Epilogue` behind it."""
        if self.planes != planes_of_float32():
            self._pack(planes_of_float32())
        out = empty((self.rows, self.outputs), a.dtype)
        for product, packed, peaks in self.steps:
            threads.run(product, a, self.weight, out, bias, None, packed, None, peaks, None)
        if epilogue is not None:
            epilogue.run(out)
        return out
