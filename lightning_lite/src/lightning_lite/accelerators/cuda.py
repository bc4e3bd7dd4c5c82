"""NVIDIA GPUs."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from lightning_lite.accelerators.accelerator import Accelerator
from lightning_lite.errors import MisconfigurationException


class CUDAAccelerator(Accelerator):
    """A GPU; one process uses one."""

    @staticmethod
    def parse_devices(devices: Any) -> list[int]:
        """The numbers of the GPUs that `devices` means. MisconfigurationException for those that
        are not there."""
        there = num_cuda_devices()
        if isinstance(devices, str):
            listed = [int(text) for text in devices.split(",") if text.strip()]
            devices = listed if "," in devices else listed[0]
        if isinstance(devices, int):
            devices = list(range(there if devices == -1 else devices))
        missing = [number for number in devices if number >= there]
        if missing or not devices:
            raise MisconfigurationException(
                f"devices: the GPUs {missing} are asked for; there are {there}"
            )
        return list(devices)

    @staticmethod
    def get_parallel_devices(devices: list[int]) -> list[Any]:
        """The GPUs of these numbers."""
        return [rl.device("cuda", number) for number in devices]

    @staticmethod
    def auto_device_count() -> int:
        """All."""
        return num_cuda_devices()

    @staticmethod
    def is_available() -> bool:
        """Whether there is a GPU."""
        return is_cuda_available()

    def setup_device(self, device: Any) -> None:
        """Use a GPU from now on; ValueError for another device."""
        if device.type != "cuda":
            raise ValueError(f"CUDAAccelerator: the device is {device.type}; expected cuda")
        rl.cuda.set_device(device)

    def get_device_stats(self, device: Any) -> dict[str, Any]:
        """The statistics of the GPU's memory."""
        return dict(rl.cuda.memory_stats(device))

    def teardown(self) -> None:
        """Give unused memory back."""
        if is_cuda_available():
            rl.cuda.empty_cache()


def get_nvidia_gpu_stats(device: Any) -> dict[str, float]:
    """How much of a GPU's memory is used and free, in MiB. RuntimeError where there is no GPU."""
    if not is_cuda_available():
        raise RuntimeError("get_nvidia_gpu_stats: there is no GPU")
    free, total = rl.cuda.mem_get_info(device)
    used = (total - free) / 2**20
    return {"memory.used (MB)": used, "memory.free (MB)": free / 2**20}


def num_cuda_devices() -> int:
    """How many GPUs there are."""
    return int(rl.cuda.device_count())


def is_cuda_available() -> bool:
    """Whether there is a GPU."""
    return num_cuda_devices() > 0


def find_usable_cuda_devices(num_devices: int = -1) -> list[int]:
    """The numbers of `num_devices` GPUs (-1: of all) on which a tensor can be made.

    Raises ValueError where there are none, or not as many; RuntimeError where too few work.
    """
    if num_devices == 0:
        return []
    there = num_cuda_devices()
    if there == 0 or num_devices > there:
        raise ValueError(f"find_usable_cuda_devices: {num_devices} asked for; there are {there}")
    usable = []
    for number in range(there):
        try:
            rl.zeros(1, device=rl.device("cuda", number))
        except RuntimeError:
            continue
        usable.append(number)
        if len(usable) == num_devices:
            break
    if num_devices != -1 and len(usable) < num_devices:
        raise RuntimeError(
            f"find_usable_cuda_devices: {num_devices} asked for; {usable} of {there} work"
        )
    return usable
