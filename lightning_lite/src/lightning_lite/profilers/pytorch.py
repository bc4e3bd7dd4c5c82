"""PyTorchProfiler: the operations of every action, by `rushlight.profiler`."""

from __future__ import annotations

from typing import Any

from lightning_lite.profilers.profiler import Profiler
from rushlight import profiler as core


class PyTorchProfiler(Profiler):
    """Records the operations of a run, with the actions as ranges around them.

    `row_limit`: lines of the table (-1: all); `sort_by_key`: its order, "cpu_time_total" by
    default; `export_to_chrome` writes `STAGE-filename.json`, which `chrome://tracing` shows.
    `profiler_kwargs` go to `rushlight.profiler.profile` (`record_shapes`, `profile_memory`,
    `with_stack`, ...).
    """

    def __init__(
        self,
        dirpath: Any = None,
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
        self._profiler_kwargs = profiler_kwargs
        self.profiler: Any = None
        self._ranges: dict[str, list[Any]] = {}

    def setup(self, stage: str, local_rank: int | None = None, log_dir: str | None = None) -> None:
        """Begin to record."""
        super().setup(stage, local_rank, log_dir)
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

    def summary(self) -> str:
        """The table of operations."""
        if self.profiler is None:
            return ""
        self.profiler.__exit__(None, None, None)
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
