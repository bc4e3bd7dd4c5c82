"""Data sets of torchtext up to 0.11: `splits` gives them, `iters` gives their batches.

Files that are in `root` already are taken; others are fetched, see `rushlight_text.utils`.
"""

from rushlight_text.legacy.datasets import text_classification
from rushlight_text.legacy.datasets.babi import BABI20, BABI20Field
from rushlight_text.legacy.datasets.imdb import IMDB
from rushlight_text.legacy.datasets.language_modeling import (
    LanguageModelingDataset,
    PennTreebank,
    WikiText2,
    WikiText103,
)
from rushlight_text.legacy.datasets.nli import SNLI, XNLI, MultiNLI
from rushlight_text.legacy.datasets.sequence_tagging import (
    UDPOS,
    CoNLL2000Chunking,
    SequenceTaggingDataset,
)
from rushlight_text.legacy.datasets.sst import SST
from rushlight_text.legacy.datasets.translation import IWSLT, WMT14, Multi30k, TranslationDataset
from rushlight_text.legacy.datasets.trec import TREC

__all__ = [
    "BABI20",
    "IMDB",
    "IWSLT",
    "SNLI",
    "SST",
    "TREC",
    "UDPOS",
    "WMT14",
    "XNLI",
    "BABI20Field",
    "CoNLL2000Chunking",
    "LanguageModelingDataset",
    "Multi30k",
    "MultiNLI",
    "PennTreebank",
    "SequenceTaggingDataset",
    "TranslationDataset",
    "WikiText2",
    "WikiText103",
    "text_classification",
]
