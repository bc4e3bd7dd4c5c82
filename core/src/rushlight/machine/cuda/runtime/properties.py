"""What a device is: the part of its properties that kernels and users ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceProperties:
    """One device. Memory in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_threads_per_multi_processor: int = 2048
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 49152
    regs_per_multiprocessor: int = 65536
    l2_cache_size: int = 0
    is_integrated: bool = False
    is_multi_gpu_board: bool = False
    uuid: str = ""
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0
    memory_clock_rate: int = 0
    memory_bus_width: int = 0
    clock_rate: int = 0

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability: (major, minor)."""
        return self.major, self.minor


@dataclass
class Counters:
    """What has been asked of a runtime; tests read it to show what did not happen."""

    launches: int = 0
    synchronizations: int = 0
    allocations: int = 0
    copies_in: int = 0
    copies_out: int = 0
    products: int = 0
    compilations: int = 0

    def snapshot(self) -> dict[str, int]:
        """All counts as a dict, to subtract later."""
        return dict(vars(self))

    def since(self, before: dict[str, int]) -> dict[str, int]:
        """What was added since a snapshot."""
        return {name: count - before[name] for name, count in vars(self).items()}
