# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any

from rushlight.signal.beam_frames import BeamFrame as BeamFrame
from rushlight.signal.beam_frames import BeamOptions as BeamOptions
from rushlight.signal.beam_search import Followers as Followers
from rushlight.signal.free_beam import FreeBeam as FreeBeam
from rushlight.signal.lexicon_beam import LexiconBeam as LexiconBeam
from rushlight.signal.beam_search import PrefixTree as PrefixTree
def best_rows(score: Any, key: Tensor, most: _int, threshold: _float = ...) -> Any: ...
def ctc_alignment(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: _int = ...) -> Tensor: ...
def non_maximum_suppression(boxes: Tensor, threshold: _float, groups: Tensor | None = ...) -> Any: ...
def recursive_filter(x: Tensor, feedback: Tensor, forward: Tensor) -> Any: ...
def summed_rows(score: Any, key: Tensor, most: _int, threshold: _float = ...) -> Any: ...
def transducer_loss(logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, blank: _int = ..., clamp: _float = ..., reduction: _str = ..., fused_log_softmax: _bool = ...) -> Tensor: ...
def varying_feedback(x: Tensor, gains: Tensor, delays: Tensor) -> Any: ...
from rushlight.signal import windows as windows
