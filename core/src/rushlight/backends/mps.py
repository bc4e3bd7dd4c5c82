"""Whether Apple's GPUs can be used: not in this version."""

from __future__ import annotations


def is_available() -> bool:
    """Whether an Apple GPU can be used: never."""
    return False


def is_built() -> bool:
    """Whether support for Apple GPUs is built in: it is not."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether the system is macOS of this version or newer."""
    import platform

    release = platform.mac_ver()[0]
    return bool(release) and tuple(map(int, release.split(".")[:2])) >= (major, minor)
