"""Generators of random numbers: streams with a seed and a state, one by default per device."""

from __future__ import annotations

import importlib
import os

from rushlight import devices, dtypes
from rushlight.kernels.random.engine import MersenneTwister
from rushlight.machine import np
from rushlight.machine.forking import DRAWING
from rushlight.tensor.tensor import Tensor, make_tensor

_DEFAULT_SEED = 67280421310721


class Generator:
    """A stream of random numbers: MT19937 with PyTorch's seeding and transforms on the CPU, Philox
    on a GPU."""

    def __init__(self, device="cpu"):
        self.device = devices.as_device(device)
        if self.device.type == "cuda":
            philox = importlib.import_module("rushlight.kernels.random.philox")
            self.engine = philox.PhiloxEngine(_DEFAULT_SEED, self.device.index)
        else:
            self.engine = MersenneTwister(_DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of a seed."""
        if not -(1 << 63) <= seed < 1 << 64:
            raise RuntimeError("Overflow when unpacking long: seed must fit in 64 bits")
        self.engine.seed(int(seed))
        return self

    def seed(self) -> int:
        """Seed from the operating system; returns the seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed the stream started from."""
        return self.engine.initial_seed

    def get_state(self) -> Tensor:
        """The state as a uint8 tensor in PyTorch's layout."""
        return make_tensor(np.frombuffer(self.engine.get_state(), np.uint8).copy(), dtypes.uint8)

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state."""
        if not isinstance(new_state, Tensor) or new_state._dtype is not dtypes.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.engine.set_state(new_state._array.tobytes())
        return self

    def get_offset(self) -> int:
        """How far a GPU's stream has been drawn. Waits for the device."""
        return int.from_bytes(self._philox("get_offset").get_state()[8:], "little")

    def set_offset(self, offset: int) -> None:
        """Continue a GPU's stream from an offset, a multiple of 4."""
        engine = self._philox("set_offset")
        engine.set_state(engine.get_state()[:8] + int(offset).to_bytes(8, "little"))

    def _philox(self, name):
        if self.device.type != "cuda":
            raise RuntimeError(f"Generator.{name}: only the generators of GPUs have an offset")
        return self.engine

    def __reduce__(self):
        return _restore, (self.engine.get_state(), str(self.device))


def _restore(state, device="cpu"):
    generator = Generator(device)
    generator.engine.set_state(state)
    return generator


default_generator = Generator()
default_generator.engine.lock = DRAWING
_on_devices: dict[int, Generator] = {}  # the default generators of GPUs
_seeds: list[int] = []  # the seed of `manual_seed`, for those that come later


def generator_of(device) -> Generator:
    """The default generator of a device."""
    if device.type != "cuda":
        return default_generator
    found = _on_devices.get(device.index)
    if found is None:
        found = _on_devices[device.index] = Generator(device)
        if _seeds:
            found.manual_seed(_seeds[-1])
    return found


def _seed_devices(seed):
    """Seed the default generators of all GPUs, now or when they come to be."""
    _seeds[:] = [seed]
    for generator in _on_devices.values():
        generator.manual_seed(seed)


def manual_seed(seed: int) -> Generator:
    """Seed the default generator.

    >>> _ = rushlight.manual_seed(0)
    >>> rushlight.rand(2)
    tensor([0.4963, 0.7682])
    """
    _seed_devices(int(seed))
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator from the operating system; returns the seed."""
    found = default_generator.seed()
    _seed_devices(found)
    return found


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state as a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the default generator's state."""
    default_generator.set_state(new_state)
