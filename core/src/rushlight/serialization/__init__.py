"""Checkpoints in PyTorch's zip format, and safetensors files."""

import os
from collections.abc import Callable
from typing import IO, TypeAlias

from rushlight.devices import device as _device
from rushlight.serialization import safetensors
from rushlight.serialization.load import load
from rushlight.serialization.locations import (
    default_restore_location,
    location_tag,
    register_package,
)
from rushlight.serialization.safe_globals import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    get_unsafe_globals_in_checkpoint,
    safe_globals,
)
from rushlight.serialization.save import save

DEFAULT_PROTOCOL = 2  # of the pickle inside of a checkpoint
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION: TypeAlias = Callable | _device | str | dict[str, str] | None
FILE_LIKE = FileLike

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "safetensors",
    "save",
]
