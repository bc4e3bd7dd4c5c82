"""Features with the numbers of other programs."""

from rushlight_audio.compliance import kaldi

__all__ = ["kaldi"]
