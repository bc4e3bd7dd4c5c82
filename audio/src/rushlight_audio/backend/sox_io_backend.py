"""`info`, `load` and `save` by torchaudio's former path `backend.sox_io_backend`."""

from rushlight_audio.io.files import info, load, save

__all__ = ["info", "load", "save"]
