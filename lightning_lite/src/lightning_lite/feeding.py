"""Batches for the loops: how many, from which loaders, and from which position after a resume.

A `Feed` gives one epoch's training batches. It remembers how every random number generator stood
when the epoch's iterator was made, so that after a resume it can make the same iterator again (the
same shuffle order, the same seeds for worker processes) and take, unused, the batches that were
used before. That costs loading them once more and is exact for every loader. A loader with
`state_dict` and `load_state_dict` of its own is asked for its position instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from lightning_lite import random_state
from lightning_lite.combined_loader import CombinedLoader, batches_of
from lightning_lite.errors import Interrupted, MisconfigurationException

INFINITE = float("inf")
_NOTHING = object()


def loader_length(loader: Any) -> float:
    """Number of batches of a loader; infinity if it does not know."""
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return INFINITE


def limited(length: float, limit: float, name: str) -> float:
    """How many batches a limit leaves: an int is a number, a float a share."""
    if length == 0 or limit == 0:
        return 0
    if isinstance(limit, int):
        return min(length, limit)
    if limit == 1.0:
        return length
    if length == INFINITE:
        raise MisconfigurationException(
            f"{name}={limit}: the loader has no length, so a share of it means nothing; give 1.0 "
            "or a "
            "number of batches"
        )
    left = math.floor(length * limit)
    if left == 0:
        raise MisconfigurationException(
            f"{name}={limit} of {length} batches is less than one; raise it to {1 / length:.3g} "
            "or more"
        )
    return left


def leaves(loader: Any) -> list[Any]:
    """The loaders that a training loader is made of."""
    return loader.flattened if isinstance(loader, CombinedLoader) else [loader]


def samplers(loader: Any) -> list[Any]:
    """The samplers of a loader, outermost first."""
    found: list[Any] = []
    for owner in leaves(loader):
        for path in (("sampler",), ("batch_sampler",), ("batch_sampler", "sampler")):
            each = owner
            for name in path:
                each = getattr(each, name, None)
            if each is not None and all(each is not other for other in found):
                found.append(each)
    return found


def generators(loader: Any) -> list[Any]:
    """The random number generators that a loader and its samplers own."""
    found: list[Any] = []
    for owner in [*leaves(loader), *samplers(loader)]:
        generator = getattr(owner, "generator", None)
        known = any(generator is other for other in found)
        if hasattr(generator, "get_state") and not known:
            found.append(generator)
    return found


def set_epoch(loader: Any, epoch: int) -> None:
    """Tell samplers that shuffle by epoch which one begins."""
    for sampler in samplers(loader):
        if callable(getattr(sampler, "set_epoch", None)):
            sampler.set_epoch(epoch)


def stateful(loader: Any) -> bool:
    """Whether a loader can write down its own position."""
    return all(callable(getattr(loader, name, None)) for name in ("state_dict", "load_state_dict"))


class Feed:
    """One training loader, with a position that can be written down and found again.

    `length` is the number of batches per epoch, infinity if neither loader nor limit tells. A
    loader that has no length is read one batch ahead, because only the end tells which batch was
    the last.
    """

    def __init__(self, loader: Any, limit: float) -> None:
        self.loader = loader
        own = loader_length(loader)
        self.length = limited(own, limit, "limit_train_batches")
        self.reads_ahead = own == INFINITE
        self.taken = 0
        self._iterator: Any = None
        self._ahead: Any = _NOTHING
        self._before_ahead: tuple[Any, ...] | None = None
        self._start: dict[str, Any] = {}
        self._interrupt: Any = None
        self._around: Callable[[Iterator[Any]], Iterator[Any]] | None = None

    def surround(self, around: Callable[[Iterator[Any]], Iterator[Any]]) -> None:
        """Read iterators of the loader through `around` of them: for profilers, which measure how
        long batches take to come."""
        self._around = around
        if self._iterator is not None:
            self._iterator = around(self._iterator)

    def _iterate(self) -> None:
        """Begin to read the loader."""
        found = batches_of(self.loader)
        self._iterator = found if self._around is None else self._around(found)

    def watch(self, interrupt: Any) -> None:
        """Ask `interrupt.requested` when the loader fails: Ctrl-C also ends worker processes."""
        self._interrupt = interrupt

    def open(self, epoch: int) -> None:
        """Begin an epoch."""
        set_epoch(self.loader, epoch)
        self._start = {
            "random_states": random_state.snapshot(),  # written in plain types when it is asked for
            "generators": [each.get_state() for each in generators(self.loader)],
        }
        self._make_iterator()

    def reopen(self, saved: dict[str, Any] | None, epoch: int, batch: int) -> None:
        """Stand where a feed stood when it wrote `saved` down; without it, after `batch` batches of
        a new iterator."""
        if saved is None:
            self.open(epoch)
            for _ in range(batch):
                self._take()
            return
        set_epoch(self.loader, epoch)
        own = saved.get("own")
        workers = getattr(self.loader, "num_workers", None)
        if saved.get("workers", workers) != workers:
            own = None  # it counts by worker; batches are taken again instead
        if own is not None and stateful(self.loader):
            self._start = saved["start"]
            try:
                self.loader.load_state_dict(own)
                self._iterate()
            except (RuntimeError, ValueError) as error:
                raise MisconfigurationException(
                    f"the loader cannot go on where the checkpoint's stood: {error}"
                ) from error
            self.taken = saved["taken"]
            if self.taken >= self.length:
                self._find_the_end()
            return
        self._start = saved["start"]
        random_state.restore(self._start["random_states"])
        mine = generators(self.loader)
        states = self._start["generators"]
        if len(mine) != len(states):
            raise MisconfigurationException(
                f"the checkpoint's loader owned {len(states)} generators, this one owns "
                f"{len(mine)}: "
                "training can go on exactly only with the same loader"
            )
        for generator, state in zip(mine, states, strict=True):
            generator.set_state(state)
        self._iterate()
        self.taken = 0
        for number in range(saved["taken"]):
            if self._fetch() is _NOTHING:
                raise MisconfigurationException(
                    f"the loader ends after {number} batches, the checkpoint was written after "
                    f"{saved['taken']}: training can go on exactly only with the same data"
                )
            self.taken += 1
        if self.reads_ahead:
            random_state.restore(saved["before_ahead"])
            self._fetch_ahead()

    def _find_the_end(self) -> None:
        """Read a loader that stands at its epoch's end: it finds its position when it is read, and
        the next epoch is not where it should. Its generators are as if it had not been read."""
        mine = generators(self.loader)
        states = [each.get_state() for each in mine]
        self._fetch()
        for generator, state in zip(mine, states, strict=True):
            generator.set_state(state)

    def _make_iterator(self) -> None:
        self._iterate()
        self.taken = 0
        self._ahead = _NOTHING
        if self.reads_ahead:
            self._fetch_ahead()

    def _fetch_ahead(self) -> None:
        """Take the next batch before it is needed; its random numbers are drawn now, too."""
        self._before_ahead = random_state.snapshot()
        self._ahead = self._fetch() if self.taken < self.length else _NOTHING

    def _fetch(self) -> Any:
        """The loader's next batch, or _NOTHING at its end."""
        try:
            return next(self._iterator, _NOTHING)
        except Exception as error:
            self._end_by(error)
            raise

    def _end_by(self, error: Exception) -> None:
        """Ctrl-C reaches worker processes, too: their errors are then no errors of the loader."""
        if self._interrupt is not None and self._interrupt.requested:
            raise Interrupted("the loader's workers were interrupted") from error

    def _take(self) -> Any:
        if self.taken >= self.length:
            return _NOTHING
        if self.reads_ahead:
            batch = self._ahead
            if batch is not _NOTHING:
                self.taken += 1
                self._fetch_ahead()
            return batch
        batch = self._fetch()
        if batch is not _NOTHING:
            self.taken += 1
        return batch

    def batches(self) -> Iterator[Any]:
        """The batches from here to the end of the epoch."""
        if self.reads_ahead:
            while (batch := self._take()) is not _NOTHING:
                yield batch
            return
        length = self.length
        try:
            while self.taken < length and (batch := next(self._iterator, _NOTHING)) is not _NOTHING:
                self.taken += 1
                yield batch
        except Exception as error:
            self._end_by(error)
            raise

    @property
    def at_end(self) -> bool:
        """Whether the batch taken last was the last one."""
        return self.taken >= self.length or (self.reads_ahead and self._ahead is _NOTHING)

    @property
    def is_open(self) -> bool:
        """Whether an epoch is under way."""
        return self._iterator is not None

    def close(self) -> None:
        """Let go of the iterator, and with it of worker processes."""
        self._iterator = None
        self._ahead = _NOTHING

    def state_dict(self) -> dict[str, Any]:
        """The position in this epoch, in plain types and tensors."""
        start = dict(self._start)
        if isinstance(start.get("random_states"), tuple):
            start["random_states"] = random_state.plain(start["random_states"])
        saved: dict[str, Any] = {"start": start, "taken": self.taken}
        if self._before_ahead is not None:
            saved["before_ahead"] = random_state.plain(self._before_ahead)
        if self.is_open and not self.reads_ahead and stateful(self.loader):
            saved["own"] = self.loader.state_dict()
            saved["workers"] = getattr(self.loader, "num_workers", None)
        return saved
