"""Texts: tokens, vocabularies, batches, AWD-LSTM, and learners of both kinds.

It imports `easy.data` and `easy.learner`. Begin reading at `blocks.py` and `learner.py`.
"""

from lightning_lite.easy.text.awd_lstm import AWD_LSTM
from lightning_lite.easy.text.blocks import Numericalize, TextBlock, make_vocab
from lightning_lite.easy.text.learner import (
    LMLearner,
    TextLearner,
    language_model_learner,
    text_classifier_learner,
)
from lightning_lite.easy.text.loaders import TextDataLoaders
from lightning_lite.easy.text.tokens import Tokenizer

__all__ = [
    "AWD_LSTM",
    "LMLearner",
    "Numericalize",
    "TextBlock",
    "TextDataLoaders",
    "TextLearner",
    "Tokenizer",
    "language_model_learner",
    "make_vocab",
    "text_classifier_learner",
]
