"""From the outputs of a network to text: CTC's best path and beam search with lexicon and n-gram
language model. `_search.py` is the search; `_ctc_decoder.py` is where to begin reading."""

from rushlight_audio.models.decoder._arpa import NGramModel
from rushlight_audio.models.decoder._ctc_decoder import (
    CTCDecoder,
    CTCHypothesis,
    WordSpan,
    ctc_decoder,
)
from rushlight_audio.models.decoder._cuda import (
    CUCTCDecoder,
    CUCTCHypothesis,
    cuda_ctc_decoder,
)
from rushlight_audio.models.decoder._greedy import GreedyCTCDecoder
from rushlight_audio.models.decoder._language_model import CTCDecoderLM, CTCDecoderLMState
from rushlight_audio.models.decoder._pretrained import download_pretrained_files
from rushlight_audio.models.decoder._rescoring import rescore

__all__ = [
    "CTCDecoder",
    "CTCDecoderLM",
    "CTCDecoderLMState",
    "CTCHypothesis",
    "CUCTCDecoder",
    "CUCTCHypothesis",
    "GreedyCTCDecoder",
    "NGramModel",
    "WordSpan",
    "ctc_decoder",
    "cuda_ctc_decoder",
    "download_pretrained_files",
    "rescore",
]
