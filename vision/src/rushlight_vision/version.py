"""The version under the names of torchvision's module: no compiled extension belongs to it."""

from rushlight_vision._version import __version__

__all__ = ["__version__", "cuda", "git_version"]

cuda: str | None = None
git_version = "Unknown"
