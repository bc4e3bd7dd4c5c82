"""Views of layouts that were met before, by machine code: from the source to the view's tensor.

``rl_known_view(tensor, *attributes)`` looks for the shape, strides and dtype of the tensor's array,
and for the attributes themselves, among the entries of a table, as ``rl_known`` of
:mod:`rushlight.backends.llvm_known` does. What it finds there says how the view lies in the
source's memory. Anything else is answered NotImplemented; nothing is recorded.
"""

from __future__ import annotations

from rushlight.backends import llvm_tensors as words
from rushlight.backends import np
from rushlight.backends.built_in_functions import built_in
from rushlight.backends.llvm_door import DATA_AT
from rushlight.backends.llvm_known import (
    ARRAY,
    ATTRIBUTES,
    ENTRIES,
    FIRST,
    MOST_DIMS,
    MOST_ENTRIES,
    PLAN,
    TABLE,
    TENSORS,
    TENSORS_PLAN,
    WORDS,
    _Known,
)
from rushlight.backends.llvm_views import _View

NAMES = ()  # of functions over the plan of all tensors: this one has its own
STEP, OFFSET, DIMS, EXTENTS = range(4)  # words of a window; then extents and strides


class _KnownView(_Known):
    """The parts of the function; its entries' plans are windows."""

    name = "rl_known_view"

    def answer(self, entry):
        """Make the array and the tensor around it."""
        f = self.f
        source, held = f.load("%args", 0, "ptr"), f.load(entry, PLAN, "ptr")
        window = f.field(held, DATA_AT, "ptr")
        step = f.held(f.load(window, STEP, "ptr"))  # the entry may be replaced meanwhile
        v = _View.over(f, source, f.load(self.arrays, 0, "ptr"))
        v.move(f.load(window, OFFSET))
        dims = f.load(window, DIMS)
        with f.loop(dims) as d:
            extents = f.at(window, EXTENTS)
            v.append(f.load(extents, d), f.load(extents, f.add(d, dims)))
        out = v.tensor(step)
        f.call("void", "@Py_DecRef", f"ptr {step}")
        f.do(f"ret ptr {out}")
        f.lines.append("lost:")
        f.call("void", "@Py_DecRef", f"ptr {step}")
        f.do("ret ptr null")


def functions(maker):
    """IR texts."""
    return [_KnownView(maker).text()]


# ------------------------------------------------------------------------------------ Python's side
_immortal: list = []  # built-in functions hold bare addresses


class KnownViews:
    """One function over ``rl_known_view`` and its table. The latest entries stay."""

    def __init__(self, attributes):
        from rushlight.backends.llvm import engine

        self.attributes, self.words = attributes, FIRST + attributes + ARRAY
        self.table, self.seen = np.zeros((MOST_ENTRIES, self.words), np.int64), 0
        self.kept = [None] * MOST_ENTRIES  # the table holds bare addresses of these
        plan = [0] * (WORDS + 1)
        plan[TENSORS_PLAN] = words.TensorDoors.current.plan.ctypes.data
        plan[TENSORS], plan[ATTRIBUTES] = 1, attributes
        plan[TABLE], plan[WORDS] = self.table.ctypes.data, self.words
        self.plan = np.array(plan, np.int64)
        self.function = built_in(b"known_view", engine().symbol("rl_known_view"), self.plan)
        _immortal.append(self)

    def note(self, array, attributes, view, step):
        """Let calls like this one give a view of this layout, noted as taken by `step`."""
        if array.ndim > MOST_DIMS or view.ndim > 2 * MOST_DIMS:
            return
        offset = view.ctypes.data - array.ctypes.data
        window = [id(step), offset, view.ndim, *view.shape, *view.strides]
        window = np.array(window, np.int64)
        rest = [0] * (MOST_DIMS - array.ndim)
        row = [0, id(window), 0, 1, *map(id, attributes)]
        row += [id(array.dtype), array.ndim, *array.shape, *rest, *array.strides, *rest]
        place = self.seen % MOST_ENTRIES
        self.table[place] = row
        self.kept[place] = window, step, attributes, array.dtype
        self.seen += 1
        self.plan[ENTRIES] = min(self.seen, MOST_ENTRIES)
