"""Ranks that run out of batches at different times."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import cast

from rushlight.distributed import collectives
from rushlight.distributed.works import Work
from rushlight.ops.creation.tensors import ones, zeros

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank without batches does; derive from it."""

    def main_hook(self) -> None:
        """Called once for each iteration of ranks that still have batches."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once when no rank has batches any more."""


@dataclass
class JoinConfig:
    """Whether and how an object is joined."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """What :class:`Join` can be used with: it communicates in every iteration."""

    _join_config = JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs) -> JoinHook:
        """The hook of a rank that has no more batches."""

    @property
    @abstractmethod
    def join_device(self):
        """On which device counts are kept."""

    @property
    @abstractmethod
    def join_process_group(self):
        """Over which ranks counts are kept."""


class GroupJoinable(Joinable):
    """One whose counts are kept on the host by its own `process_group`."""

    @property
    def join_device(self):
        """Where the counts of ranks are kept."""
        return "cpu"

    @property
    def join_process_group(self):
        """The ranks that are counted."""
        return self.process_group


class Join:
    """A context in which ranks may have different numbers of batches.

    A rank that leaves the context's loop early takes part in the communication of the others, by
    the hooks of the `joinables`, until all have left theirs.

    Args:
        joinables: the objects that communicate in every iteration; the first counts for all.
        enable: False for no effect.
        throw_on_early_termination: raise RuntimeError on all ranks as soon as one has no batches.
    """

    def __init__(self, joinables, enable=True, throw_on_early_termination=False, **kwargs):
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = list(joinables)
        self._hooks = [each.join_hook(**kwargs) for each in self._joinables]
        self._enable, self._throw = enable, throw_on_early_termination
        self._group = self._joinables[0].join_process_group
        for number, each in enumerate(self._joinables):
            each._join_config = JoinConfig(enable, throw_on_early_termination, number == 0)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if self._enable and kind is None:
                self._shadow()
        finally:
            for each in self._joinables:
                each._join_config = JoinConfig()

    def _shadow(self):
        last = True
        rounds = 0
        while True:
            count = _counted(zeros(1), self._group)
            if not count:
                break
            if self._throw:
                self._tell(1)
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            last, rounds = False, rounds + 1
            if rounds == 1000:
                warnings.warn(
                    "Detected uneven input skew of greater than 1000. This means that rank "
                    f"{self._group.rank()} has at least 1000 fewer inputs than other "
                    "currently-active ranks.",
                    stacklevel=3,
                )
            for hook in self._hooks:
                hook.main_hook()
        if self._throw:
            self._tell(0)
        for hook in self._hooks:
            hook.post_hook(last)

    def _tell(self, early):
        flag = ones(1) * early
        collectives.all_reduce(flag, group=self._group)

    @staticmethod
    def notify_join_context(joinable: Joinable):
        """Called by a joinable before it communicates in an iteration: this rank has a batch."""
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        group = joinable.join_process_group
        work = cast(Work, collectives.all_reduce(ones(1), group=group, async_op=True))
        if config.throw_on_early_termination:
            flag = work.get_future().wait()[0]
            if int(flag) < group.size():
                collectives.all_reduce(zeros(1), group=group)
                _early()
        work.wait()
        return work


def _counted(flag, group):
    collectives.all_reduce(flag, group=group)
    return int(flag)


def _early():
    raise RuntimeError(
        "Detected at least one rank that exhausted inputs. Throwing across all ranks."
    )
