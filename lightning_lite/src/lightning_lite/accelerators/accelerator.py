"""Accelerator: the base of what is known of a kind of device."""

from __future__ import annotations

from typing import Any


class Accelerator:
    """A kind of device. Subclasses say how devices are counted, named and measured."""

    @staticmethod
    def parse_devices(devices: Any) -> Any:
        """What `Trainer(devices=...)` means for this kind of device."""
        raise NotImplementedError("parse_devices: a subclass of Accelerator defines it")

    @staticmethod
    def get_parallel_devices(devices: Any) -> list[Any]:
        """The devices that an answer of `parse_devices` means."""
        raise NotImplementedError("get_parallel_devices: a subclass of Accelerator defines it")

    @staticmethod
    def auto_device_count() -> int:
        """How many devices "auto" takes."""
        raise NotImplementedError("auto_device_count: a subclass of Accelerator defines it")

    @staticmethod
    def is_available() -> bool:
        """Whether there is a device of this kind."""
        raise NotImplementedError("is_available: a subclass of Accelerator defines it")

    def setup_device(self, device: Any) -> None:
        """Prepare a device; ValueError for one of another kind."""

    def setup(self, trainer: Any) -> None:
        """Prepare a run."""

    def teardown(self) -> None:
        """Give back what `setup_device` took."""

    def get_device_stats(self, device: Any) -> dict[str, Any]:
        """What a device does, as numbers by name."""
        return {}

    @classmethod
    def register_accelerators(cls, accelerator_registry: Any) -> None:
        """Add this kind of device to a registry."""
