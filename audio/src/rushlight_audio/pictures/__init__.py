"""Sound to look at: waveforms, spectrograms, alignments and pitch as pictures, folders as pages.

Needs Matplotlib (``pip install rushlight-audio[pictures]``). Begin with `show`.
"""

from rushlight_audio.pictures.picture import Picture
from rushlight_audio.pictures.reporting import report
from rushlight_audio.pictures.showing import show

__all__ = ["Picture", "report", "show"]
