"""The version, and what this build can compute on: the CPU only."""

from __future__ import annotations

from rushlight._version import __version__

cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug = False
git_version = "Unknown"

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]
