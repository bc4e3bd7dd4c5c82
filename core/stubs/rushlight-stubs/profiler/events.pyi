# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any

class _Times:
    device_time: _int
    device_time_total: _int
    self_device_time_total: _int
    device_memory_usage: _int
    self_device_memory_usage: _int
    is_async: _bool
    is_remote: _bool
    is_legacy: _bool
    use_device: Any
    @property
    def cpu_time(self) -> Any: ...
    @property
    def cpu_time_str(self) -> Any: ...
    @property
    def cpu_time_total_str(self) -> Any: ...
    @property
    def self_cpu_time_total_str(self) -> Any: ...
class EventList(list[Any]):
    def __init__(self, events: Any = ..., memory: _bool = ..., flops: _bool = ..., duration: Any = ...) -> None: ...
    @property
    def self_cpu_time_total(self) -> Any: ...
    def key_averages(self, group_by_input_shape: _bool = ..., group_by_stack_n: _int = ..., group_by_overload_name: _bool = ...) -> Any: ...
    def total_average(self) -> Any: ...
    def table(self, sort_by: Any = ..., row_limit: _int = ..., max_src_column_width: _int = ..., max_name_column_width: _int = ..., max_shapes_column_width: _int = ..., header: Any = ..., top_level_events_only: _bool = ..., time_unit: Any = ...) -> _str: ...
    def export_chrome_trace(self, path: Any) -> Any: ...
    def export_stacks(self, path: Any, metric: _str = ...) -> Any: ...
class FunctionEvent(_Times):
    count: _int
    def __init__(self, number: Any, span: Any, origin: Any) -> None: ...
    @property
    def scope(self) -> Any: ...
    @property
    def is_user_annotation(self) -> Any: ...
    @property
    def cpu_time_total(self) -> Any: ...
    @property
    def self_cpu_time_total(self) -> Any: ...
    @property
    def cpu_memory_usage(self) -> Any: ...
    @property
    def self_cpu_memory_usage(self) -> Any: ...
    id: Any
    name: Any
    key: Any
    category: Any
    thread: Any
    fwd_thread: Any
    time_range: Any
    input_shapes: Any
    stack: Any
    flops: Any
    own_bytes: Any
    sequence_nr: Any
    cpu_children: list[Any]
    cpu_parent: Any
    kernels: list[Any]
class FunctionEventAvg(_Times):
    def __init__(self) -> None: ...
    def add(self, other: Any) -> Any: ...
    key: Any
    input_shapes: Any
    stack: Any
    scope: Any
    count: _int
    cpu_time_total: _float
    self_cpu_time_total: _float
    cpu_memory_usage: _int
    self_cpu_memory_usage: _int
    flops: _int
    is_user_annotation: _bool
    cpu_children: list[Any]
class Interval:
    def __init__(self, start: Number | Tensor, end: Number | Tensor) -> None: ...
    def elapsed_us(self) -> Any: ...
    start: Number | Tensor
    end: Number | Tensor
def build_events(recorder: Any) -> EventList: ...
def time_text(microseconds: Any) -> _str: ...
