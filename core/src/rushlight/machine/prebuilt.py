"""Object code that comes with the package: kernels of usual programs, for some processors.

A pack holds what LLVM made of modules' texts, found by the text itself: whatever a kernel becomes
by a change of source, shape or version, it is either the very text that was compiled, or it is not
there and LLVM compiles it. So packs can be incomplete or old, never wrong. They are made by
``nox -s prebuild`` (``ci/prebuild.py``) and are in ``rushlight/prebuilt``, one for each of LEVELS.
``RUSHLIGHT_PREBUILT`` names another folder, or none when it is empty.

A pack is one xz stream: the number of entries, for each its 16-byte name and its length, then the
objects in the same order.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import struct
import warnings

from rushlight.machine.processors import MODELS

LEVELS = tuple(name for name in MODELS if name != "x86-64-v2")
# What LLVM uses unasked for every one of LEVELS, besides the features that define them.
EVERYWHERE = frozenset({"bmi", "bmi2", "lzcnt", "movbe", "popcnt", "sse4.1", "sse4.2", "ssse3"})
_COUNT, _ENTRY = struct.Struct("<I"), struct.Struct("<16sI")


def described(text, passes) -> str:
    """A module's text under the name of its passes: all that an object depends on."""
    return f"{passes.__name__ if passes is not None else ''}\n{text}"


def name_of(text, passes) -> bytes:
    """What an object is found by."""
    return hashlib.sha256(described(text, passes).encode()).digest()[:16]


def packed(objects: dict[bytes, bytes]) -> bytes:
    """The content of a pack."""
    import lzma

    names = sorted(objects)
    head = b"".join(_ENTRY.pack(name, len(objects[name])) for name in names)
    body = b"".join(objects[name] for name in names)
    return lzma.compress(_COUNT.pack(len(names)) + head + body, preset=9 | lzma.PRESET_EXTREME)


def unpacked(content: bytes) -> dict[bytes, memoryview]:
    """The objects of a pack by name."""
    import lzma

    data = memoryview(lzma.decompress(content))
    (count,) = _COUNT.unpack_from(data)
    place = _COUNT.size + count * _ENTRY.size
    if place > len(data):
        raise ValueError(f"it has {len(data)} bytes, too few for {count} entries")
    objects = {}
    for name, size in _ENTRY.iter_unpack(data[_COUNT.size : place]):
        objects[name] = data[place : place + size]
        place += size
    if place != len(data):
        raise ValueError(f"it has {len(data)} bytes, its entries {place}")
    return objects


def level(processor) -> str | None:
    """The pack whose code runs on a processor and uses most of it; None where none does, and where
    instructions are emulated."""
    if processor.emulated or not processor.has(*EVERYWHERE):
        return None
    if processor.name in LEVELS and processor.has(*MODELS[processor.name].features):
        return processor.name
    able = [name for name in LEVELS if processor.has(*MODELS[name].features)]
    return max(able, key=lambda name: len(MODELS[name].features), default=None)


def folder() -> pathlib.Path | None:
    """Where packs are."""
    chosen = os.environ.get("RUSHLIGHT_PREBUILT")
    if chosen is None:
        return pathlib.Path(__file__).parents[1] / "prebuilt"
    return pathlib.Path(chosen) if chosen else None


@functools.cache
def _pack(path):
    try:
        return unpacked(path.read_bytes())
    except FileNotFoundError:
        return {}
    except Exception as error:  # whatever is wrong with it, kernels can be compiled
        warnings.warn(f"{path} is not used: {error}", RuntimeWarning, stacklevel=2)
        return {}


def find(text, passes, processor) -> bytes | None:
    """The object code of a module's text after some passes, or None."""
    place, chosen = folder(), level(processor)
    if place is None or chosen is None:
        return None
    found = _pack(place / f"{chosen}.pack").get(name_of(text, passes))
    return None if found is None else bytes(found)
