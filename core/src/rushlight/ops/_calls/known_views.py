"""Views of layouts that were seen before, by one call of machine code."""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.kernels.launch.prepared import nothing, stays
from rushlight.machine import np
from rushlight.ops._table.recording import record_view
from rushlight.tensor import construction as make
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.tensor import EXACT

_FIRST, _EVERY = 16, 32  # misses that are all learned; later ones, of which one is


class ShortView:
    """The way of a view past Python: ``call(tensor, *attributes)`` gives the view where machine
    code knows the tensor's layout and the very attributes, else NotImplemented."""

    def __init__(self):
        self.call, self.known, self.missed = nothing, None, 0

    def forget(self):
        """Know no view."""
        self.missed = 0
        if self.known is not None:
            self.known.forget()

    def miss(self, source, attributes, out):
        """`out`, a view that came the long way: the first ones and then now and again one are
        learned."""
        self.missed += 1
        if self.missed <= _FIRST or not self.missed % _EVERY:
            self._learn(source, attributes, out)
        return out

    def _learn(self, source, attributes, out):
        array, view = source._array, getattr(out, "_array", None)
        if not type(array) is type(view) is np.ndarray or not all(map(stays, attributes)):
            return
        if type(source) not in EXACT or STATE.modes:
            return
        path, before = getattr(out, "_path", None), source._path or ()
        if path is None or len(path) != len(before) + 1 or out._storage is not source._storage:
            return  # another tensor, or a view of a view
        if array.dtype is not view.dtype or array.flags.writeable != view.flags.writeable:
            return
        from rushlight.fastpath.known_layouts import KnownCalls
        from rushlight.fastpath.tensors import TensorDoors

        if TensorDoors.current is None:
            return
        if self.known is None:
            self.known = KnownCalls(1, len(attributes), False, 0)
        if self.known.attributes == len(attributes):
            self.known.note_view(array, attributes, view, path[-1])
            self.call = self.known.function

    def of_composite(self, input, *attributes):
        """What `call` gives in the body of a composite, recorded as the view that it is."""
        if STATE.modes or type(input) not in EXACT:
            return NotImplemented
        out = self.call(input, *attributes)
        if out is not NotImplemented:
            if STATE.inference and mode.inference:
                make.seen(input, out)
            if input._node is not None and mode.recording:
                op, values = out._path[-1]
                record_view(op, input, [None, *values], out)
        return out
