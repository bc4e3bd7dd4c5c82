"""Elementwise kernels that run on what a product or a convolution has just computed."""

from __future__ import annotations

from rushlight.compiler.cost import CHEAP_LIMIT
from rushlight.compiler.kernel import number_words
from rushlight.machine import np

__all__ = ["Epilogue"]


class Epilogue:
    """A compiled float32 kernel of one operand and one result, with the numbers it is called with.

    ``run(out)`` runs it in place. ``table`` is what kernels that run it themselves, on a part of
    their result at a time, are given (:mod:`rushlight.kernels.gemm.epilogue_emitters`): the same
    arithmetic on every element, so the same bits. Register tiles are so small that only what
    `is_light` pays there (ReLU 0 to 4 % of a product, GELU 3 to 8 % lost); depthwise planes,
    Winograd's tiles and planes of few channels take all.
    """

    def __init__(self, kernel, numbers=()):
        from rushlight.compiler.cpu.programs import driver
        from rushlight.kernels.gemm import epilogue_emitters as epilogues

        if len(kernel.inputs) != 1 or len(kernel.outputs) != 1:
            raise ValueError(f"Epilogue: {kernel!r} must have one operand and one result")
        if len(numbers) > epilogues.MOST_NUMBERS:
            raise ValueError(
                f"Epilogue: at most {epilogues.MOST_NUMBERS} numbers, got {len(numbers)}"
            )
        self.kernel, self.numbers = kernel, tuple(numbers)
        self.is_light = kernel.limit == CHEAP_LIMIT
        self.code = kernel.code()  # kept: the table holds its address
        words = number_words(numbers, kernel.kinds)
        words += [0] * (epilogues.MOST_NUMBERS - len(words))
        self.table = np.array([driver("flat"), self.code.ctypes.data, *words], np.int64)

    def run(self, out):
        """Run it on an array in place."""
        quick = self.kernel.short_into
        if quick is None or quick(out, *self.numbers, out) is NotImplemented:
            self.kernel.into([out], out, *self.numbers)
