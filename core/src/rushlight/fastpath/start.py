"""Machine code for tensors takes over once the engine is there."""

from __future__ import annotations

from rushlight.autograd.node import LEAF, Node, next_sequence
from rushlight.kernels.launch import prepared
from rushlight.machine import engine_watchers, np
from rushlight.machine.arrays import BY_ARRAY_DTYPE
from rushlight.machine.native_table import native_names, take_over
from rushlight.tensor import construction
from rushlight.tensor import tensor as tensor_module
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.shape import Size
from rushlight.tensor.storage import Storage
from rushlight.tensor.tensor import Parameter

_kept: list = []  # native functions hold bare addresses of what these hold


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
    _kept.append(doors)
    for owner, holder in (("tensor.construction", construction), ("tensor.tensor", tensor_module)):
        take_over(owner, holder, {name: getattr(doors, name) for name in native_names(owner)})
    _take_prepared_calls()


def _take_prepared_calls():
    from rushlight.fastpath import results
    from rushlight.fastpath.known_layouts import KnownCalls

    natives = {
        "several": results.several, "described": results.described, "known_calls": KnownCalls
    }  # fmt: skip
    take_over("kernels.launch.prepared.fast", prepared.fast, natives)


engine_watchers.append(start)
