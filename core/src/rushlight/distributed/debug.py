"""TORCH_DISTRIBUTED_DEBUG: with DETAIL, ranks compare what they do before they do it."""

from __future__ import annotations

import enum
import json
import os

from rushlight.distributed.errors import DistBackendError
from rushlight.distributed.works import Work
from rushlight.machine import np

_BYTES = 512  # of the description of one operation


class DebugLevel(enum.IntEnum):
    """How much is checked: nothing, what costs little, or every operation."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """The level in force."""
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Choose the level."""
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Take the level from the variable TORCH_DISTRIBUTED_DEBUG (OFF, INFO or DETAIL)."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(
            f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO or DETAIL, got {name!r}"
        )
    set_debug_level(DebugLevel[name])


def check(group, name, op, tensors) -> None:
    """With DETAIL: raise unless all ranks of a group are about to do the same.

    Costs an exchange an operation, in which a rank that does not come is noticed too.
    """
    if _level < DebugLevel.DETAIL or group.size() == 1:
        return
    shapes = [[list(t.shape), str(t.dtype).rpartition(".")[2]] for t in tensors]
    mine = [group.number + 1, name, None if op is None else str(op), shapes]
    text = json.dumps(mine).encode()[:_BYTES].ljust(_BYTES)
    outputs = np.zeros((group.size(), _BYTES), np.uint8)
    sent = np.frombuffer(text, np.uint8).copy()
    requests = group.communicator.all_gather(list(outputs), sent)
    checking = Work(group, f"{name} (its check)", requests, None, [sent, outputs], shapes)
    group.start(checking).wait()
    others = [outputs[rank].tobytes().rstrip().decode() for rank in range(group.size())]
    own = others[group.rank()]
    for rank, other in enumerate(others):
        if other != own:
            raise DistBackendError(
                f"Detected mismatch between collectives on ranks. Rank {group.world_rank} is "
                f"running collective: {_told(own)}, but Rank {group.ranks[rank]} is running "
                f"collective: {_told(other)}."
            )


def _told(text):
    try:
        number, name, op, shapes = json.loads(text)
    except ValueError:  # cut off: many tensors
        return text
    tensors = ", ".join(f"shape {tuple(shape)} {dtype}" for shape, dtype in shapes)
    return f"{name}(number={number}, op or root={op}, tensors=[{tensors}])"
