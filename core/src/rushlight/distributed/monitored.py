"""A barrier that says who did not come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rushlight.distributed.groups import resolved
from rushlight.distributed.works import abandoned
from rushlight.machine import np

if TYPE_CHECKING:
    from datetime import timedelta

    from rushlight.distributed.process_group import ProcessGroup

_TAGS = 32768  # from here on, beyond those of other exchanges


def monitored_barrier(
    group: ProcessGroup | int | None = None,
    timeout: timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:
    """Return when all ranks of the group have called it.

    After `timeout` (the group's by default) rank 0 of the group raises RuntimeError that names a
    rank that has not come, with `wait_all_ranks` all of them.
    """
    found = resolved(group)
    if found is None:
        return
    found.monitored += 1
    tag = _TAGS + found.monitored % _TAGS
    seconds = (timeout or found.timeout).total_seconds()
    if found.rank() == 0:
        _await_all(found, tag, seconds, wait_all_ranks)
    else:
        _report(found, tag, seconds)


def _until(group, request, end):
    """Whether a request is complete before a moment."""
    while not group.communicator.test(request):
        if time.monotonic() > end:
            return False
        time.sleep(2e-4)
    return True


def _await_all(group, tag, seconds, wait_all_ranks):
    end = time.monotonic() + seconds
    others = range(1, group.size())
    buffers = {rank: np.zeros(1, np.uint8) for rank in others}
    arriving = {
        rank: group.communicator.exchange([], [(buffers[rank], rank)], tag) for rank in others
    }
    missing = []
    for rank in others:
        if not _until(group, arriving[rank], end):
            abandoned.append((arriving, buffers))
            missing.append(group.ranks[rank])
            if not wait_all_ranks:
                break
    if missing:
        names = ", ".join(map(str, missing))
        raise RuntimeError(
            f"[Rank {group.world_rank}]: Rank{'s' * (len(missing) > 1)} {names} failed to pass "
            f"monitoredBarrier in {round(seconds * 1000)} ms"
        )
    answer = np.ones(1, np.uint8)
    sent = group.communicator.exchange([(answer, rank) for rank in others], [], tag)
    _until(group, sent, time.monotonic() + seconds)


def _report(group, tag, seconds):
    end = time.monotonic() + seconds
    mine, answer = np.ones(1, np.uint8), np.zeros(1, np.uint8)
    both = group.communicator.exchange([(mine, 0)], [(answer, 0)], tag)
    if not _until(group, both, end):
        abandoned.append((both, mine, answer))
        raise RuntimeError(
            f"[Rank {group.world_rank}]: monitoredBarrier: no answer of rank {group.ranks[0]} in "
            f"{round(seconds * 1000)} ms: it has not come, or has found a rank missing"
        )
