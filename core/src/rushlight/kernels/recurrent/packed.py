"""Recurrent layers of float32 whose weights were packed before: those of frozen layers.

The bits are those of :func:`~rushlight.kernels.recurrent.sequences.recurrence_forward`; nothing is
kept for a backward pass. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.gemm.tiles import PANEL
from rushlight.kernels.launch.execution import FLOAT32
from rushlight.kernels.recurrent import compiled as native
from rushlight.kernels.recurrent.sequences import GATES, KINDS, plan_of
from rushlight.machine import np, threads
from rushlight.machine.language.functions import f32
from rushlight.machine.memory import empty

__all__ = ["PackedRecurrence"]


class PackedRecurrence:
    """A recurrent layer of the weight (G H, H) and the state's bias (G H) or None, read at
    construction alone; see ``recurrence_forward`` for `kind` and `backwards`."""

    def __init__(self, weight, bias, kind, backwards):
        self.kind, self.backwards, self.bias = kind, backwards, by_rows(bias)
        self.rows, self.width = weight.shape
        self.packed = empty((self.width * -(-self.rows // PANEL) * PANEL,), FLOAT32)
        words = [0] * native.WORDS
        words[native.H] = self.width
        code = native.pack_weight.address(kind=KINDS.index(kind), count=GATES[kind], real=f32)
        arguments = [None] * native.T
        arguments[native.WEIGHT], arguments[native.PACKED] = by_rows(weight), self.packed
        threads.run(threads.plan(code, 1, 1, words), *arguments)

    def run(self, gates, hidden, cell):
        """States of all steps (T, N, H) and the last cell (N, H), which is empty where a kind has
        none; `gates` are (T, N, G H), `hidden` and `cell` (N, H)."""
        steps, rows, count = len(gates), len(hidden), threads.get_num_threads()
        out = empty((steps, rows, self.width), FLOAT32)
        last, cells = np.empty(0, FLOAT32), None
        if cell is not None:
            last, cells = np.empty((rows, self.width), FLOAT32), empty(out.shape, FLOAT32)
        plan = plan_of(
            self.kind, steps, rows, self.width, self.backwards, False, FLOAT32, count
        )  # fmt: skip
        threads.run(plan, by_rows(gates), by_rows(hidden), by_rows(cell), None, out, last, None,
                    cells, self.bias, self.packed)  # fmt: skip
        return out, last
