"""Machine code for tensors takes over once the engine is there."""

from __future__ import annotations

from rushlight.autograd.node import LEAF, Node, next_sequence
from rushlight.kernels.launch import prepared
from rushlight.machine import engine_watchers, np
from rushlight.machine.arrays import BY_ARRAY_DTYPE
from rushlight.tensor import construction
from rushlight.tensor import tensor as tensor_module
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.shape import Size
from rushlight.tensor.storage import Storage
from rushlight.tensor.tensor import Parameter

# The functions of :mod:`rushlight.tensor.construction` that machine code replaces.
NATIVE = (
    "made", "result", "view", "indexed", "reshaped", "permuted", "swapped", "expanded",
    "windowed", "parts", "recorded", "viewed", "noted", "below", "fits", "handed", "dense",
    "cleared", "results", "plain", "arrays", "written", "counted", "shared", "fresh", "alike",
)  # fmt: skip


def start(engine):
    """Let machine code take over, unless ``RUSHLIGHT_FAST_PATH=off`` asks to keep to Python."""
    from rushlight.machine.native_functions import is_available

    if construction.slice_op is None or not is_available():
        return
    from rushlight.fastpath.tensors import TensorDoors

    storage = Storage(np.zeros(1, np.float32))
    probe = construction.made(storage.array, BY_ARRAY_DTYPE[storage.array.dtype])
    probe._storage = storage
    node, sized = Node(None, (), None), tensor_module.sized
    doors = TensorDoors(engine, probe, storage, BY_ARRAY_DTYPE, node, LEAF, next_sequence,
                        Parameter, Size, sized, STATE)  # fmt: skip
    doors.slices_by(construction.slice_op)
    for name in NATIVE:
        setattr(construction, name, getattr(doors, name))
    construction._doors = doors
    tensor_module.sized = doors.sized
    _take_prepared_calls()


def _take_prepared_calls():
    from rushlight.fastpath import results
    from rushlight.fastpath.known_layouts import KnownCalls

    fast = prepared.fast
    fast.several, fast.described = results.several, results.described
    fast.known_calls = KnownCalls


engine_watchers.append(start)
