"""`AudioMetaData` by torchaudio's former path."""

from rushlight_audio.io.formats import AudioMetaData

__all__ = ["AudioMetaData"]
