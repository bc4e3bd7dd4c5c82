"""Vocabularies (tokens to ids) and pretrained word vectors, with torchtext's names.

Begin reading at `_table.py` for `Vocab`, at `vectors.py` for files of vectors.
"""

from rushlight import serialization
from rushlight_text.vocab._table import Vocab, build_vocab_from_iterator, vocab
from rushlight_text.vocab.vectors import CharNGram, FastText, GloVe, Vectors, pretrained_aliases

# A vocabulary is two tables of strings and integers: `rushlight.load` may make one.
serialization.add_safe_globals([Vocab])

__all__ = [
    "CharNGram",
    "FastText",
    "GloVe",
    "Vectors",
    "Vocab",
    "build_vocab_from_iterator",
    "pretrained_aliases",
    "vocab",
]
