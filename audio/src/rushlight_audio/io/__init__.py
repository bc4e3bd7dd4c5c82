"""Reading and writing sound files."""

from rushlight_audio.io.files import info, load, save
from rushlight_audio.io.formats import AudioMetaData

__all__ = ["AudioMetaData", "info", "load", "save"]
