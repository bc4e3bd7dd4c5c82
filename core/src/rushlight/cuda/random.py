"""Random numbers on GPUs: seeds, and the states of the default generators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rushlight import devices
from rushlight.cuda import device_count, index_of, is_available, needs_gpu
from rushlight.ops.random import sampling as generators

if TYPE_CHECKING:
    from rushlight.tensor.tensor import Tensor


def _generator(device=None):
    return generators.generator_of(devices.cuda_device(index_of(device)))


def manual_seed(seed: int) -> None:
    """Seed the current GPU's generator; without a GPU there is none to seed, as in PyTorch."""
    if is_available():
        _generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs."""
    for index in range(device_count()):
        _generator(index).manual_seed(int(seed))


def seed() -> None:
    """Seed the current GPU's generator from the operating system."""
    needs_gpu("seed")
    _generator().seed()


def seed_all() -> None:
    """Seed the generators of all GPUs with one number from the operating system."""
    needs_gpu("seed_all")
    manual_seed_all(_generator().seed())


def initial_seed() -> int:
    """The seed of the current GPU's generator."""
    needs_gpu("initial_seed")
    return _generator().initial_seed()


def get_rng_state(device="cuda") -> Tensor:
    """The state of a GPU's generator as a uint8 tensor on the CPU. Waits for the GPU."""
    needs_gpu("get_rng_state")
    return _generator(device).get_state()


def get_rng_state_all() -> list:
    """The states of the generators of all GPUs."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: Tensor, device="cuda") -> None:
    """Set the state of a GPU's generator."""
    needs_gpu("set_rng_state")
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the generators of all GPUs; a state for a GPU that is not here raises."""
    for index, state in enumerate(new_states):
        if index >= device_count():
            raise AssertionError(
                f"rushlight.cuda.set_rng_state_all: there is no GPU {index} to set a state of; "
                "guard GPU code with rushlight.cuda.is_available()"
            )
        set_rng_state(state, index)


def __getattr__(name):
    if name == "default_generators":
        return tuple(_generator(index) for index in range(device_count()))
    raise AttributeError(f"module 'rushlight.cuda.random' has no attribute '{name}'")


__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]
