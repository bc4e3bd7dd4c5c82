"""Recomputing what a part of a model saved for backward, the first time backward asks for it.

The part runs recorded, but of every tensor that its graph saves only a position is kept. The first
position that backward opens has the part run again: the second run saves the same tensors in the
same order, and their positions are filled. With `early_stop` it ends when the last one is there.
"""

from __future__ import annotations

import contextlib
import weakref

from rushlight.autograd import saving
from rushlight.autograd.engine import backward  # noqa: F401 - loads the engine before its users
from rushlight.autograd.mode import enable_grad, mode
from rushlight.tensor.dispatch import Interpreter
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree


class CheckpointError(RuntimeError):
    """The second run of a checkpointed part did not do what the first one did."""


class _StopRecomputationError(Exception):
    """Ends the second run: everything is there."""


class _Place:
    """Where a saved tensor belongs."""

    __slots__ = ("__weakref__", "part", "tensor")

    def __init__(self, part):
        self.part, self.tensor = part, None


class _Log(Interpreter):
    """Notes which operations run, for messages."""

    def __init__(self):
        self.names: list[str] = []

    def process(self, function, types, args, kwargs):
        """Note the name and run the call."""
        self.names.append(getattr(function, "__name__", str(function)))
        return function(*args, **kwargs)


def _unpack(place):
    return place.part.opened(place)


def _form(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class Part:
    """One call of a checkpointed function."""

    def __init__(self, function, args, kwargs, surroundings, second, check, early_stop, debug):
        self.function, self.kwargs, self.surroundings = function, kwargs, surroundings
        self.second, self.check, self.early_stop = second, check, early_stop
        self.logs = (_Log(), _Log()) if debug else None
        self.places: list[weakref.ref] = []
        self.forms: list[dict] = []
        # Arguments are saved as any other tensor: a checkpoint around this one recomputes them.
        self.args = [_Argument(a) if isinstance(a, Tensor) else a for a in args]
        given = _pytree.tree_leaves(([a for a in args if not isinstance(a, Tensor)], kwargs))
        self.others = [(t, t._version) for t in given if isinstance(t, Tensor)]

    def run(self, args, first):
        """The function's result; what it saves is not kept."""
        saving.push((self._pack, _unpack))
        try:
            with self._logged(0), first:
                return self.function(*args, **self.kwargs)
        finally:
            saving.pop()

    def _logged(self, which):
        return contextlib.nullcontext() if self.logs is None else self.logs[which]

    def _pack(self, tensor):
        place = _Place(self)
        self.places.append(weakref.ref(place))
        self.forms.append(_form(tensor))
        return place

    def opened(self, place):
        """The tensor of a position; the part runs again if it is not there."""
        if place.tensor is None:
            self._run_again()
        if place.tensor is None:
            self._fail("the second run did not save this tensor")
        found, place.tensor = place.tensor, None
        return found

    def _run_again(self):
        args = [a.value() if type(a) is _Argument else a for a in self.args]
        for tensor, version in self.others:
            if tensor._version != version:
                raise RuntimeError(_written(tensor, version))
        counted = [0]

        def pack(tensor):
            number, counted[0] = counted[0], counted[0] + 1
            if number >= len(self.places):
                self._fail(
                    "trying to save more tensors during recomputation than during the original "
                    "forward pass."
                )
            place = self.places[number]()
            if place is not None:
                place.tensor = tensor.detach()
            if self.early_stop and counted[0] == len(self.places):
                raise _StopRecomputationError
            return tensor.detach()

        with (
            contextlib.suppress(_StopRecomputationError),
            enable_grad(),
            self.surroundings.again(),
            _saving(pack, lambda kept: kept),
            self._logged(1),
            self.second,
        ):
            self.function(*args, **self.kwargs)
        self._compare(counted[0])

    def _compare(self, count):
        """Check that the second run saved what the first one did."""
        if count != len(self.places):
            self._fail(
                "A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.places)}\n"
                f"Number of tensors saved during recomputation: {count}."
            )
        if not self.check:
            return
        found = ""
        for number, (reference, form) in enumerate(zip(self.places, self.forms, strict=True)):
            place = reference()
            if place is not None and place.tensor is not None and _form(place.tensor) != form:
                found += (
                    f"tensor at position {number}:\nsaved metadata: {form}\n"
                    f"recomputed metadata: {_form(place.tensor)}\n"
                )
        if found:
            self._fail(
                "Recomputed values for the following tensors have different metadata than during "
                f"the forward pass.\n{found}"
            )

    def _fail(self, what):
        message = f"rushlight.utils.checkpoint: {what}"
        if self.logs is None:
            message += "\n\nTip: pass `debug=True` to checkpoint() to see which operations ran."
        else:
            first, second = (", ".join(log.names) for log in self.logs)
            message += f"\n\nThe first run called: {first}\nThe second run called: {second}"
        raise CheckpointError(message)


class _Argument:
    """A tensor argument, saved as a graph saves tensors."""

    __slots__ = ("item", "version")

    def __init__(self, tensor):
        self.item = saving.packed_for_function(tensor) if mode.recording else tensor
        self.version = tensor._version if self.item is tensor else None

    def value(self):
        """The tensor again, with its history."""
        if type(self.item) is saving.Packed:
            edge, number = self.item.number
            tensor = self.item.tensor()
            return tensor if edge is None else saving.at(tensor, edge, number)
        if self.item._version != self.version:
            raise RuntimeError(_written(self.item, self.version))
        return self.item


def _written(tensor, version):
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: an argument of a checkpointed function, of shape {list(tensor.shape)}, is at "
        f"version {tensor._version}; expected version {version}"
    )


@contextlib.contextmanager
def _saving(pack, unpack):
    saving.push((pack, unpack))
    try:
        yield
    finally:
        saving.pop()
