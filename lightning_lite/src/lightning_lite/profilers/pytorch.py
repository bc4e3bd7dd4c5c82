"""PyTorchProfiler: the operations of every action, by `rushlight.profiler`."""

from __future__ import annotations

import os
from typing import Any

from lightning_lite.profilers.module_names import RegisterRecordFunction
from lightning_lite.profilers.profiler import Profiler
from lightning_lite.profilers.scheduling import STEPS, ScheduleWrapper
from rushlight import profiler as core


class PyTorchProfiler(Profiler):
    """Records the operations of a run, with the actions as ranges around them.

    `row_limit`: lines of the table (-1: all); `sort_by_key`: its order, "cpu_time_total" by
    default; `export_to_chrome` writes `STAGE-filename.json`, which `chrome://tracing` shows.
    `record_module_names`: calls of modules inside of the model are ranges as well.
    `profiler_kwargs` go to `rushlight.profiler.profile` (`record_shapes`, `profile_memory`,
    `with_stack`, ...); its `schedule` gets the number of the step in its own stage (see
    `ScheduleWrapper`), and the report is of the last recording.
    """

    def __init__(
        self,
        dirpath: str | os.PathLike | None = None,
        filename: str | None = None,
        group_by_input_shapes: bool = False,
        emit_nvtx: bool = False,
        export_to_chrome: bool = True,
        row_limit: int = 20,
        sort_by_key: str | None = None,
        record_module_names: bool = True,
        table_kwargs: dict[str, Any] | None = None,
        **profiler_kwargs: Any,
    ) -> None:
        super().__init__(dirpath, filename)
        if emit_nvtx:
            raise NotImplementedError("PyTorchProfiler(emit_nvtx=True): leave it False")
        if group_by_input_shapes:
            profiler_kwargs["record_shapes"] = True
        self._by_shape = group_by_input_shapes
        self._export = export_to_chrome
        self._row_limit = row_limit
        self._sort_by_key = sort_by_key or "cpu_time_total"
        self._table_kwargs = table_kwargs or {}
        schedule = profiler_kwargs.get("schedule")
        self._schedule = None if schedule is None else ScheduleWrapper(schedule)
        self._profiler_kwargs = {**profiler_kwargs, "schedule": self._schedule}
        self._record_module_names = record_module_names
        self._module_names: Any = None
        self.profiler: Any = None
        self._ranges: dict[str, list[Any]] = {}

    def setup(self, stage: str, local_rank: int | None = None, log_dir: str | None = None) -> None:
        """Begin to record."""
        super().setup(stage, local_rank, log_dir)
        if self._schedule is not None:
            self._schedule.reset()
            self._schedule.setup(f"on_{stage}_start")
        self.profiler = core.profile(**self._profiler_kwargs)
        self.profiler.__enter__()

    def start(self, action_name: str) -> None:
        """A range begins."""
        if self.profiler is not None:
            opened = core.record_function(action_name)
            opened.__enter__()
            self._ranges.setdefault(action_name, []).append(opened)

    def stop(self, action_name: str) -> None:
        """A range ends."""
        if self._ranges.get(action_name):
            self._ranges[action_name].pop().__exit__(None, None, None)
        if self._schedule is not None and self.profiler is not None:
            if action_name.endswith(STEPS):
                self._schedule.pre_step(action_name)
                self.profiler.step()

    def attach(self, module: Any) -> None:
        """Name the calls of the modules inside of a module."""
        if self._record_module_names:
            self._module_names = RegisterRecordFunction(module)
            self._module_names.__enter__()

    def detach(self) -> None:
        """Leave the module as it was."""
        if self._module_names is not None:
            self._module_names.__exit__(None, None, None)
            self._module_names = None

    def summary(self) -> str:
        """The table of operations."""
        if self.profiler is None:
            return ""
        self.profiler.__exit__(None, None, None)
        if self.profiler.profiler is None:
            self.profiler = None
            return "PyTorchProfiler: the schedule recorded no step"
        averages = self.profiler.key_averages(group_by_input_shape=self._by_shape)
        table = averages.table(
            sort_by=self._sort_by_key, row_limit=self._row_limit, **self._table_kwargs
        )
        if self._export and self.filename is not None:
            path = self._report_path(".json")
            path.parent.mkdir(parents=True, exist_ok=True)
            self.profiler.export_chrome_trace(str(path))
        self.profiler = None
        return str(table)
