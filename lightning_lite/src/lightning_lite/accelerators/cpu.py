"""The processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rushlight as rl
from lightning_lite.accelerators.accelerator import Accelerator

_last_times: list[int] = [0, 0]


class CPUAccelerator(Accelerator):
    """The processor; one process, whatever number of cores.

    >>> CPUAccelerator.is_available(), CPUAccelerator.auto_device_count() >= 1
    (True, True)
    """

    @staticmethod
    def parse_devices(devices: Any) -> int:
        """The number of processes: TypeError unless an integer above 0."""
        number = int(devices) if isinstance(devices, str) and devices.isdigit() else devices
        if not isinstance(number, int) or isinstance(number, bool) or number <= 0:
            raise TypeError(f"devices={devices!r} with the CPU: expected an int above 0")
        return number

    @staticmethod
    def get_parallel_devices(devices: int) -> list[Any]:
        """The CPU, once for each process."""
        return [rl.device("cpu")] * CPUAccelerator.parse_devices(devices)

    @staticmethod
    def auto_device_count() -> int:
        """One."""
        return 1

    @staticmethod
    def is_available() -> bool:
        """True."""
        return True

    def setup_device(self, device: Any) -> None:
        """Complain of a device that is no CPU."""
        if device.type != "cpu":
            raise ValueError(f"CPUAccelerator: the device is {device.type}; expected cpu")

    def get_device_stats(self, device: Any) -> dict[str, float]:
        """Percent of the processor's time, memory and swap that are used."""
        return get_cpu_stats()


def get_cpu_stats() -> dict[str, float]:
    """Percent of memory and swap in use, and of the processor's time since the last call.

    Read from Linux's `/proc`; empty where there is none.
    """
    memory, times = Path("/proc/meminfo"), Path("/proc/stat")
    if not memory.is_file() or not times.is_file():
        return {}
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in memory.read_text().splitlines()}
    total, swap = sizes["MemTotal"], sizes.get("SwapTotal", 0)
    numbers = [int(text) for text in times.read_text().splitlines()[0].split()[1:9]]
    whole, idle = sum(numbers), numbers[3] + numbers[4]
    passed, idled = whole - _last_times[0], idle - _last_times[1]
    _last_times[:] = [whole, idle]
    return {
        "cpu_vm_percent": 100.0 * (total - sizes["MemAvailable"]) / total,
        "cpu_percent": 100.0 * (passed - idled) / passed if passed else 0.0,
        "cpu_swap_percent": 100.0 * (swap - sizes["SwapFree"]) / swap if swap else 0.0,
    }
