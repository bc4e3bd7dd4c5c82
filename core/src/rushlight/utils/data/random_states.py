"""Where the random number generators of a process stand: the framework's, Python's and NumPy's."""

from __future__ import annotations

import random

import rushlight
from rushlight.machine import np


def snapshot() -> dict:
    """The states, in plain types and tensors, so that they can be saved."""
    numbers = np.random.get_state(legacy=False)
    state = numbers["state"]
    found = {"rushlight": rushlight.get_rng_state(), "python": random.getstate()}
    if "key" in state:  # the generator is the one NumPy starts with
        key = rushlight.from_numpy(state["key"].astype(np.int64))
        found["numpy"] = (key, int(state["pos"]), numbers["has_gauss"], numbers["gauss"])
    return found


def restore(found: dict) -> None:
    """Put the generators where a :func:`snapshot` found them."""
    rushlight.set_rng_state(found["rushlight"])
    version, words, gauss = found["python"]
    random.setstate((version, tuple(words), gauss))
    if "numpy" in found:
        key, position, has_gauss, value = found["numpy"]
        key = key.numpy().astype(np.uint32)
        np.random.set_state(("MT19937", key, position, has_gauss, value))


def fingerprint() -> tuple:
    """Something that differs when any of the generators has been used; cheaper than a snapshot."""
    numbers = np.random.get_state()
    own = rushlight.get_rng_state().numpy().tobytes()
    return own, random.getstate(), numbers[1].tobytes(), numbers[2:]


def generator_states(generators) -> list:
    """The states of generators that loaders and samplers own."""
    return [generator.get_state() for generator in generators]


def restore_generators(generators, states) -> None:
    """Put them where they stood."""
    if len(generators) != len(states):
        raise ValueError(
            f"load_state_dict(): the state was written by a loader with {len(states)} generators "
            f"of its own, this one has {len(generators)}: make the loader with the same arguments"
        )
    for generator, state in zip(generators, states, strict=True):
        generator.set_state(state)
