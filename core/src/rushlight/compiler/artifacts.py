"""Compiled kernels as bytes: what one process has compiled, for the cache of another machine.

The bytes are a mark of the format, the SHA-256 of all that follows, and for each entry the lengths
of three parts and these: the version of the cache, the key, and the machine code with what is kept
beside it (:mod:`rushlight.machine.code_cache`).
"""

from __future__ import annotations

import hashlib
import re
import struct
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from rushlight.machine import code_cache
from rushlight.machine.processors import processor

__all__ = ["CacheInfo", "load_cache_artifacts", "save_cache_artifacts"]

_MARK = b"rushlight kernels 1\n"
_LENGTHS = struct.Struct("<HHI")
_HEAD = len(_MARK) + hashlib.sha256().digest_size
_KEY = re.compile(r"[\w.-]{1,200}", re.ASCII)  # keys are names of files: no folders among them
_ON_GPU = re.compile(r"cuda-[\w-]+|hip", re.ASCII)  # the keys of these name the device's kind


@dataclass
class CacheInfo:
    """The keys of the entries that were saved or loaded, by kind: the compiled kernels are
    ``inductor_artifacts``, as those of PyTorch's compiler; there are no others."""

    artifacts: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def inductor_artifacts(self) -> list[str]:
        """The keys of compiled kernels."""
        return self.artifacts.get("inductor", [])

    def empty(self) -> bool:
        """Whether there are no entries."""
        return not self.artifacts

    def clear(self) -> None:
        """Forget the keys."""
        self.artifacts.clear()


def save_cache_artifacts() -> tuple[bytes, CacheInfo] | None:
    """The compiled kernels that this process has made or used so far, as bytes.

    Where nothing can be kept on disk there is nothing to save. Graphs that :func:`compile` has
    captured are no part of it: capturing is done again, compiling is not.

    Returns:
        The bytes for :func:`load_cache_artifacts`, and what is in them; None if no kernel is.

    >>> import rushlight
    >>> _ = rushlight.ones(1000).exp().sum()
    >>> content, info = rushlight.compiler.save_cache_artifacts()
    >>> rushlight.compiler.load_cache_artifacts(content) == info
    True
    """
    info, parts = CacheInfo(), []
    for version, key in code_cache.needed():
        body = code_cache.stored(version, key)
        if body is not None:
            names = version.encode(), key.encode()
            parts += [_LENGTHS.pack(*map(len, names), len(body)), *names, body]
            info.artifacts["inductor"].append(key)
    if not parts:
        return None
    content = b"".join(parts)
    return _MARK + hashlib.sha256(content).digest() + content, info


def load_cache_artifacts(serialized_artifacts: bytes) -> CacheInfo | None:
    """Put kernels that :func:`save_cache_artifacts` gave into the cache, where this process and
    later ones find them instead of compiling.

    Kernels are machine code: load only bytes that you would run as a program. Those of another
    version of Rushlight, Python, NumPy or llvmlite, or of another kind of processor, are skipped;
    a RuntimeWarning says so where none is left.

    Args:
        serialized_artifacts: the bytes.

    Returns:
        What is in the cache now; None, with a RuntimeWarning, where the bytes are damaged.

    Raises:
        TypeError: `serialized_artifacts` is not bytes.

    >>> import rushlight, warnings
    >>> with warnings.catch_warnings(record=True):
    ...     print(rushlight.compiler.load_cache_artifacts(b"something else"))
    None
    """
    if not isinstance(serialized_artifacts, bytes | bytearray | memoryview):
        raise TypeError(
            "load_cache_artifacts(): argument 'serialized_artifacts' must be bytes, not "
            f"{type(serialized_artifacts).__name__}"
        )
    try:
        entries = list(_entries(bytes(serialized_artifacts)))
    except ValueError as error:
        _warn(f"nothing is loaded: {error}")
        return None
    return _loaded(entries)


def _entries(data) -> Iterator[tuple[str, str, bytes]]:
    """Version, key and content of each entry; ValueError where the bytes are not intact."""
    if not data.startswith(_MARK):
        raise ValueError("the bytes are not from save_cache_artifacts() of this version")
    if hashlib.sha256(data[_HEAD:]).digest() != data[len(_MARK) : _HEAD]:
        raise ValueError("the bytes are damaged")
    at = _HEAD
    while at < len(data):
        if at + _LENGTHS.size > len(data):
            raise ValueError("the bytes end within an entry")
        parts = []
        lengths = _LENGTHS.unpack_from(data, at)
        at += _LENGTHS.size
        for length in lengths:
            parts.append(data[at : at + length])
            at += length
        version, key, body = parts
        if at > len(data) or not body or not _KEY.fullmatch(key.decode(errors="replace")):
            raise ValueError("an entry is malformed")
        yield version.decode(errors="replace"), key.decode(), body


def _loaded(entries):
    """Store the entries that are for this processor and version."""
    info, own = CacheInfo(), code_cache.version(processor())
    for version, key, body in entries:
        if version != own and not _ON_GPU.fullmatch(version):
            continue
        if code_cache.stored(version, key) is None:
            code_cache.store(version, key, body)
        if code_cache.stored(version, key) is not None:
            info.artifacts["inductor"].append(key)
    if info.empty():
        _warn(
            f"none of {len(entries)} kernels is loaded: they are for another version or processor, "
            "or nothing can be kept"
        )
    return info


def _warn(why):
    warnings.warn(f"load_cache_artifacts(): {why}", RuntimeWarning, stacklevel=3)
