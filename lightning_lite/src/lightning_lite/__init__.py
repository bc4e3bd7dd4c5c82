"""A trainer for Rushlight models, with the names and habits of Lightning."""

from lightning_lite._version import __version__

__all__ = ["__version__"]
