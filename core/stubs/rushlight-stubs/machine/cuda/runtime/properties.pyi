# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str

class Counters:
    launches: _int
    synchronizations: _int
    allocations: _int
    copies_in: _int
    copies_out: _int
    products: _int
    compilations: _int
    def snapshot(self) -> dict[_str, _int]: ...
    def since(self, before: dict[_str, _int]) -> dict[_str, _int]: ...
    def __init__(self, launches: _int = ..., synchronizations: _int = ..., allocations: _int = ..., copies_in: _int = ..., copies_out: _int = ..., products: _int = ..., compilations: _int = ...) -> None: ...
class DeviceProperties:
    warp_size: _int
    max_threads_per_block: _int
    max_threads_per_multi_processor: _int
    shared_memory_per_block: _int
    shared_memory_per_block_optin: _int
    regs_per_multiprocessor: _int
    l2_cache_size: _int
    is_integrated: _bool
    is_multi_gpu_board: _bool
    uuid: _str
    pci_bus_id: _int
    pci_device_id: _int
    pci_domain_id: _int
    memory_clock_rate: _int
    memory_bus_width: _int
    clock_rate: _int
    @property
    def capability(self) -> tuple[_int, _int]: ...
    def __init__(self, name: _str, major: _int, minor: _int, total_memory: _int, multi_processor_count: _int, warp_size: _int = ..., max_threads_per_block: _int = ..., max_threads_per_multi_processor: _int = ..., shared_memory_per_block: _int = ..., shared_memory_per_block_optin: _int = ..., regs_per_multiprocessor: _int = ..., l2_cache_size: _int = ..., is_integrated: _bool = ..., is_multi_gpu_board: _bool = ..., uuid: _str = ..., pci_bus_id: _int = ..., pci_device_id: _int = ..., pci_domain_id: _int = ..., memory_clock_rate: _int = ..., memory_bus_width: _int = ..., clock_rate: _int = ...) -> None: ...
    name: _str
    major: _int
    minor: _int
    total_memory: _int
    multi_processor_count: _int
