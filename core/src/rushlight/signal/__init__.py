"""Signal processing: window functions, filters with feedback, alignment of sequences, steps of beam
searches, suppression of detections."""

from rushlight.ops.losses.aligned_sequences import ctc_alignment, transducer_loss
from rushlight.signal import windows
from rushlight.signal.beam_frames import BeamFrame, BeamOptions
from rushlight.signal.beam_search import Followers, PrefixTree, best_rows, summed_rows
from rushlight.signal.filters import recursive_filter, varying_feedback
from rushlight.signal.free_beam import FreeBeam
from rushlight.signal.lexicon_beam import LexiconBeam
from rushlight.signal.suppression import non_maximum_suppression

__all__ = [
    "BeamFrame",
    "BeamOptions",
    "Followers",
    "FreeBeam",
    "LexiconBeam",
    "PrefixTree",
    "best_rows",
    "ctc_alignment",
    "non_maximum_suppression",
    "recursive_filter",
    "summed_rows",
    "transducer_loss",
    "varying_feedback",
    "windows",
]
