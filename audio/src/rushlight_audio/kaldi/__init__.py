"""Kaldi's tables of vectors and matrices: archives (ark) and scripts (scp) that point into them.

`reading` and `writing` do the work; `rushlight_audio.kaldi_io` has torchaudio's names for it.
"""

from rushlight_audio.kaldi.reading import read_ark, read_scp
from rushlight_audio.kaldi.writing import write_ark

__all__ = ["read_ark", "read_scp", "write_ark"]
