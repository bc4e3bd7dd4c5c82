"""Profiler: the base of what measures the actions of a run."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lightning_lite.messages import info

T = TypeVar("T")


class Profiler:
    """Measures actions between `start(name)` and `stop(name)`; `summary()` is what it found.

    With `filename`, the report is written to `dirpath/STAGE-filename.txt` (`dirpath` defaults to
    the logger's folder); without, it is told when the run is over.
    """

    def __init__(
        self, dirpath: str | os.PathLike | None = None, filename: str | None = None
    ) -> None:
        self.dirpath = dirpath
        self.filename = filename
        self._stage: str | None = None
        self._trainer_dir: Any = None

    def start(self, action_name: str) -> None:
        """An action begins."""
        raise NotImplementedError(f"{type(self).__name__} does not define start")

    def stop(self, action_name: str) -> None:
        """An action ends."""
        raise NotImplementedError(f"{type(self).__name__} does not define stop")

    def summary(self) -> str:
        """What was found, as text."""
        return ""

    @contextmanager
    def profile(self, action_name: str) -> Generator[str, None, None]:
        """Measure a block.

        >>> profiler = PassThroughProfiler()
        >>> with profiler.profile("load"):
        ...     pass
        """
        self.start(action_name)
        try:
            yield action_name
        finally:
            self.stop(action_name)

    def profile_iterable(self, iterable: Iterable[T], action_name: str) -> Generator[T, None, None]:
        """The items of an iterable, with the time that each takes to come measured."""
        iterator = iter(iterable)
        while True:
            self.start(action_name)
            try:
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self.stop(action_name)
            yield item

    def setup(self, stage: str, local_rank: int | None = None, log_dir: str | None = None) -> None:
        """A run begins."""
        self._stage, self._trainer_dir = stage, log_dir

    def describe(self) -> None:
        """Write or tell the report."""
        report = self.summary()
        if not report:
            return
        if self.filename is None:
            info(report)
            return
        path = self._report_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report, encoding="utf-8")

    def _report_path(self, extension: str = ".txt") -> Path:
        folder = self.dirpath or self._trainer_dir or os.getcwd()
        name = "-".join(part for part in (self._stage, self.filename) if part)
        return Path(folder, name + extension)

    def teardown(self, stage: str | None) -> None:
        """A run is over."""

    def attach(self, module: Any) -> None:
        """The module of a run, before its steps."""

    def detach(self) -> None:
        """The run is over, or has failed: leave the module as it was."""


class PassThroughProfiler(Profiler):
    """Measures nothing.

    >>> with PassThroughProfiler().profile("nothing"):
    ...     pass
    """

    def start(self, action_name: str) -> None:
        """Nothing."""

    def stop(self, action_name: str) -> None:
        """Nothing."""
