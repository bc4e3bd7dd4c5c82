"""`Musan` by its path in torchaudio's prototypes."""

from rushlight_audio.datasets.musan import Musan

__all__ = ["Musan"]
