"""What a graph keeps of tensors, in the hands of the user: pack when recorded, unpack when needed.

While a pair of hooks is active anywhere the count of modes is raised, so that every call goes
through :func:`rushlight.ops._table.recording.record`; the short ways of recording know nothing of
them.
"""

from __future__ import annotations

import contextlib
import threading

from rushlight.autograd.later import later
from rushlight.autograd.mode import mode
from rushlight.autograd.node import Node, gradient_edge
from rushlight.dtypes import FLOAT
from rushlight.machine.forking import MODES
from rushlight.tensor import dispatch
from rushlight.tensor.tensor import Tensor, make_tensor


def refuse_inference():
    """The error for a tensor made in inference mode that a graph would keep; none in the mode."""
    if not mode.inference:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. To work around you can make a "
            "clone to get a normal tensor and use it in autograd."
        )


class _Active:
    __slots__ = ("count",)


active = _Active()
active.count = 0  # pairs of hooks that any thread has set


class _Hooks(threading.local):
    def __init__(self):
        self.pairs = []  # innermost last; None: none, whatever is around
        self.refusal = None  # why none may be set


hooks = _Hooks()


def push(pair) -> None:
    """Make a pair ``(pack, unpack)`` this thread's innermost, or None for none."""
    if hooks.refusal is not None and pair is not None:
        raise RuntimeError(hooks.refusal)
    hooks.pairs.append(pair)
    with MODES:
        active.count += 1
        dispatch.STATE.modes += 1


def pop() -> None:
    """Back to the pair before."""
    hooks.pairs.pop()
    with MODES:
        active.count -= 1
        dispatch.STATE.modes -= 1


def current():
    """This thread's pair, or None."""
    return hooks.pairs[-1] if hooks.pairs else None


@contextlib.contextmanager
def suspended():
    """Inside, what is saved goes to nobody's hooks."""
    if current() is None:
        yield
        return
    push(None)
    try:
        yield
    finally:
        pop()


class Packed:
    """What a pack hook made of a tensor, and where its gradient goes."""

    __slots__ = ("number", "output", "unpack", "value")

    def __init__(self, tensor, pair, number, output):
        self.number, self.output = number, output
        pack, self.unpack = pair
        version = tensor._writes
        previous, mode.recording = mode.recording, False
        try:
            self.value = pack(tensor)
        finally:
            mode.recording = previous
        if tensor._writes != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook can not be modified by in-place operations as this can lead "
                "to unexpected side-effects."
            )

    def tensor(self):
        """What the unpack hook makes of it again."""
        found = self.unpack(self.value)
        if not isinstance(found, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(found).__name__}"
            )
        return found


def _plain(item):
    """A saved value as pack hooks get it: an input as it is, an output without history."""
    if type(item) is not tuple:
        return item
    array, dtype, storage, _ = item
    tensor = make_tensor(array, dtype)
    tensor._storage = storage
    return tensor


def pack(node, pair=None, places=None) -> None:
    """Give what a node saved to this thread's hooks (or to `pair`), all of it or some positions."""
    pair = current() if pair is None else pair
    if pair is None or not node.saved:
        return
    inputs, spares = node.plan.inputs, node.plan.spares
    for i, item in enumerate(node.saved):
        if type(item) is Packed or i in spares or (places is not None and i not in places):
            continue
        output = i >= len(inputs)
        number = item[3] if output else inputs[i]
        if type(node.saved) is tuple:
            node.saved = list(node.saved)
        node.saved[i] = Packed(_plain(item), pair, number, output)
    node.packed = True


def packed_for_function(item):
    """A value that a user's function saved: a tensor, None, or an output and its number."""
    pair = current()
    if pair is None or item is None:
        return item
    if type(item) is tuple:
        return Packed(item[0], pair, item[1], True)
    return Packed(item, pair, gradient_edge(item), False)


def unpacked(node, create, plain_unpack):
    """The saved values of a node some of which are packed."""
    saved, found = node.saved, []
    for i, item in enumerate(saved):
        if type(item) is not Packed:
            found.append(plain_unpack(node, i, create))
            continue
        tensor = item.tensor()
        if create and tensor._dtype.category >= FLOAT:
            if item.output:
                tensor = at(tensor, node, item.number)
            else:
                number = node.numbers[item.number] if node.numbers else 0
                tensor = at(tensor, node.edges[item.number], number)
        found.append(tensor)
    return found


class _Pass:
    """The op of a node that hands its gradient on: data of one tensor, history of another."""

    node_name = "AliasBackward0"

    @staticmethod
    def backward(node, grads, create):
        """The gradient as it is."""
        return [grads]


def at(tensor, edge, number):
    """The tensor's data with its gradient going along an edge."""
    out = tensor.detach()
    if edge is None:
        return out
    if not isinstance(edge, Node):
        alias = Node(_Pass, (edge,), None)
        alias.saved = ()
        edge, number = alias, 0
    out._node, out._index = edge, number
    return out


def saved_names(node) -> list[str]:
    """The attributes of a node that read what it kept."""
    if node.plan is None:
        return []
    of_op = later("saved_names")
    names = of_op.readers(node)
    raw = [f"_raw_saved_{name}" for name in names if of_op.place_of(node, name) is not None]
    return [*(f"_saved_{name}" for name in names), *raw]


class SavedTensor:
    """``node._raw_saved_NAME``: one saved value, for hooks of its own."""

    __slots__ = ("_node", "_place")

    def __init__(self, node, name):
        saved_value(node, name)  # refuses unknown names and values that are gone
        self._node, self._place = node, later("saved_names").place_of(node, name)
        if self._place is None:
            raise AttributeError(f"'{node.name()}' object has no attribute '_raw_saved_{name}'")

    def register_hooks(self, pack_hook, unpack_hook):
        """Hand the value to `pack_hook` now and to `unpack_hook` when backward asks for it."""
        if type(self._node.saved[self._place]) is Packed:
            raise RuntimeError("Calling register_hooks on a saved tensor with hooks is not allowed")
        pack(self._node, (pack_hook, unpack_hook), (self._place,))


def saved_value(node, name):
    """``node._saved_NAME``: what a node keeps under a name that PyTorch has for it."""
    read = None if node.plan is None else later("saved_names").readers(node).get(name)
    if read is None:
        raise AttributeError(f"'{node.name()}' object has no attribute '_saved_{name}'")
    return read(node)
