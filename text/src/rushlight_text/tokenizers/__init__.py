"""Tokenizers: rules for plain English, and byte-level byte-pair encoding."""

from rushlight_text.tokenizers.basic import basic_english, get_tokenizer, ngrams_iterator
from rushlight_text.tokenizers.bpe import ByteLevelBPETokenizer

__all__ = ["ByteLevelBPETokenizer", "basic_english", "get_tokenizer", "ngrams_iterator"]
