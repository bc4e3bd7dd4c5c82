"""Transforms of sounds that come piece by piece.

What a stream gives for all pieces, one after the other, is what its transform gives for the whole.
Begin reading at :mod:`.streams`.
"""

from rushlight_audio.streaming.features import CmnStream, DeltaStream
from rushlight_audio.streaming.filters import ConvolutionStream, FilterStream
from rushlight_audio.streaming.frames import FrameStream, InverseFrameStream
from rushlight_audio.streaming.opening import stream
from rushlight_audio.streaming.resampling import ResampleStream
from rushlight_audio.streaming.streams import ChainStream, PointStream, Stream
from rushlight_audio.streaming.stretching import PitchStream, StretchStream
from rushlight_audio.streaming.trimming import FadeStream, VadStream

__all__ = [
    "ChainStream",
    "CmnStream",
    "ConvolutionStream",
    "DeltaStream",
    "FadeStream",
    "FilterStream",
    "FrameStream",
    "InverseFrameStream",
    "PitchStream",
    "PointStream",
    "ResampleStream",
    "Stream",
    "StretchStream",
    "VadStream",
    "stream",
]
