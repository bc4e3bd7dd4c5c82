"""Apple's GPUs, which are not there."""

from __future__ import annotations

from typing import Any

from lightning_lite.accelerators.accelerator import Accelerator


class MPSAccelerator(Accelerator):
    """Apple's GPU: never available; use the CPU."""

    @staticmethod
    def parse_devices(devices: Any) -> Any:
        """NotImplementedError."""
        raise NotImplementedError("accelerator='mps': there is no MPS device; use 'cpu'")

    @staticmethod
    def get_parallel_devices(devices: Any) -> list[Any]:
        """NotImplementedError."""
        raise NotImplementedError("accelerator='mps': there is no MPS device; use 'cpu'")

    @staticmethod
    def auto_device_count() -> int:
        """None: 0."""
        return 0

    @staticmethod
    def is_available() -> bool:
        """False."""
        return False


def get_device_stats() -> dict[str, float]:
    """Nothing: there is no such device."""
    return {}
