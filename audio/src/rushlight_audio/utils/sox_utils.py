"""What effects and files there are, by the names of torchaudio's module about libsox.

libsox is not used; the settings are kept and change nothing, save for the seed.
"""

from __future__ import annotations

import rushlight as rl
from rushlight_audio.io.formats import known_formats
from rushlight_audio.sox_effects import effect_names
from rushlight_audio.sox_effects.sound import EFFECTS

__all__ = [
    "get_buffer_size",
    "list_effects",
    "list_read_formats",
    "list_write_formats",
    "set_buffer_size",
    "set_seed",
    "set_use_threads",
    "set_verbosity",
]

_state = {"buffer_size": 8192}


def list_effects() -> dict[str, str]:
    """The effects that `sox_effects` has, with their arguments."""
    return {name: EFFECTS[name].usage for name in effect_names()}


def list_read_formats() -> list[str]:
    """Formats that `load` reads by libsndfile."""
    import soundfile

    return sorted(name.lower() for name in soundfile.available_formats())


def list_write_formats() -> list[str]:
    """Formats that `save` writes by libsndfile."""
    return known_formats()


def set_seed(seed: int) -> None:
    """Seed the noise of the effect `dither`: rushlight's generator."""
    rl.manual_seed(seed)


def get_buffer_size() -> int:
    """The number that :func:`set_buffer_size` kept."""
    return _state["buffer_size"]


def set_buffer_size(buffer_size: int) -> None:
    """Keep a number of bytes; nothing else."""
    if buffer_size < 1:
        raise ValueError(f"set_buffer_size(): buffer_size must be positive, got {buffer_size}")
    _state["buffer_size"] = buffer_size


def set_verbosity(verbosity: int) -> None:
    """Nothing: effects say nothing."""


def set_use_threads(use_threads: bool) -> None:
    """Nothing: `rushlight.set_num_threads` says how many threads there are."""
