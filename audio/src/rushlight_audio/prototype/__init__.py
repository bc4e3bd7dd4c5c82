"""What torchaudio called prototypes up to 2.8; it lives with the rest here."""

from rushlight_audio.prototype import datasets

__all__ = ["datasets"]
